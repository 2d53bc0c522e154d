import { ReplicationError } from "../../base/error.ts";
import type { ServerFlavour } from "../../sandbox/flavours.ts";
import { type Contender, nativeContender } from "../contest/contender.ts";
import { type DeleteInsertOptions, SESSIONS } from "./workload.ts";

export interface Variant {
  name: string;
  load: Omit<DeleteInsertOptions, "rounds">;
  commitOrder: "preserve" | "relaxed";
}

/** The case, and four ways around it that people are told: each shows which part of the case makes it slow. */
export const VARIANTS: readonly Variant[] = [
  { name: "unique index", load: { key: "unique index", change: "delete-insert" }, commitOrder: "preserve" },
  { name: "plain index", load: { key: "plain index", change: "delete-insert" }, commitOrder: "preserve" },
  {
    name: "composite primary key",
    load: { key: "composite primary key", change: "delete-insert" },
    commitOrder: "preserve",
  },
  { name: "order off", load: { key: "unique index", change: "delete-insert" }, commitOrder: "relaxed" },
  { name: "UPDATE instead", load: { key: "unique index", change: "update" }, commitOrder: "preserve" },
];

/** What `--runs` takes. */
export const RUN_NAMES = ["native-1", "native-8", "abreast-1", "abreast-8"] as const;
export type RunName = (typeof RUN_NAMES)[number];

/** @throws ReplicationError CONFIG when a name is no variant's. */
export function selectVariants(names: readonly string[]): Variant[] {
  return names.map((name) => {
    const variant = VARIANTS.find((each) => each.name.toLowerCase() === name.toLowerCase());
    return (
      variant ??
      unknown(
        "variant",
        name,
        VARIANTS.map((each) => each.name),
      )
    );
  });
}

/** @throws ReplicationError CONFIG when a name is no run's. */
export function selectRuns(names: readonly string[]): RunName[] {
  return names.map((name) => RUN_NAMES.find((each) => each === name) ?? unknown("run", name, RUN_NAMES));
}

function unknown(what: string, name: string, known: readonly string[]): never {
  throw new ReplicationError("CONFIG", `there is no ${what} called ${name}`, {
    hint: `choose from ${known.join(", ")}`,
  });
}

/**
 * One and as many workers as the source had sessions. One worker of the server's own replica always keeps the order. Servers that cannot do what a variant asks for
 * (MariaDB always keeps the order, MySQL 5.6 never does with several workers) run as they can, and the run says how.
 */
export function contenderFor(name: RunName, variant: Variant, server: ServerFlavour): Contender {
  const workers = name.endsWith("-1") ? 1 : SESSIONS;
  const { commitOrder } = variant;
  if (name.startsWith("native-")) return nativeContender(server, workers, commitOrder);
  return { name, who: "abreast", workers, policy: "auto", commitOrder, gtid: "own" };
}
