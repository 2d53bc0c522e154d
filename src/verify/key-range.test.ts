import { expect, test } from "vitest";
import type { Column, Table } from "../schema/catalog.ts";
import { describeKey, type KeyWalk, keyPoint, keyWalk, rangeCondition, walksAlike } from "./key-range.ts";

test("a range of a one-column key is two comparisons", () => {
  const walk = walkOf([column("id", "int")]);
  expect(rangeCondition(walk, { from: ["5"], to: ["9"] })).toBe(" WHERE `id`>5 AND `id`<=9");
  expect(rangeCondition(walk, { from: undefined, to: undefined })).toBe("");
});

test("a range of a longer key is written out column by column, bounded by the first", () => {
  const walk = walkOf([column("a", "int"), column("b", "date"), column("c", "binary")]);
  expect(rangeCondition(walk, { from: ["1", "'2026-01-01'", "X'00'"], to: undefined })).toBe(
    " WHERE `a`>=1 AND (`a`>1 OR `a`=1 AND `b`>'2026-01-01' OR `a`=1 AND `b`='2026-01-01' AND `c`>X'00')",
  );
  expect(rangeCondition(walk, { from: undefined, to: ["1", "'2026-01-01'", "X'00'"] })).toBe(
    " WHERE `a`<=1 AND (`a`<1 OR `a`=1 AND `b`<'2026-01-01' OR `a`=1 AND `b`='2026-01-01' AND `c`<=X'00')",
  );
});

test("values become literals that read back exactly, whatever the session's character set", () => {
  const walk = walkOf([column("d", "double"), column("s", "varchar", "latin1"), column("b", "binary")]);
  const point = keyPoint(walk, [Buffer.from("3.14"), Buffer.from([0xe9, 0x27]), Buffer.from([0, 1])]);
  expect(point).toEqual(["3.14e0", "_latin1 X'e927'", "X'0001'"]);
  expect(describeKey(point)).toBe("(3.14e0, 'é'', 0x0001)");
  expect(keyPoint(walk, [Buffer.from("1e300"), Buffer.from("a"), Buffer.alloc(0)])[0]).toBe("1e300");
});

test("a key of a type without a walkable order is not walked, nor one that runs downwards", () => {
  const blob = tableOf([column("b", "blob")]);
  expect(keyWalk(blob, blob.keys[0] as Table["keys"][number])).toBeUndefined();
  const down = tableOf([column("a", "int")]);
  (down.keys[0] as Table["keys"][number]).columns[0] = {
    name: "a",
    prefix: undefined,
    nullable: false,
    descending: true,
  };
  expect(keyWalk(down, down.keys[0] as Table["keys"][number])).toBeUndefined();
});

test("two sides walk alike only when their key columns sort alike", () => {
  const key = tableOf([column("s", "varchar", "utf8mb4", "utf8mb4_0900_ai_ci")]);
  const other = tableOf([column("s", "varchar", "utf8mb4", "utf8mb4_general_ci")]);
  expect(walksAlike(key, key, key.keys[0] as Table["keys"][number])).toBe(true);
  expect(walksAlike(key, other, key.keys[0] as Table["keys"][number])).toBe(false);
});

function walkOf(columns: Column[]): KeyWalk {
  const table = tableOf(columns);
  return keyWalk(table, table.keys[0] as Table["keys"][number]) as KeyWalk;
}

function tableOf(columns: Column[]): Table {
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
    keys: [
      {
        name: "PRIMARY",
        unique: true,
        hidden: false,
        columns: columns.map(({ name }) => ({ name, prefix: undefined, nullable: false, descending: false })),
      },
    ],
  };
}

function column(name: string, dataType: string, charset?: string, collation?: string): Column {
  return {
    name,
    dataType,
    columnType: dataType,
    nullable: false,
    charset,
    collation,
    octetLength: 10,
    generated: "no",
    invisible: false,
    autoIncrement: false,
  };
}
