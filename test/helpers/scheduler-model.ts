import type { SchedulerTransaction } from "../../src/schedule/scheduler-types.ts";
import { OPAQUE_WRITESET } from "../../src/schedule/writeset.ts";

/**
 * A small database for tests of schedules: a source that runs transactions one after the other, and rows with locks that a target applies them to. In each of two schemas:
 * `parent` (a primary key), `child` (a primary key, a unique key that may be NULL, a foreign key that may be NULL) and `log` (no key at all). Deleting a parent is
 * refused in schema `a` while it has children, and takes them along in `b`. Values tell in which order they were made: an update makes value * 31 + n.
 */
export interface Row {
  table: string;
  key: number;
  value: number;
  unique: number | undefined;
  parent: number | undefined;
}

/** What the binlog says of one row, both images, or a DDL that rewrites every row of a schema. */
export type Change = { before: Row | undefined; after: Row | undefined } | { ddl: string; n: number };

export interface Lock {
  name: string;
  exclusive: boolean;
}

const schemaOf = (table: string): string => table.slice(0, 1);
const isLog = (table: string): boolean => table.endsWith(".log");
const isParent = (table: string): boolean => table.endsWith(".parent");
const MODULUS = 1_000_003;

/** Rows and their constraints. Whoever calls keeps the locks. */
export class Rows {
  readonly #rows = new Map<string, Row>();
  /** Of tables without a key: how many rows have this value. */
  readonly #counts = new Map<string, number>();

  of(table: string): Row[] {
    return [...this.#rows.values()].filter((row) => row.table === table);
  }

  valuesOf(log: string): number[] {
    return [...this.#counts]
      .filter(([name, count]) => count > 0 && name.startsWith(`${log}/`))
      .map(([name]) => Number(name.split("/")[1]));
  }

  /** Applies the change, or says what of it does not fit. */
  apply(change: Change): { undo: () => void } | { conflict: string } {
    if ("ddl" in change) return this.#rewrite(change.ddl, change.n);
    const { before, after } = change;
    const table = (before ?? after)?.table ?? "";
    if (isLog(table)) return this.#applyLog(before, after);
    const undos: (() => void)[] = [];
    if (before !== undefined) {
      const now = this.#rows.get(name(before));
      if (now === undefined || textOf(now) !== textOf(before))
        return { conflict: `${name(before)} is not as it was before` };
    }
    if (after !== undefined) {
      if (this.#rows.has(name(after)) && before?.key !== after.key)
        return { conflict: `${name(after)} is there already` };
      const twin = this.of(table).find(
        ({ key, unique }) => unique !== undefined && unique === after.unique && key !== before?.key,
      );
      if (twin !== undefined) return { conflict: `unique ${after.unique} is there already` };
      if (after.parent !== undefined && !this.#rows.has(`${schemaOf(table)}.parent/${after.parent}`))
        return { conflict: `parent ${after.parent} is missing` };
    } else if (before !== undefined && isParent(table)) {
      const children = this.childrenOf(before);
      if (children.length > 0 && schemaOf(table) === "a") return { conflict: `${name(before)} has children` };
      for (const child of children) undos.push(this.#set(name(child), undefined));
    }
    if (before !== undefined && before.key !== after?.key) undos.push(this.#set(name(before), undefined));
    if (after !== undefined) undos.push(this.#set(name(after), after));
    return { undo: () => undos.toReversed().forEach((undo) => undo()) };
  }

  childrenOf(parent: Row): Row[] {
    return this.of(`${schemaOf(parent.table)}.child`).filter((child) => child.parent === parent.key);
  }

  /** As a server locks: more than what is changed. A log is locked as a whole, a unique value with its neighbour. */
  locks(change: Change): Lock[] {
    if ("ddl" in change) return [];
    const { before, after } = change;
    const table = (before ?? after)?.table ?? "";
    if (isLog(table)) return [{ name: table, exclusive: true }];
    const { writes, reads } = keysOf(change, this.#cascadedBy(change));
    const gaps =
      before?.unique === after?.unique
        ? []
        : [before, after].flatMap((row) => (row?.unique === undefined ? [] : [`${table}.gap/${row.unique >> 1}`]));
    return [
      ...[...writes, ...gaps].map((each) => ({ name: each, exclusive: true })),
      ...reads.map((each) => ({ name: each, exclusive: false })),
    ];
  }

  /** What it changes and relies on, beyond what the binlog shows of it. */
  trueKeys(change: Change): { writes: string[]; reads: string[] } {
    return "ddl" in change ? { writes: [], reads: [] } : keysOf(change, this.#cascadedBy(change));
  }

  toText(): string {
    const counts = [...this.#counts].filter(([, count]) => count > 0).map(([each, count]) => `${each} × ${count}`);
    return [...[...this.#rows.values()].map(textOf), ...counts].sort().join("\n");
  }

  #cascadedBy(change: Change): Row[] {
    return isCascade(change) && "before" in change && change.before !== undefined ? this.childrenOf(change.before) : [];
  }

  #applyLog(before: Row | undefined, after: Row | undefined): { undo: () => void } | { conflict: string } {
    const count = (row: Row): number => this.#counts.get(logName(row)) ?? 0;
    if (before !== undefined && count(before) === 0) return { conflict: `${logName(before)} is missing` };
    const add = (row: Row | undefined, by: number): void => {
      if (row !== undefined) this.#counts.set(logName(row), count(row) + by);
    };
    add(before, -1);
    add(after, 1);
    return {
      undo: () => {
        add(after, -1);
        add(before, 1);
      },
    };
  }

  #rewrite(schema: string, n: number): { undo: () => void } {
    const undos = [...this.#rows.values()]
      .filter(({ table }) => schemaOf(table) === schema)
      .map((row) => this.#set(name(row), { ...row, value: next(row.value, n) }));
    return { undo: () => undos.toReversed().forEach((undo) => undo()) };
  }

  #set(key: string, row: Row | undefined): () => void {
    const old = this.#rows.get(key);
    if (row === undefined) this.#rows.delete(key);
    else this.#rows.set(key, row);
    return () => {
      if (old === undefined) this.#rows.delete(key);
      else this.#rows.set(key, old);
    };
  }
}

const next = (value: number, n: number): number => (value * 31 + n + 1) % MODULUS;
const name = ({ table, key }: Row): string => `${table}/${key}`;
const logName = ({ table, value }: Row): string => `${table}/${value}`;
const textOf = ({ table, key, value, unique, parent }: Row): string =>
  `${table}/${key}: ${value}, unique ${unique}, parent ${parent}`;

/** The server deletes the children, and writes nothing of it into the binlog. */
const isCascade = (change: Change): boolean =>
  "before" in change &&
  change.after === undefined &&
  change.before !== undefined &&
  isParent(change.before.table) &&
  schemaOf(change.before.table) === "b";

function keysOf(
  change: Exclude<Change, { ddl: string }>,
  cascaded: readonly Row[],
): { writes: string[]; reads: string[] } {
  const writes = new Set<string>();
  const reads = new Set<string>();
  for (const row of [change.before, change.after, ...cascaded]) {
    if (row === undefined) continue;
    writes.add(isLog(row.table) ? logName(row) : name(row));
    if (row.unique !== undefined) writes.add(`${row.table}.unique/${row.unique}`);
    if (row.parent !== undefined) reads.add(`${schemaOf(row.table)}.parent/${row.parent}`);
  }
  return { writes: [...writes], reads: [...reads] };
}

/** What a session of the source tries; what the rows of the moment do not allow is left out. */
export interface Attempt {
  schema: "a" | "b";
  table: "parent" | "child" | "log";
  what: "insert" | "update" | "key" | "unique" | "parent" | "delete";
  pick: number;
  n: number;
}

/** A transaction of the source, before it ran. */
export interface Plan {
  attempts: readonly Attempt[];
  bytes: number;
  ddl: boolean;
  alone: boolean;
  startsRun: boolean;
  newFile: boolean;
  session: number | undefined;
  /** Its writeset could not be made. */
  unknown: boolean;
  /** How far before it its commit parent lies, where no conflict is nearer. */
  back: number;
  gap: number;
  hasClock: boolean;
}

export interface ModelTransaction extends SchedulerTransaction {
  changes: readonly Change[];
}

export type ClockKind = "none" | "mysql" | "mariadb";

/** Runs the plans one after the other. The clock is truthful: no commit parent lies before a conflict, and who commits in one group has no conflict. */
export function runOnSource(plans: readonly Plan[], clock: ClockKind): ModelTransaction[] {
  const rows = new Rows();
  const conflicts = new Conflicts();
  const hashes = new Map<string, number>();
  const hash = (key: string): number => hashes.get(key) ?? hashes.set(key, hashes.size + 1).size;
  let file = 1;
  let number = 0;
  const numbers: number[] = [0];
  const files: number[] = [1];
  let group = { first: 1, id: 1n };
  const transactions: ModelTransaction[] = [];
  for (const [index, plan] of plans.entries()) {
    const ordinal = index + 1;
    const { changes, keys, schemas } = plan.ddl ? ddl(plan, rows) : attempt(plan, rows);
    const latest = plan.ddl ? ordinal - 1 : conflicts.latest(keys);
    conflicts.remember(keys, ordinal, plan.ddl);
    if (plan.newFile) [file, number] = [file + 1, 0];
    const before = number;
    const counts = clock === "mysql" && plan.hasClock;
    if (counts) number += 1 + plan.gap;
    numbers.push(number);
    files.push(file);
    const least = files[latest] === file ? (numbers[latest] ?? 0) : 0;
    if (latest >= group.first || plan.newFile || plan.gap > 0) group = { first: ordinal, id: group.id + 1n };
    transactions.push({
      ordinal,
      changes,
      bytes: plan.bytes,
      rows: changes.length,
      alone: plan.alone || plan.ddl,
      barrier: plan.ddl,
      startsRun: plan.startsRun,
      applied: false,
      file: `binlog.${file}`,
      lastCommitted: counts ? Math.max(least, before - plan.back) : 0,
      sequenceNumber: counts ? number : 0,
      commitId: clock === "mariadb" ? group.id : undefined,
      sessionId: plan.session,
      schemas,
      writeset: plan.unknown
        ? undefined
        : plan.ddl
          ? OPAQUE_WRITESET
          : {
              writes: changes.flatMap((change) => shownKeys(change).writes.map(hash)),
              reads: changes.flatMap((change) => shownKeys(change).reads.map(hash)),
              fallback: changes.some(
                (change) => "before" in change && isLog((change.before ?? change.after)?.table ?? ""),
              ),
              opaque: changes.some(isCascade),
            },
    });
  }
  return transactions;
}

/** The server hashes no row without a key. */
function shownKeys(change: Change): { writes: string[]; reads: string[] } {
  if ("ddl" in change || isLog((change.before ?? change.after)?.table ?? "")) return { writes: [], reads: [] };
  return keysOf(change, []);
}

class Conflicts {
  readonly #writers = new Map<string, number>();
  readonly #readers = new Map<string, number>();
  #ddl = 0;

  latest({ writes, reads }: { writes: readonly string[]; reads: readonly string[] }): number {
    const of = (map: ReadonlyMap<string, number>, keys: readonly string[]): number[] =>
      keys.map((key) => map.get(key) ?? 0);
    return Math.max(this.#ddl, ...of(this.#writers, [...writes, ...reads]), ...of(this.#readers, writes));
  }

  remember(
    { writes, reads }: { writes: readonly string[]; reads: readonly string[] },
    ordinal: number,
    isDdl: boolean,
  ): void {
    for (const key of writes) this.#writers.set(key, ordinal);
    for (const key of reads) this.#readers.set(key, ordinal);
    if (isDdl) this.#ddl = ordinal;
  }
}

interface Ran {
  changes: Change[];
  keys: { writes: string[]; reads: string[] };
  schemas: Set<string>;
}

function ddl(plan: Plan, rows: Rows): Ran {
  const change = { ddl: plan.attempts[0]?.schema ?? "a", n: plan.back };
  rows.apply(change);
  return { changes: [change], keys: { writes: [], reads: [] }, schemas: new Set([change.ddl]) };
}

function attempt(plan: Plan, rows: Rows): Ran {
  const ran: Ran = { changes: [], keys: { writes: [], reads: [] }, schemas: new Set() };
  for (const one of plan.attempts) {
    const change = changeOf(one, rows);
    if (change === undefined) continue;
    const { writes, reads } = rows.trueKeys(change);
    if ("conflict" in rows.apply(change)) continue;
    ran.changes.push(change);
    ran.keys.writes.push(...writes);
    ran.keys.reads.push(...reads);
    ran.schemas.add(one.schema);
  }
  return ran;
}

/** So few that transactions meet. */
const KEYS = 8;

function changeOf({ schema, table: short, what, pick, n }: Attempt, rows: Rows): Change | undefined {
  const table = `${schema}.${short}`;
  const parents = rows.of(`${schema}.parent`);
  const parent = short === "child" && n % 4 > 0 ? parents[n % Math.max(1, parents.length)]?.key : undefined;
  if (short === "log") {
    const values = rows.valuesOf(table);
    const value = values[pick % Math.max(1, values.length)];
    const before =
      value === undefined || what === "insert"
        ? undefined
        : { table, key: 0, value, unique: undefined, parent: undefined };
    const after =
      what === "delete" && before !== undefined
        ? undefined
        : { table, key: 0, value: next(value ?? 0, n % 5), unique: undefined, parent: undefined };
    return { before, after };
  }
  const unique = short === "child" && pick % 5 > 0 ? pick % KEYS : undefined;
  const all = rows.of(table);
  const before = all[pick % Math.max(1, all.length)];
  if (what === "insert" || before === undefined) {
    return { before: undefined, after: { table, key: pick % KEYS, value: n, unique, parent } };
  }
  if (what === "delete") return { before, after: undefined };
  const after = { ...before, value: next(before.value, n) };
  if (what === "key" && short === "child") after.key = n % KEYS;
  if (what === "unique" && short === "child") after.unique = n % 6 === 0 ? undefined : n % KEYS;
  if (what === "parent" && short === "child") after.parent = parent;
  return { before, after };
}
