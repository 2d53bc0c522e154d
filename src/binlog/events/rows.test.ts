import { describe, expect, it } from "vitest";
import { FORMAT, le, makeEvent } from "../../../test/helpers/binlog-event.ts";
import { appendChecksum } from "../checksum.ts";
import { COLUMN_TYPE as T } from "../columns/types.ts";
import type { BinlogFormat } from "../format.ts";
import { countRows, decodeRows, hasBit, ROWS_FLAG, rowsFlags, rowsTableId } from "./rows.ts";
import { decodeTableMap, TableMaps } from "./table-map.ts";

/** `t(i INT, v VARCHAR(300), j JSON)`, table id 2^32 + 5. */
const TABLE_ID = 2 ** 32 + 5;
const tableMap = (id: number = TABLE_ID, table = "t"): Buffer =>
  makeEvent(19, [
    le(6, id),
    le(2, 1),
    1,
    "d",
    0,
    table.length,
    table,
    0,
    3,
    T.LONG,
    T.VARCHAR,
    T.JSON,
    3,
    le(2, 300),
    4,
    0b110,
  ]);
const map = decodeTableMap(tableMap(), FORMAT);

const rows = (type: number, parts: readonly (Buffer | number | string)[], flags = 1): Buffer =>
  makeEvent(type, [le(6, TABLE_ID), le(2, flags), ...(type >= 30 ? [le(2, 2)] : []), 3, ...parts]);

const int = (value: number): Buffer => le(4, value);
const varchar = (text: string): (Buffer | string)[] => [le(2, text.length), text];
const json = (text: string): (Buffer | string)[] => [le(4, text.length), text];
const ALL = 0b111;

describe("a table map", () => {
  it("names the table and its columns", () => {
    expect(map).toMatchObject({ tableId: TABLE_ID, schema: "d", table: "t", columnCount: 3, jsonColumns: 1 });
    expect([...map.types]).toEqual([T.LONG, T.VARCHAR, T.JSON]);
    expect([...map.metadata]).toEqual([0, 300, 4]);
    expect([0, 1, 2].map((column) => hasBit(map.nullBits, 0, column))).toEqual([false, true, true]);
  });

  it("of before 5.1.4 has a table id of 4 bytes", () => {
    const old: BinlogFormat = { ...FORMAT, postHeaderLengths: Uint8Array.from({ length: 40 }, () => 6) };
    const event = makeEvent(19, [le(4, 9), le(2, 1), 1, "d", 0, 1, "t", 0, 1, T.TINY, 0, 0]);
    expect(decodeTableMap(event, old)).toMatchObject({ tableId: 9, flags: 1, table: "t" });
    expect(rowsTableId(event, old)).toBe(9);
    const row = makeEvent(23, [le(4, 9), le(2, 1), 1, 1, 0, 7, 0, 8]);
    expect(countRows(row, decodeTableMap(event, old), old)).toBe(2);
    expect(rowsFlags(row, old)).toBe(ROWS_FLAG.STATEMENT_END);
  });

  it("that comes again keeps its decoded form; a changed one replaces it", () => {
    const maps = new TableMaps();
    const first = maps.add(tableMap(), FORMAT);
    const again = tableMap();
    again.writeUInt32LE(123, 13);
    expect(maps.add(again, FORMAT)).toBe(first);
    const changed = maps.add(tableMap(TABLE_ID, "u"), FORMAT);
    expect(changed.table).toBe("u");
    expect(maps.get(TABLE_ID)).toBe(changed);
    expect(maps.get(7)).toBeUndefined();
    maps.clear();
    expect(maps.get(TABLE_ID)).toBeUndefined();
  });

  it("is forgotten some thousands of new ones later, but not one that keeps coming", () => {
    const maps = new TableMaps();
    for (let id = 1; id <= 20_000; id++) {
      maps.add(tableMap(id), FORMAT);
      maps.add(tableMap(TABLE_ID), FORMAT);
      expect(maps.get(TABLE_ID)).toBeDefined();
      expect(maps.get(id)).toBeDefined();
    }
    expect(maps.get(1)).toBeUndefined();
    expect(maps.get(19_000)?.tableId).toBe(19_000);
  });

  it("does not change when the packet that it came in is used again", () => {
    const maps = new TableMaps();
    const packet = tableMap();
    const known = maps.add(packet, FORMAT);
    packet.fill(0, 30);
    expect([...known.types]).toEqual([T.LONG, T.VARCHAR, T.JSON]);
  });
});

describe("a row event", () => {
  it("says what it does, to which table, and where its images are", () => {
    const event = rows(31, [0b001, 0b011, 0, int(1), 0, int(2), varchar("x")].flat());
    const decoded = decodeRows(event, FORMAT);
    expect(decoded).toMatchObject({
      operation: "update",
      version: 2,
      partial: false,
      tableId: TABLE_ID,
      columnCount: 3,
    });
    expect([0, 1, 2].map((column) => hasBit(event, decoded.beforeBitmap, column))).toEqual([true, false, false]);
    expect([0, 1, 2].map((column) => hasBit(event, decoded.afterBitmap, column))).toEqual([true, true, false]);
    expect(decoded.rowsEnd).toBe(event.length);
    expect(rowsTableId(event, FORMAT)).toBe(TABLE_ID);
    expect(countRows(event, map, FORMAT)).toBe(1);
  });

  it("keeps its extra data and its checksum out of the images", () => {
    const event = appendChecksum(
      makeEvent(30, [le(6, TABLE_ID), le(2, 1), le(2, 7), "extra", 3, ALL, 0b110, int(1), 0b110, int(2)]),
    );
    const summed: BinlogFormat = { ...FORMAT, checksum: "crc32" };
    expect(decodeRows(event, summed).extraData.toString()).toBe("extra");
    expect(countRows(event, map, summed)).toBe(2);
  });

  it.each<[string, number, (Buffer | number | string)[], number]>([
    [
      "an insert of three",
      30,
      [ALL, 0, int(1), ...varchar("abc"), ...json("{}"), 0b110, int(2), 0b100, int(3), ...varchar("")],
      3,
    ],
    ["an insert of version 1", 23, [ALL, 0b110, int(1), 0b110, int(2)], 2],
    ["a delete of whole rows", 32, [ALL, 0b110, int(1)], 1],
    ["a delete of keys", 25, [0b001, 0, int(1), 0, int(2), 0, int(3)], 3],
    ["an update of two rows", 24, [0b001, 0b010, 0, int(1), 0, ...varchar("a"), 0, int(2), 1], 2],
    ["a partial update with a difference", 39, [0b001, 0b100, 0, int(1), 1, 1, 0, ...json("diff"), 0, int(2), 0, 1], 2],
    ["a row of default values in a minimal image", 30, [0], 1],
    ["no rows", 30, [ALL], 0],
  ])("%s counts", (_what, type, parts, count) => {
    expect(countRows(rows(type, parts), map, FORMAT)).toBe(count);
  });

  it.each<[string, Buffer]>([
    ["ends in the middle of a value", rows(30, [ALL, 0b110, le(3, 1)])],
    ["ends in the middle of a length", rows(30, [ALL, 0b100, int(1), 5])],
    ["ends behind its first image", rows(31, [ALL, ALL, 0b110, int(1)])],
    ["has bytes but no columns", rows(30, [0, 1, 2, 3])],
    [
      "belongs to a table of another width",
      makeEvent(30, [le(6, TABLE_ID), le(2, 1), le(2, 2), 2, 3, 0, int(1), int(2)]),
    ],
    ["belongs to another table", makeEvent(30, [le(6, 9), le(2, 1), le(2, 2), 3, ALL, 0b110, int(1)])],
    ["is partial in an unknown way", rows(39, [1, 1, 0, int(1), 2, 0, int(1)])],
    ["has extra data shorter than its length", makeEvent(30, [le(6, TABLE_ID), le(2, 1), le(2, 1), 3, ALL])],
  ])("that %s is corrupt", (_what, event) => {
    expect(() => countRows(event, map, FORMAT)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
  });
});
