import { copyFile, mkdir, writeFile } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { assert } from "../../base/assert.ts";
import { noTimes, WORKER_TIMES, type WorkerTimes } from "../../schedule/slots.ts";
import { Session } from "../../wire/session.ts";
import { type Backlog, SCHEMA } from "../contest/backlog.ts";
import { Contest, type ContestOptions, type Outcome } from "../contest/contest.ts";
import { round } from "../units.ts";
import { type CellSettings, contenderOf, nameOf } from "./cells.ts";
import { type Flushes, watchFlushes } from "./flushes.ts";
import { type LoadName, LOADS } from "./loads.ts";
import { type Measured, type MeasuredCell, type MeasuredLoad, type MeasuredRun, saveMeasured } from "./measured.ts";

export interface MeasureOptions extends ContestOptions {
  loads: readonly LoadName[];
  cells: readonly CellSettings[];
  /** Of the loads that do not end by themselves. */
  transactions: number;
  seed: number;
  /** How often each cell runs. */
  repeat: number;
  /** Logs and schemas of the loads are put there, and what is measured, after each run: much measuring is not lost to what happens at its end. */
  filesFolder: string;
}

/** Lets every cell apply every load on a fresh target. */
export function measure(options: MeasureOptions): Promise<Measured> {
  return Contest.hold(options, async (contest) => {
    const { server, durability, seed } = options;
    const measured: Measured = {
      server,
      serverVersion: "",
      durability,
      cores: availableParallelism(),
      seed,
      loads: [],
    };
    for (const name of options.loads) {
      const load = LOADS[name];
      const transactions = load.transactions(options.transactions);
      const backlog = await contest.makeBacklog({
        workload: load.workload(),
        seed,
        threads: load.threads,
        ...(transactions === undefined ? {} : { transactions }),
      });
      measured.serverVersion = backlog.source.version;
      const cells = options.cells.map((cell): MeasuredCell => ({ ...cell, runs: [] }));
      measured.loads.push({ ...(await keepFiles(name, backlog, options.filesFolder)), cells });
      for (const [index, cell] of inTurn(cells, options.repeat).entries()) {
        options.onProgress(`${name}, run ${index + 1} of ${options.repeat * cells.length}: ${nameOf(cell)}`);
        const outcome = await contest.run(contenderOf(server, cell), backlog, watchFlushes);
        cell.runs.push(runOf(outcome));
        await saveMeasured(options.filesFolder, measured);
      }
      await contest.dismiss(backlog);
    }
    return measured;
  });
}

/** Forwards and backwards in turn: on a machine that slows down over the time the middle of a cell's runs is as late as any other's. */
export function inTurn<Cell>(cells: readonly Cell[], repeat: number): Cell[] {
  return Array.from({ length: repeat }, (_, round) => (round % 2 === 0 ? cells : cells.toReversed())).flat();
}

/** A source begins a new binlog file when it starts, and it started after its tables were made: its last file is the load. */
async function keepFiles(name: LoadName, backlog: Backlog, folder: string): Promise<Omit<MeasuredLoad, "cells">> {
  const session = await Session.connect(backlog.source.address);
  try {
    const files = await session.query("SHOW BINARY LOGS");
    const last = files.at(-1)?.["Log_name"];
    assert(typeof last === "string", "the source writes a binlog");
    const tables = await session.query(`SHOW TABLES FROM \`${SCHEMA}\``);
    const definitions = [`CREATE DATABASE \`${SCHEMA}\``, `USE \`${SCHEMA}\``];
    for (const row of tables) {
      const [shown] = await session.query(`SHOW CREATE TABLE \`${SCHEMA}\`.\`${Object.values(row)[0]}\``);
      definitions.push(shown?.["Create Table"] ?? "");
    }
    await mkdir(folder, { recursive: true });
    const binlogFile = join(folder, `${name}.binlog`);
    const schemaFile = join(folder, `${name}.sql`);
    await copyFile(join(backlog.source.dataFolder, last), binlogFile);
    await writeFile(schemaFile, `${definitions.join(";\n")};\n`);
    const { transactions, binlogBytes } = backlog;
    return { name, transactions, binlogBytes, binlogFile, schemaFile };
  } finally {
    await session.close();
  }
}

function runOf({ seconds, targetCpuSeconds, engine, identical, seen }: Outcome<Flushes>): MeasuredRun {
  return {
    seconds: round(seconds, 3),
    targetCpuSeconds: round(targetCpuSeconds, 2),
    flushes: {
      ...seen,
      binlogSeconds: round(seen.binlogSeconds, 3),
      redoSeconds: round(seen.redoSeconds, 3),
    },
    identical,
    engine:
      engine === undefined
        ? null
        : {
            cpuSeconds: round(engine.engineCpuSeconds, 3),
            runs: engine.status.applied.runs,
            retries: engine.status.applied.retries,
            lockBreaks: engine.status.applied.lockBreaks,
            workerTimes: sumOfTimes(engine.status.workers),
          },
  };
}

function sumOfTimes(workers: readonly { times: WorkerTimes }[]): WorkerTimes {
  const sum = noTimes();
  for (const { times } of workers) for (const time of WORKER_TIMES) sum[time] += Math.round(times[time]);
  return sum;
}
