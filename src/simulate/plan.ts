import { autoPolicy } from "../schedule/policies/auto.ts";
import { POLICIES, type PolicyName } from "../schedule/policies/policies.ts";
import type { CellOptions } from "./cell-options.ts";
import type { NativeOptions } from "./native.ts";

/** What is simulated: each policy with each number of workers, order and packing. */
export interface Grid {
  policies: readonly PolicyName[];
  workers: readonly number[];
  commitOrders: readonly ("preserve" | "relaxed")[];
  /** Transactions of a run at most, each; 1: nothing is packed. */
  packing: readonly number[];
  dependency: "graph" | "low-water-mark";
  /** Limits of one run, where they are not the engine's defaults. */
  limits: Pick<CellOptions, "packBytesMax" | "packRowsMax" | "packMsMax" | "writesetHistory">;
  /** The server's own replica with each number of workers as well. */
  native: boolean;
}

/** The server that wrote the log. */
export interface LogSource {
  flavour: "mysql" | "mariadb";
  serverVersion: string;
}

/** A cell that is computed. Plain data: a thread can be told of it. */
export type PlannedCell =
  | { key: string; kind: "engine"; options: CellOptions }
  | { key: string; kind: "native"; options: NativeOptions };

/** A setting that was asked for, the cell that stands for it, and that of a single worker to compare it with. */
export interface WantedCell {
  /** How the result is named; undefined: as the cell is. */
  shown: Pick<CellOptions, "policy" | "workers"> | undefined;
  key: string;
  oneWorkerKey: string;
}

/** Which cells a grid needs: several settings may come to the same, which is computed once. */
export interface Plan {
  cells: readonly PlannedCell[];
  /** In the order of the grid. */
  wanted: readonly WantedCell[];
}

/** As the option `writeset-history` of the engine. */
export const HISTORY_SIZE = 25_000;

export function planOf(grid: Grid, source: LogSource): Plan {
  const cells = new Map<string, PlannedCell>();
  const wanted: WantedCell[] = [];
  const cellOf = (options: CellOptions): string => {
    const { policy, commitOrder, packTransactionsMax, workers } = options;
    const key = `${policy}/${commitOrder}/${packTransactionsMax}/${workers}`;
    cells.set(key, { key, kind: "engine", options });
    return key;
  };
  for (const shown of settingsOf(grid)) {
    const same = sameAs(shown, source);
    wanted.push({ shown, key: cellOf(same), oneWorkerKey: cellOf(sameAs({ ...same, workers: 1 }, source)) });
  }
  for (const options of grid.native ? nativesOf(grid, source) : []) {
    const key = `native/${options.workers}`;
    cells.set(key, { key, kind: "native", options });
    if (options.workers === 1 && !grid.workers.includes(1)) continue;
    wanted.push({ shown: undefined, key, oneWorkerKey: "native/1" });
  }
  return { cells: [...cells.values()], wanted };
}

function settingsOf({ policies, workers, commitOrders, packing, dependency, limits }: Grid): CellOptions[] {
  const cells: CellOptions[] = [];
  for (const commitOrder of commitOrders) {
    for (const packTransactionsMax of packing) {
      for (const policy of policies) {
        // Only with the order preserved a guess that was wrong is noticed: the engine refuses it too.
        if (policy === "optimistic" && commitOrder === "relaxed") continue;
        // More than one would have nothing to do.
        const counts = policy === "single" ? [1] : workers;
        for (const count of counts) {
          cells.push({ policy, workers: count, commitOrder, dependency, packTransactionsMax, ...limits });
        }
      }
    }
  }
  return cells;
}

function nativesOf({ workers, commitOrders }: Grid, { flavour }: LogSource): NativeOptions[] {
  const counts = workers.includes(1) ? workers : [1, ...workers];
  const ascending = [...counts].sort((a, b) => a - b);
  const commitOrder = commitOrders[0] ?? "preserve";
  return ascending.map((count) => ({
    flavour,
    policy: flavour === "mariadb" && count > 1 ? "optimistic" : "logical-clock",
    workers: count,
    commitOrder: flavour === "mariadb" ? "preserve" : commitOrder,
  }));
}

/** The setting that gives the same results for this log. */
function sameAs(setting: CellOptions, source: LogSource): CellOptions {
  const { policy, workers, packTransactionsMax, commitOrder, dependency } = setting;
  const same = samePolicy(policy, source, packTransactionsMax > 1 && commitOrder === "preserve");
  // One transaction after the other: more workers have nothing to do.
  if (same === "single") return { ...setting, policy: same, workers: 1 };
  // A single worker that goes on with what comes right behind has all that came before committed, or in its hands: whatever it depends on is met, and only what asking costs differs.
  const isInOrder = workers === 1 && commitOrder === "preserve" && dependency !== "low-water-mark";
  if (!isInOrder) return { ...setting, policy: same };
  return { ...setting, policy: POLICIES[same].make({ historySize: 1 }).needsWriteset ? "writeset" : "single" };
}

function samePolicy(policy: PolicyName, { flavour, serverVersion }: LogSource, packed: boolean): PolicyName {
  if (policy === "commit-order") return "logical-clock";
  if (policy !== "auto") return policy;
  const auto = autoPolicy({ historySize: HISTORY_SIZE, packed });
  auto.see(flavour, serverVersion);
  return auto.name === "logical-clock" ? "logical-clock" : "writeset";
}
