import { isPackable } from "../../src/transaction/packable.ts";
import { assert } from "../../src/base/assert.ts";
import { eventType } from "../../src/binlog/event.ts";
import { EVENT_TYPE } from "../../src/binlog/event-type.ts";
import { isRowsType, rowsTableId } from "../../src/binlog/events/rows.ts";
import { type RowImage, RowWalker } from "../../src/binlog/events/row-walker.ts";
import { type TableMapEvent, TableMaps } from "../../src/binlog/events/table-map.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { logicalClockPolicy } from "../../src/schedule/policies/logical-clock.ts";
import { writesetPolicy } from "../../src/schedule/policies/writeset.ts";
import type { Dependencies, Policy } from "../../src/schedule/policy.ts";
import type { SchedulerTransaction } from "../../src/schedule/scheduler-types.ts";
import type { Transaction } from "../../src/transaction/transaction.ts";
import { assembleFiles, binlogFiles } from "./assemble.ts";
import { withWritesets } from "./writesets.ts";

/** Which columns tell two rows of a table apart, or tie them together. */
export interface TableKeys {
  /** Each a list of columns, from 0. With a NULL among them there is no value. */
  unique: readonly (readonly number[])[];
  /** Values of a column of which the server calls some equal that differ in bytes. */
  fold?: { column: number; to: (text: string) => string };
  /**
   * A column that holds a value of this table's unique key, by its number in `unique`. `primary`: of the key that has the row itself in it, so that the source
   * locks the row where it looks for the value.
   */
  parent?: { column: number; table: string; key: number; primary: boolean };
}

export interface CommitParentReport {
  transactions: number;
  /** Transactions whose parent by `logical-clock` is another than last_committed and sequence_number say. */
  clockFaults: string[];
  /** Transactions that `writeset` gives a later parent than the server does. */
  later: string[];
  /** Of those with the server's parent, and of those with an earlier one. */
  same: number;
  earlier: number;
  /** Consecutive uses of a key that must stay in order, and those that `writeset` lets run together. */
  pairs: number;
  unordered: string[];
}

/** Reads all binlog files of a MySQL server and compares what our policies say with what the server wrote, and with the rows themselves. */
export async function compareCommitParents(
  server: SandboxServer,
  keysOf: (schema: string, table: string) => TableKeys | undefined,
): Promise<CommitParentReport> {
  const { transactions } = assembleFiles(await binlogFiles(server));
  const given = await scheduled(server, transactions);
  const report: CommitParentReport = {
    transactions: transactions.length,
    clockFaults: [],
    later: [],
    same: 0,
    earlier: 0,
    pairs: 0,
    unordered: [],
  };
  const fromServer = parentsByRule(transactions);
  const byClock = ask(logicalClockPolicy(), given);
  const byWriteset = ask(writesetPolicy({ historySize: 25_000 }), given);
  for (const [index, theirs] of fromServer.entries()) {
    const name = `${index + 1}, ${transactions[index]?.start.file}:${transactions[index]?.start.position}`;
    const clock = parentOf(byClock[index]);
    // Statements that commit by themselves wait for all before, whatever a clock says.
    if (clock !== theirs) report.clockFaults.push(`${name}: ${clock}, not ${theirs}`);
    const ours = parentOf(byWriteset[index]);
    const isBarrier = given[index]?.barrier === true;
    if (!isBarrier && ours > theirs) report.later.push(`${name}: ${ours}, not ${theirs}`);
    if (ours === theirs) report.same++;
    else if (ours < theirs) report.earlier++;
  }
  const isAfter = orderOf(byWriteset);
  for (const { before, after, key } of pairsToKeep(transactions, keysOf)) {
    report.pairs++;
    if (!isAfter(before, after)) report.unordered.push(`${before} and ${after}: ${key}`);
  }
  return report;
}

const parentOf = (dependencies: Dependencies | undefined): number =>
  Math.max(0, dependencies?.upTo ?? 0, ...(dependencies?.also ?? []));

const ask = (policy: Policy, given: readonly SchedulerTransaction[]): Dependencies[] =>
  given.map((transaction) => policy.dependencies(transaction));

/** The rule in the server's words, without cleverness: everything in the file with a sequence number up to last_committed, or, where that is 0, everything before. */
function parentsByRule(transactions: readonly Transaction[]): number[] {
  let file = "";
  let inFile = new Map<number, number>();
  return transactions.map(({ start, lastCommitted, sequenceNumber }, index) => {
    if (start.file !== file) inFile = new Map();
    file = start.file;
    inFile.set(sequenceNumber, index + 1);
    if (lastCommitted === 0) return index;
    const parent = inFile.get(lastCommitted);
    assert(parent !== undefined, "nothing was filtered from this log");
    return parent;
  });
}

function scheduled(server: SandboxServer, transactions: readonly Transaction[]): Promise<SchedulerTransaction[]> {
  return withWritesets(server, "xxhash64", async (writesets) => {
    const given: SchedulerTransaction[] = [];
    for (const [index, transaction] of transactions.entries()) {
      const barrier = !isPackable(transaction);
      const { bytes, rows, start, lastCommitted, sequenceNumber, commitId, sessionId, schemas } = transaction;
      given.push({
        ordinal: index + 1,
        bytes,
        rows,
        alone: barrier,
        barrier,
        startsRun: false,
        applied: false,
        file: start.file,
        lastCommitted,
        sequenceNumber,
        commitId,
        sessionId,
        schemas,
        writeset: barrier ? undefined : await writesets.of(transaction),
      });
    }
    return given;
  });
}

/** Whether the later of two transactions waits for the earlier one, directly or through others. */
function orderOf(dependencies: readonly Dependencies[]): (before: number, after: number) => boolean {
  return (before, after) => {
    const seen = new Set<number>();
    const stack = [after];
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      const { upTo, also } = dependencies[at - 1] as Dependencies;
      if (upTo >= before) return true;
      for (const other of also) {
        if (other === before) return true;
        if (other > before && !seen.has(other)) stack.push(other);
        seen.add(other);
      }
    }
    return false;
  };
}

interface Pair {
  before: number;
  after: number;
  key: string;
}

/**
 * Two transactions that use one key value stay in order unless both only rely on it. Who is after the last change, and changes after all who relied on that, is after all before:
 * so pairs of neighbours are enough.
 */
function* pairsToKeep(
  transactions: readonly Transaction[],
  keysOf: (schema: string, table: string) => TableKeys | undefined,
): Generator<Pair> {
  const uses = new Map<string, { writer: number; readers: number[] }>();
  for (const [index, transaction] of transactions.entries()) {
    const after = index + 1;
    const { writes, reads } = usesOf(transaction, keysOf);
    for (const key of reads) {
      const use = uses.get(key);
      if (use !== undefined && use.writer > 0) yield { before: use.writer, after, key };
    }
    for (const key of writes) {
      const use = uses.get(key);
      if (use === undefined) continue;
      for (const before of [use.writer, ...use.readers]) if (before > 0) yield { before, after, key };
    }
    for (const key of reads) {
      const use = uses.get(key) ?? { writer: 0, readers: [] };
      use.readers.push(after);
      uses.set(key, use);
    }
    for (const key of writes) uses.set(key, { writer: after, readers: [] });
  }
}

/** Read from the rows' values, not from any hash. */
function usesOf(
  { kind, body, format }: Transaction,
  keysOf: (schema: string, table: string) => TableKeys | undefined,
): { writes: Set<string>; reads: Set<string> } {
  const writes = new Set<string>();
  const reads = new Set<string>();
  if (kind !== "rows" || !("events" in body)) return { writes, reads };
  const maps = new TableMaps();
  const byId = new Map<number, TableMapEvent>();
  const walker = new RowWalker();
  for (const event of body.events) {
    const type = eventType(event);
    if (type === EVENT_TYPE.TABLE_MAP) {
      const map = maps.add(event, format);
      byId.set(map.tableId, map);
    }
    if (!isRowsType(type)) continue;
    const map = byId.get(rowsTableId(event, format));
    const keys = map === undefined ? undefined : keysOf(map.schema, map.table);
    if (map === undefined || keys === undefined) continue;
    const all = { slotOf: Int32Array.from({ length: map.columnCount }, (_, column) => column), count: map.columnCount };
    const rows = walker.open(event, map, format, all);
    const valueOf = ({ starts, ends }: RowImage, column: number): string | undefined => {
      const start = starts[column] ?? -1;
      if (start < 0) return undefined;
      const text = event.toString("latin1", start, ends[column]);
      return keys.fold?.column === column ? keys.fold.to(event.toString("utf8", start + 1, ends[column])) : text;
    };
    const name = `${map.schema}.${map.table}`;
    const valuesOf = (image: RowImage): (string | undefined)[] =>
      keys.unique.map((columns, number) => {
        const values = columns.map((column) => valueOf(image, column));
        return values.includes(undefined) ? undefined : keyOf(name, number, values);
      });
    const referenceOf = (image: RowImage): string | undefined => {
      const value = keys.parent && valueOf(image, keys.parent.column);
      return value === undefined ? undefined : keyOf(keys.parent?.table ?? "", keys.parent?.key ?? 0, [value]);
    };
    while (walker.next()) {
      const before = rows.beforeBitmap === 0 ? undefined : walker.before;
      const after = rows.afterBitmap === 0 ? undefined : walker.after;
      const from = before && valuesOf(before);
      const to = after && valuesOf(after);
      for (const number of keys.unique.keys()) {
        const [old, next] = [from?.[number], to?.[number]];
        for (const value of [old, next]) {
          if (value === undefined) continue;
          writes.add(value);
          // The value comes or goes: who refers to it must not be on the wrong side of that.
          if (old !== next) writes.add(existenceOf(value));
        }
      }
      const [old, next] = [before && referenceOf(before), after && referenceOf(after)];
      for (const value of [old, next]) if (value !== undefined) reads.add(existenceOf(value));
      // Only here the source looks for the parent, and locks what it finds.
      if (next !== undefined && next !== old && keys.parent?.primary === true) reads.add(next);
    }
  }
  return { writes, reads };
}

const existenceOf = (key: string): string => `${key} is there`;

const keyOf = (table: string, number: number, values: readonly (string | undefined)[]): string =>
  `${table}/${number}/${values.map((value) => Buffer.from(value ?? "", "latin1").toString("hex")).join(",")}`;
