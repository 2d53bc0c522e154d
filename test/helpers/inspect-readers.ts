import { deepEqual } from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { ReplicationError } from "../../src/base/error.ts";
import { decodeValue } from "../../src/binlog/columns/value.ts";
import { decodeEvent } from "../../src/binlog/decode.ts";
import { eventType } from "../../src/binlog/event.ts";
import { EVENT_TYPE } from "../../src/binlog/event-type.ts";
import { RowWalker } from "../../src/binlog/events/row-walker.ts";
import type { RowImage } from "../../src/binlog/events/row-walker.ts";
import { isRowsType, rowsTableId } from "../../src/binlog/events/rows.ts";
import { TableMaps } from "../../src/binlog/events/table-map.ts";
import type { TableMapEvent } from "../../src/binlog/events/table-map.ts";
import { inspectPage } from "../../src/inspect/html.ts";
import { findInputs } from "../../src/inspect/input/input.ts";
import type { BinlogInput } from "../../src/inspect/input/input.ts";
import { inspect } from "../../src/inspect/inspect.ts";
import { transactionsOf } from "../../src/inspect/input/transactions.ts";
import { printRows } from "../../src/inspect/rows/print-rows.ts";
import { printUndo } from "../../src/inspect/rows/print-undo.ts";
import { LogTransactions } from "../../src/inspect/scheduler-transactions.ts";
import { DEFAULT_COSTS } from "../../src/simulate/cost-model.ts";
import { FromLog } from "../../src/simulate/from-log.ts";
import { simulatePage } from "../../src/simulate/html.ts";
import { LogSimulation } from "../../src/simulate/log-simulation.ts";
import { gridOf } from "../../src/cli/simulate-options.ts";
import type { Transaction } from "../../src/transaction/transaction.ts";
import { scanBinlog } from "./binlog-scan.ts";

/** Everything that reads binlog files, each with a whole file of any content. Whatever is in it, none may throw. */
export const READERS: Readonly<Record<string, (file: Buffer) => Promise<void>>> = {
  decoders: async (file) => {
    scanBinlog(file, { verify: false });
  },
  transactions: async (file) => {
    await withInputs(file, async (inputs) => {
      for await (const transaction of transactionsOf(inputs, { onFault: () => {} })) valuesOf(transaction);
    });
  },
  // What does not fit is read in another way.
  "large transactions": async (file) => {
    await withInputs(file, async (inputs) => {
      const options = { onFault: () => {}, bytesInMemoryMax: 300, verifyChecksums: true };
      for await (const transaction of transactionsOf(inputs, options)) valuesOf(transaction);
    });
  },
  // Where it lies, and as it comes through a pipe: the report is the same.
  inspect: async (file) => {
    await withFile(file, async (inputs) => {
      const options = { verifyChecksums: file.length % 2 === 0 };
      const report = await inspect(inputs, options);
      inspectPage(report);
      if (!file.subarray(0, 4).equals(MAGIC)) return;
      const streamed = await inspect([inMemory(file)], options);
      deepEqual({ ...streamed, files: [] }, { ...report, files: [] });
    });
  },
  simulate: async (file) => {
    await withInputs(file, async (inputs) => {
      const log = new LogTransactions({ schema: undefined });
      const fromLog = new FromLog(["shop.counter"]);
      const simulation = new LogSimulation({ grid: GRID, costs: DEFAULT_COSTS, splitRowsMax: 100 });
      for await (const transaction of transactionsOf(inputs, { onFault: () => {} })) {
        try {
          simulation.push(fromLog.of(transaction, log.of(transaction)), transaction.format);
        } catch (error) {
          if (!(error instanceof ReplicationError)) throw error;
        }
      }
      simulatePage(simulation.report({ files: [], whatIf: [], faults: [] }));
    });
  },
  rows: async (file) => {
    await withInputs(file, async (inputs) => {
      await printRows(inputs, { onFault: () => {} }, nowhere);
    });
  },
  undo: async (file) => {
    await withInputs(file, async (inputs) => {
      await printUndo(inputs, { onFault: () => {} }, nowhere, () => {
        throw new Error("a small file's statements need no room on disk");
      });
    });
  },
};

const nowhere = (): undefined => undefined;

const MAGIC = Buffer.of(0xfe, 0x62, 0x69, 0x6e);
const CHUNK_BYTES = 5_000;

const GRID = gridOf({ policies: "logical-clock,writeset", workers: "4", packing: "off", native: true });

function inMemory(file: Buffer): BinlogInput {
  const chunks = async function* (): AsyncGenerator<Buffer> {
    for (let at = 0; at < file.length; at += CHUNK_BYTES) yield file.subarray(at, at + CHUNK_BYTES);
  };
  return { name: "binlog.000001", bytes: file.length, chunks };
}

/** Binlogs are given from memory; what is compressed, or nothing at all, as a file, the way the command finds it. */
async function withInputs(file: Buffer, read: (inputs: BinlogInput[]) => Promise<void>): Promise<void> {
  if (file.subarray(0, 4).equals(MAGIC)) return read([inMemory(file)]);
  return withFile(file, read);
}

async function withFile(file: Buffer, read: (inputs: BinlogInput[]) => Promise<void>): Promise<void> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "abreast-fuzz-"));
  try {
    const place = path.join(folder, "binlog.000001");
    writeFileSync(place, file);
    await read(await findInputs([place]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Decodes every value of every row. */
function valuesOf({ body, format }: Transaction): void {
  if (!("events" in body)) return;
  const maps = new TableMaps();
  const walker = new RowWalker();
  try {
    for (const event of body.events) {
      decodeEvent(event, format);
      if (eventType(event) === EVENT_TYPE.TABLE_MAP) maps.add(event, format);
      if (!isRowsType(eventType(event))) continue;
      const map = maps.get(rowsTableId(event, format));
      if (map === undefined) continue;
      const slotOf = Int32Array.from({ length: map.columnCount }, (_, column) => column);
      const { operation } = walker.open(event, map, format, { slotOf, count: map.columnCount });
      while (walker.next()) {
        if (operation !== "write") imageValues(event, map, walker.before);
        if (operation !== "delete") imageValues(event, map, walker.after);
      }
    }
  } catch (error) {
    if (!(error instanceof ReplicationError)) throw error;
  }
}

function imageValues(event: Buffer, map: TableMapEvent, { starts, ends }: RowImage): void {
  for (let column = 0; column < map.columnCount; column++) {
    const from = starts[column] as number;
    if (from < 0) continue;
    decodeValue(map.types[column] as number, map.metadata[column] as number, event, from, ends[column] as number);
  }
}
