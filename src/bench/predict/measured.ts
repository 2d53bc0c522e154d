import { readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { ReplicationError } from "../../base/error.ts";
import type { WorkerTimes } from "../../schedule/slots.ts";
import type { Durability } from "../contest/contest.ts";
import type { CellSettings } from "./cells.ts";
import type { Flushes } from "./flushes.ts";
import type { LoadName } from "./loads.ts";

/** One run of a cell on real servers. */
export interface MeasuredRun {
  seconds: number;
  targetCpuSeconds: number;
  flushes: Flushes;
  identical: boolean;
  /** Of Abreast; null for the server's own replica, which has no process of its own. */
  engine: {
    cpuSeconds: number;
    runs: number;
    retries: number;
    lockBreaks: number;
    /** Of all workers together, milliseconds. */
    workerTimes: WorkerTimes;
  } | null;
}

export interface MeasuredCell extends CellSettings {
  runs: MeasuredRun[];
}

export interface MeasuredLoad {
  name: LoadName;
  transactions: number;
  binlogBytes: number;
  /** Begins with the first transaction of the load, and holds nothing else. */
  binlogFile: string;
  /** `SHOW CREATE TABLE` of the load's tables. */
  schemaFile: string;
  cells: MeasuredCell[];
}

/** Everything that a prediction is compared with: kept in a folder, so that the comparison can be repeated without measuring anew. */
export interface Measured {
  server: string;
  serverVersion: string;
  durability: Durability;
  cores: number;
  seed: number;
  loads: MeasuredLoad[];
}

const FILE = "measured.json";

/** Into the folder where the loads' files are already; they are named relative to it. */
export async function saveMeasured(folder: string, measured: Measured): Promise<void> {
  const loads = measured.loads.map((load) => ({
    ...load,
    binlogFile: relative(folder, load.binlogFile),
    schemaFile: relative(folder, load.schemaFile),
  }));
  await writeFile(join(folder, FILE), `${JSON.stringify({ ...measured, loads }, undefined, 2)}\n`);
}

/** @throws ReplicationError CONFIG */
export async function readMeasured(folder: string): Promise<Measured> {
  let text: string;
  try {
    text = await readFile(join(folder, FILE), "utf8");
  } catch (error) {
    throw new ReplicationError("CONFIG", `${folder} holds no measurements`, {
      hint: "name a folder that `abreast bench predict --save` wrote",
      cause: error,
    });
  }
  const measured = JSON.parse(text) as Measured;
  const loads = measured.loads.map((load) => ({
    ...load,
    binlogFile: join(folder, load.binlogFile),
    schemaFile: join(folder, load.schemaFile),
  }));
  return { ...measured, loads };
}
