import { ReplicationError } from "../../base/error.ts";
import type { EngineOptions } from "../../engine/options.ts";
import type { ServerFlavour } from "../../sandbox/flavours.ts";

/** One way to apply a backlog. */
export type Contender = NativeContender | AbreastContender;

interface Settings {
  /** What `--runs` calls it: `native-16`, `abreast-own`. */
  name: string;
  workers: number;
  commitOrder: "preserve" | "relaxed";
  /** `preserve`: each transaction keeps the source's GTID on the target. */
  gtid: "own" | "preserve";
  /** Whoever receives reaches the source through a link with this round trip. */
  sourceRoundTripMs?: number;
}

export interface NativeContender extends Settings {
  who: "native";
  /** How the server's own replica finds parallelism, in its words. */
  policy: "single" | "database" | "writeset" | "optimistic" | "conservative";
}

export interface AbreastContender extends Settings {
  who: "abreast";
  policy: EngineOptions["policy"];
  /** What else of the engine is not as a user gets it. */
  engine?: Partial<Pick<EngineOptions, "dependency" | "packTransactionsMax" | "writesetHistory">>;
  /** The engine reaches the target through a link with this round trip. */
  roundTripMs?: number;
}

/**
 * The server's own replica at its best for one schema: MySQL's writesets, MariaDB's optimistic mode. With one worker it has nothing to find out.
 * MySQL 5.6 has parallel workers by schema only, and cannot keep the commit order with them; MariaDB always keeps it.
 */
export function nativeContender(
  server: ServerFlavour,
  workers: number,
  commitOrder: NativeContender["commitOrder"] = "preserve",
): NativeContender {
  const contender = { name: `native-${workers}`, who: "native", workers, commitOrder, gtid: "preserve" } as const;
  if (workers === 1) return { ...contender, policy: "single", commitOrder: "preserve" };
  if (server.startsWith("mariadb-")) return { ...contender, policy: "optimistic", commitOrder: "preserve" };
  if (server === "mysql-5.6") return { ...contender, policy: "database", commitOrder: "relaxed" };
  return { ...contender, policy: "writeset" };
}

/** @throws ReplicationError CONFIG when a name is no contender's. */
export function selectContenders(all: readonly Contender[], names: readonly string[]): Contender[] {
  return names.map((name) => {
    const contender = all.find((each) => each.name === name);
    if (contender !== undefined) return contender;
    throw new ReplicationError("CONFIG", `there is no run called ${name}`, {
      hint: `choose from ${all.map((each) => each.name).join(", ")}`,
    });
  });
}
