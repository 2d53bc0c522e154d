import { ReplicationError } from "../../base/error.ts";
import type { ServerFlavour } from "../../sandbox/flavours.ts";

/** One way to apply the backlog. */
export interface Contender {
  /** What `--runs` calls it: `native-16`, `abreast-own`. */
  name: string;
  who: "native" | "abreast";
  workers: number;
  /** How parallelism is found, in the server's words where it is the server's. */
  policy: "single" | "database" | "writeset" | "optimistic" | "conservative";
  commitOrder: "preserve" | "relaxed";
  /** `preserve`: each transaction keeps the source's GTID on the target. */
  gtid: "own" | "preserve";
}

/**
 * Everybody who takes part, natives and ours in turn, so that a machine that slows down in the middle slows both. `workers` counts the native replica's; what a
 * server's own replica does with them is its best for one schema: MySQL 9.7's writesets, MariaDB's optimistic (at the most workers also conservative).
 */
export function contendersFor(server: ServerFlavour, workers: readonly number[]): Contender[] {
  const natives = workers.flatMap((count) => nativeContenders(server, count));
  if (server.startsWith("mariadb-")) {
    const most = Math.max(...workers);
    if (most > 1) natives.push(native(`native-${most}-conservative`, most, "conservative", "preserve"));
  }
  const ours = [abreast("own"), ...(server.startsWith("mysql-") ? [abreast("preserve")] : [])];
  const inTurn: Contender[] = [];
  for (let i = 0; i < Math.max(natives.length, ours.length); i++) {
    inTurn.push(...natives.slice(i, i + 1), ...ours.slice(i, i + 1));
  }
  return inTurn;
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

function nativeContenders(server: ServerFlavour, workers: number): Contender[] {
  if (server.startsWith("mariadb-")) {
    return [native(`native-${workers}`, workers, workers === 1 ? "single" : "optimistic", "preserve")];
  }
  // 5.6 has parallel workers by schema only, and cannot keep the commit order with them.
  if (server === "mysql-5.6") {
    return [
      native(
        `native-${workers}`,
        workers,
        workers === 1 ? "single" : "database",
        workers === 1 ? "preserve" : "relaxed",
      ),
    ];
  }
  return [native(`native-${workers}`, workers, workers === 1 ? "single" : "writeset", "preserve")];
}

function native(
  name: string,
  workers: number,
  policy: Contender["policy"],
  commitOrder: Contender["commitOrder"],
): Contender {
  return { name, who: "native", workers, policy, commitOrder, gtid: "preserve" };
}

function abreast(gtid: Contender["gtid"]): Contender {
  return { name: `abreast-${gtid}`, who: "abreast", workers: 1, policy: "single", commitOrder: "preserve", gtid };
}
