import { beforeAll, describe, expect, test } from "vitest";
import { FORMAT } from "../../../test/helpers/binlog-event.ts";
import { LOGGED, makeRow, makeTableMap } from "../../../test/helpers/row-images.ts";
import type { TableMapEvent } from "../../binlog/events/table-map.ts";
import type { Column, Key, Table } from "../../schema/catalog.ts";
import type { ForeignKey } from "../../schema/key-catalog.ts";
import type { Writeset } from "../writeset.ts";
import { WritesetExtractor } from "./extract.ts";
import { type KeyHash, loadKeyHash } from "./key-hash.ts";
import { planTable, type TablePlan } from "./plan.ts";

let hash: KeyHash;

beforeAll(async () => {
  hash = await loadKeyHash("xxhash64");
});

/** `parent(id PRIMARY KEY, k, x)` and `child(id PRIMARY KEY, p, v)`; which key of the parent `p` refers to is the test's. A `tree` refers to itself. */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  parent: ["id", "k", "x"],
  child: ["id", "p", "v"],
  tree: ["id", "p", "v"],
};

type Row = readonly (number | null | undefined)[];

interface Change {
  table: string;
  before?: Row;
  after?: Row;
}

const insert = (table: string, ...after: Row): Change => ({ table, after });
const remove = (table: string, ...before: Row): Change => ({ table, before });
const update = (table: string, before: Row, after: Row): Change => ({ table, before, after });

const PARENT_CHANGES: Readonly<Record<string, Change>> = {
  "parent inserted": insert("parent", 1, 1, 7),
  "parent's x": update("parent", [1, 1, 7], [1, 1, 8]),
  "parent's id and k": update("parent", [1, 1, 7], [2, 2, 7]),
  "parent deleted": remove("parent", 1, 1, 7),
};
const CHILD_CHANGES: Readonly<Record<string, Change>> = {
  "child inserted": insert("child", 5, 1, 0),
  "child comes": update("child", [5, 9, 0], [5, 1, 0]),
  "child comes from NULL": update("child", [5, null, 0], [5, 1, 0]),
  "child's v": update("child", [5, 1, 0], [5, 1, 1]),
  "child leaves": update("child", [5, 1, 0], [5, 9, 0]),
  "child leaves for NULL": update("child", [5, 1, 0], [5, null, 0]),
  "child deleted": remove("child", 5, 1, 0),
  "orphan's v": update("child", [5, null, 0], [5, null, 1]),
};
const COMES = ["child inserted", "child comes", "child comes from NULL"];
const STAYS_OR_LEAVES = ["child's v", "child leaves", "child leaves for NULL", "child deleted"];
const REFERS = [...COMES, ...STAYS_OR_LEAVES];

describe.each([
  { refersTo: "the primary key", column: "id", keys: [unique("PRIMARY", "id")], withX: COMES },
  // No lock of the row: it is looked up in the other key's index.
  { refersTo: "another unique key", column: "k", keys: [unique("PRIMARY", "id"), unique("k", "k")], withX: [] },
  { refersTo: "a key that is not unique", column: "k", keys: [unique("PRIMARY", "id")], withX: [] },
  // Of two keys on its columns the server takes the primary one.
  { refersTo: "two keys", column: "id", keys: [unique("also", "id"), unique("PRIMARY", "id")], withX: COMES },
])("a foreign key to $refersTo", ({ column, keys, withX }) => {
  const tables = [tableOf("parent", keys), tableOf("child", [unique("PRIMARY", "id")])];
  const set = extractor(tables, [foreignKey("child", "parent", column)]);
  const orderedWith = (parent: string): string[] =>
    Object.keys(CHILD_CHANGES).filter((child) =>
      conflict(set(PARENT_CHANGES[parent] as Change), set(CHILD_CHANGES[child] as Change)),
    );

  test("whoever makes the parent's value come or go is in order with all that refer to it", () => {
    expect(orderedWith("parent inserted")).toEqual(REFERS);
    expect(orderedWith("parent deleted")).toEqual(REFERS);
    expect(orderedWith("parent's id and k")).toEqual(REFERS);
  });

  test("a change of the parent's other columns is in order with those whom the source made wait for it", () => {
    expect(orderedWith("parent's x")).toEqual(withX);
  });

  test("changes of one parent are in order with each other, those of its children are not", () => {
    const parents = Object.values(PARENT_CHANGES).map(set);
    for (const one of parents) for (const other of parents) expect(conflict(one, other)).toBe(true);
    const sibling = set(insert("child", 6, 1, 0));
    for (const change of Object.values(CHILD_CHANGES)) expect(conflict(set(change), sibling)).toBe(false);
  });

  test("a child that moves is in order with both its parents", () => {
    const moves = set(update("child", [5, 1, 0], [5, 2, 0]));
    for (const id of [1, 2]) {
      expect(conflict(moves, set(insert("parent", id, id, 0)))).toBe(true);
      expect(conflict(moves, set(remove("parent", id, id, 0)))).toBe(true);
    }
    expect(conflict(moves, set(remove("parent", 3, 3, 0)))).toBe(false);
    expect(moves.reads).toHaveLength(2);
  });

  test("what a minimal image leaves out of a reference is opaque where it may change, and stays where it does not", () => {
    expect(set(update("child", [5, undefined, undefined], [undefined, undefined, 1]))).toMatchObject({
      reads: [],
      opaque: false,
    });
    expect(set(update("child", [5, undefined, undefined], [undefined, 1, undefined])).opaque).toBe(true);
    expect(set(insert("child", 5, undefined, 1)).opaque).toBe(true);
    expect(set(remove("child", 5, undefined, undefined)).opaque).toBe(true);
    expect(set(update("parent", [1, undefined, undefined], [undefined, undefined, 8])).opaque).toBe(false);
  });
});

test("a table that no other refers to has its keys' hashes only", () => {
  const set = extractor([tableOf("parent", [unique("PRIMARY", "id"), unique("k", "k")])], []);
  expect(set(insert("parent", 1, 1, 1)).writes).toHaveLength(2);
});

test("a table that refers to itself: rows come after those above them and go before them; other columns of those are free", () => {
  const set = extractor([tableOf("tree", [unique("PRIMARY", "id")])], [foreignKey("tree", "tree", "id")]);
  const root = insert("tree", 1, null, 0);
  const leaf = insert("tree", 2, 1, 0);
  expect(conflict(set(root), set(leaf))).toBe(true);
  expect(conflict(set(leaf), set(insert("tree", 3, 2, 0)))).toBe(true);
  expect(conflict(set(leaf), set(insert("tree", 4, 1, 0)))).toBe(false);
  const leafDeleted = set(remove("tree", 2, 1, 0));
  expect(conflict(leafDeleted, set(remove("tree", 1, null, 0)))).toBe(true);
  expect(conflict(leafDeleted, set(update("tree", [1, null, 0], [1, null, 5])))).toBe(false);
  expect(conflict(set(leaf), set(update("tree", [1, null, 0], [1, null, 5])))).toBe(true);
});

function conflict(a: Writeset, b: Writeset): boolean {
  const meet = (left: readonly number[], right: readonly number[]): boolean => left.some((one) => right.includes(one));
  return meet(a.writes, b.writes) || meet(a.writes, b.reads) || meet(a.reads, b.writes);
}

function extractor(tables: readonly Table[], foreignKeys: readonly ForeignKey[]): (change: Change) => Writeset {
  const plans = new Map<string, TablePlan>();
  const tableNamed = (name: string): Table | undefined => tables.find((table) => table.name === name);
  const planOf = (map: TableMapEvent): TablePlan => {
    const table = tableNamed(map.table);
    if (table === undefined) throw new Error(`no table ${map.table}`);
    const known = plans.get(table.name);
    if (known !== undefined) return known;
    const plan = planTable(map, {
      flavour: "mysql",
      table,
      foreignKeys: foreignKeys
        .filter((key) => key.table === table.name)
        .map((key) => ({ key, parent: tableNamed(key.parentTable) })),
      referencedBy: foreignKeys.filter((key) => key.parentTable === table.name),
      collation: () => undefined,
      charsetOfCollation: () => undefined,
      hash,
    });
    plans.set(table.name, plan);
    return plan;
  };
  return ({ table, before, after }) => {
    const columns = (COLUMNS[table] ?? []).map(() => LOGGED.int);
    const operation = before === undefined ? "write" : after === undefined ? "delete" : "update";
    const images = [before, after].filter((row) => row !== undefined);
    const id = Object.keys(COLUMNS).indexOf(table) + 1;
    const events = [makeTableMap(id, "s", table, columns), makeRow(operation, id, columns, images.map(logged))];
    return new WritesetExtractor(hash, planOf).extract(events, FORMAT).writeset;
  };
}

const logged = (row: Row): (Buffer | null | undefined)[] =>
  row.map((value) => (typeof value === "number" ? Buffer.from(Int32Array.of(value).buffer) : value));

function unique(name: string, column: string): Key {
  const columns = [{ name: column, prefix: undefined, nullable: false, descending: false }];
  return { name, unique: true, hidden: false, columns };
}

function foreignKey(table: string, parentTable: string, parentColumn: string): ForeignKey {
  return {
    name: "fk",
    schema: "s",
    table,
    columns: ["p"],
    parentSchema: "s",
    parentTable,
    parentColumns: [parentColumn],
    onUpdate: "RESTRICT",
    onDelete: "RESTRICT",
  };
}

function tableOf(name: string, keys: readonly Key[]): Table {
  return {
    schema: "s",
    name,
    kind: "table",
    engine: "InnoDB",
    collation: undefined,
    rowsEstimate: 0,
    bytesEstimate: 0,
    partitioned: false,
    keys: [...keys],
    columns: (COLUMNS[name] ?? []).map((column): Column => ({
      name: column,
      dataType: "int",
      columnType: "int",
      nullable: true,
      charset: undefined,
      collation: undefined,
      octetLength: undefined,
      generated: "no",
      invisible: false,
      autoIncrement: false,
    })),
  };
}
