import { expect, test } from "vitest";
import type { Column, Key, Table } from "./catalog.ts";
import { walkingKey } from "./catalog.ts";
import { compareDefinitions, type ServerSeries } from "./definition.ts";

const M97: ServerSeries = { flavour: "mysql", major: 9, minor: 7 };
const M56: ServerSeries = { flavour: "mysql", major: 5, minor: 6 };

test("in one release series texts are compared, and AUTO_INCREMENT is no difference", () => {
  const create = (next: string, key: string): string =>
    `CREATE TABLE \`t\` (\n  \`id\` int NOT NULL AUTO_INCREMENT,\n${key}  PRIMARY KEY (\`id\`)\n) ENGINE=InnoDB${next} DEFAULT CHARSET=utf8mb4`;
  const t = table([column("id", "int")]);
  const compare = (ours: string, theirs: string): string[] =>
    compareDefinitions({ table: t, create: ours, version: M97 }, { table: t, create: theirs, version: M97 }).warnings;
  expect(compare(create(" AUTO_INCREMENT=17", ""), create("", ""))).toEqual([]);
  expect(compare(create("", "  KEY `k` (`id`),\n"), create("", ""))).toEqual(["only on the source: KEY `k` (`id`)"]);
});

test("between versions columns and keys are compared in words that both share", () => {
  const ours = table([column("id", "int(11)"), column("v", "bigint(20) unsigned")], [key("PRIMARY", true, "id")]);
  const theirs = table(
    [column("id", "int"), column("v", "int unsigned")],
    [key("PRIMARY", true, "id"), key("k", false, "v")],
  );
  const { warnings, onlyOnSource, onlyOnTarget } = compareDefinitions(
    { table: ours, create: "a", version: M56 },
    { table: theirs, create: "b", version: M97 },
  );
  expect([onlyOnSource, onlyOnTarget]).toEqual([[], []]);
  expect(warnings).toEqual([
    "column v: the type is bigint unsigned on the source, int unsigned on the target",
    "only on the target: key (v)",
  ]);
});

test("columns of one side only are told apart from a generated invisible key", () => {
  const ours = table([column("ID", "int"), column("w", "int")]);
  const theirs = table([
    { ...column("my_row_id", "bigint"), invisible: true, autoIncrement: true },
    column("id", "int"),
  ]);
  const result = compareDefinitions(
    { table: ours, create: "a", version: M56 },
    { table: theirs, create: "b", version: M97 },
  );
  expect(result.onlyOnSource).toEqual(["w"]);
  expect(result.onlyOnTarget).toEqual([]);
  expect(result.warnings).toContain("only the target has the generated invisible key my_row_id");
});

test("rows are walked by the primary key, else by the shortest unique key without NULL, prefix or expression", () => {
  const columns = ["a", "b", "c"].map((name) => column(name, "int"));
  expect(walkingKey(table(columns, [key("u", true, "a"), key("PRIMARY", true, "b", "c")]))?.name).toBe("PRIMARY");
  expect(walkingKey(table(columns, [key("two", true, "a", "b"), key("one", true, "c")]))?.name).toBe("one");
  const nullable = key("n", true, "a");
  nullable.columns[0] = { name: "a", prefix: undefined, nullable: true, descending: false };
  const prefix = key("p", true, "a");
  prefix.columns[0] = { name: "a", prefix: 5, nullable: false, descending: false };
  const expression = key("e", true, "a");
  expression.columns[0] = { name: undefined, prefix: undefined, nullable: false, descending: false };
  const hidden = { ...key("h", true, "a"), hidden: true };
  expect(walkingKey(table(columns, [nullable, prefix, expression, hidden, key("k", false, "a")]))).toBeUndefined();
});

function table(columns: Column[], keys: Key[] = []): Table {
  return {
    schema: "s",
    name: "t",
    kind: "table",
    engine: "InnoDB",
    collation: undefined,
    rowsEstimate: 0,
    bytesEstimate: 0,
    partitioned: false,
    columns,
    keys,
  };
}

function column(name: string, columnType: string): Column {
  return {
    name,
    dataType: columnType.replace(/[( ].*/, ""),
    columnType,
    nullable: false,
    charset: undefined,
    collation: undefined,
    octetLength: undefined,
    generated: "no",
    invisible: false,
    autoIncrement: false,
  };
}

function key(name: string, unique: boolean, ...columns: string[]): Key {
  return {
    name,
    unique,
    hidden: false,
    columns: columns.map((column) => ({ name: column, prefix: undefined, nullable: false, descending: false })),
  };
}
