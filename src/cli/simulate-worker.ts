import { deserialize } from "node:v8";
import { parentPort, workerData } from "node:worker_threads";
import type { SimulatedTransaction } from "../simulate/simulated-transaction.ts";
import { CellGroup } from "../simulate/simulation.ts";
import type { ThreadAnswer, ThreadCells, ThreadOrder } from "./simulate-threads.ts";

/** A thread that computes some cells, fed with the log by simulate-threads.ts. */
const { cells, costs } = workerData as ThreadCells;
const group = new CellGroup(cells, costs);

function answerTo(order: ThreadOrder): ThreadAnswer {
  if (order === "end") return group.end();
  group.push(deserialize(new Uint8Array(order)) as SimulatedTransaction[]);
  return "room";
}

parentPort?.on("message", (order: ThreadOrder) => parentPort?.postMessage(answerTo(order), []));
