import type { ServerFlavour } from "../../sandbox/flavours.ts";
import type { PolicyName } from "../../schedule/policies/policies.ts";
import { type Contender, nativeContender } from "../contest/contender.ts";

/** What is measured once or more often, and predicted once. */
export interface CellSettings {
  who: "abreast" | "native";
  /** Of the server's own replica: in its words. */
  policy: string;
  workers: number;
  commitOrder: "preserve" | "relaxed";
  /** 1: each transaction is a commit of its own. */
  packTransactionsMax: number;
}

export interface GridOptions {
  policies: readonly PolicyName[];
  workers: readonly number[];
  commitOrders: readonly CellSettings["commitOrder"][];
  packTransactionsMax: number;
}

/** One transaction at a time is where policies and workers matter. Packed, they matter little, and three numbers of workers show it. */
export function abreastCells({ policies, workers, commitOrders, packTransactionsMax }: GridOptions): CellSettings[] {
  return commitOrders.flatMap((commitOrder) =>
    policies.flatMap((policy) =>
      workers.map((count): CellSettings => ({
        who: "abreast",
        policy,
        workers: count,
        commitOrder,
        packTransactionsMax,
      })),
    ),
  );
}

export function nativeCells(server: ServerFlavour, workers: readonly number[]): CellSettings[] {
  return workers.map((count) => {
    const { policy, commitOrder } = nativeContender(server, count);
    return { who: "native", policy, workers: count, commitOrder, packTransactionsMax: 1 };
  });
}

export function contenderOf(server: ServerFlavour, cell: CellSettings): Contender {
  const { who, workers, commitOrder, packTransactionsMax } = cell;
  if (who === "native") return { ...nativeContender(server, workers), name: nameOf(cell) };
  const policy = cell.policy as PolicyName;
  return { name: nameOf(cell), who, workers, policy, commitOrder, gtid: "own", engine: { packTransactionsMax } };
}

/** `writeset-4`, `writeset-4-relaxed`, `writeset-4-packed`, `native-4`. */
export function nameOf({ who, policy, workers, commitOrder, packTransactionsMax }: CellSettings): string {
  if (who === "native") return `native-${workers}`;
  const order = commitOrder === "relaxed" ? "-relaxed" : "";
  return `${policy}-${workers}${order}${packTransactionsMax > 1 ? "-packed" : ""}`;
}
