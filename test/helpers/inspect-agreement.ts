import { statSync } from "node:fs";
import { expect } from "vitest";
import { findInputs, type BinlogInput, type Fault } from "../../src/inspect/input/input.ts";
import { inspect } from "../../src/inspect/inspect.ts";
import { printRows } from "../../src/inspect/rows/print-rows.ts";
import { transactionsOf } from "../../src/inspect/input/transactions.ts";
import type { InspectReport } from "../../src/inspect/report.ts";
import { foldEvents, listBinlogs } from "./mysqlbinlog.ts";
import type { BinlogTool, Listing, RowCounts } from "./mysqlbinlog.ts";

/** What `inspect` counts, in the tool's form. */
export function countsOf(report: InspectReport): Pick<Listing, "events" | "transactions" | "rows"> {
  const events = Object.fromEntries(report.eventsByType.map(({ type, events: count }) => [type, count]));
  const rows: Record<string, RowCounts> = {};
  for (const { schema, table, inserts, updates, deletes } of report.tables) {
    if (inserts + updates + deletes > 0) rows[`${schema}.${table}`] = { inserts, updates, deletes };
  }
  return { events: foldEvents(events), transactions: report.transactions, rows };
}

/** Expects `inspect` and the servers' own tool to count alike, and the report's numbers to agree with each other. */
export async function expectSameCounts(tool: BinlogTool, paths: readonly string[]): Promise<InspectReport> {
  const listing = await listBinlogs(tool, paths);
  expect(listing.complete, listing.errors).toBe(true);
  const inputs = await findInputs(paths);
  const report = await inspect(inputs);
  expect(report.faults).toEqual([]);
  const { events, transactions, rows } = listing;
  expect(countsOf(report)).toEqual({ events, transactions, rows });
  expectConsistency(report, paths);
  expect(await inspect(inputs.map(asStream))).toEqual(report);
  await expectSameOfOthers(inputs, report);
  return report;
}

/** `--rows` and `simulate` read with readers of their own. */
export async function expectSameOfOthers(inputs: readonly BinlogInput[], report: InspectReport): Promise<void> {
  const faults: Fault[] = [];
  const onFault = (fault: Fault): void => void faults.push(fault);
  const rowCount = Object.values(report.rows).reduce((sum, rows) => sum + rows, 0);
  const printed = await printRows(inputs, { onFault }, () => undefined);
  expect(printed.rows).toBe(rowCount);
  const read = { transactions: 0, rows: 0 };
  for await (const { rows } of transactionsOf(inputs, { onFault })) {
    read.transactions++;
    read.rows += rows;
  }
  expect(read).toEqual({ transactions: report.transactions, rows: rowCount });
  expect(faults).toEqual([]);
}

const CHUNK_BYTES = 61_001;

/** As it comes from a pipe or a decompressor: in pieces that end anywhere. */
function asStream(input: BinlogInput): BinlogInput {
  const pieces = async function* (): AsyncGenerator<Buffer> {
    for await (const chunk of input.chunks()) {
      for (let at = 0; at < chunk.length; at += CHUNK_BYTES) yield chunk.subarray(at, at + CHUNK_BYTES);
    }
  };
  return { name: input.name, bytes: input.bytes, chunks: pieces };
}

/** Sums that appear twice in a report. */
export function expectConsistency(report: InspectReport, paths: readonly string[]): void {
  const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);
  const { tables, files, sizeClasses, rate } = report;
  expect(report.events).toBe(sum(report.eventsByType.map(({ events }) => events)));
  expect(report.rows).toEqual({
    inserted: sum(tables.map(({ inserts }) => inserts)),
    updated: sum(tables.map(({ updates }) => updates)),
    deleted: sum(tables.map(({ deletes }) => deletes)),
  });
  expect(report.transactions).toBe(sum(files.map(({ transactions }) => transactions)));
  expect(report.transactions).toBe(sizeClasses.small + sizeClasses.medium + sizeClasses.large);
  expect(sum(rate.transactions)).toBe(report.transactions);
  expect(sum(rate.rows)).toBe(sum(Object.values(report.rows)));
  const magicBytes = 4;
  expect(report.bytes).toBe(sum(paths.map((path) => statSync(path).size - magicBytes)));
  expect(report.unpackedBytes).toBeGreaterThanOrEqual(report.bytes * 0.9);
}
