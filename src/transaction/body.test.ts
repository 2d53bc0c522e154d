import { expect, test } from "vitest";
import { le, makeEvent, MARIADB_FORMAT } from "../../test/helpers/binlog-event.ts";
import { appendChecksum } from "../binlog/checksum.ts";
import { decodeTableMap } from "../binlog/events/table-map.ts";
import { BodyCollector } from "./body.ts";

test("a table map loses its checksum also before rows that were compressed, and have none", () => {
  const map = makeEvent(19, [le(6, 7), le(2, 1), 1, "d", 0, 1, "t", 0, 1, 3, 0, 0]);
  const rows = makeEvent(23, [le(6, 7), le(2, 1), 1, 1, 0, le(4, 5)]);
  const body = new BodyCollector(undefined);
  body.tableMap(appendChecksum(map), { ...MARIADB_FORMAT, checksum: "crc32" }, { file: "m.000001", position: 4 });
  body.rowsEvent(rows, MARIADB_FORMAT);
  const held = [...body.take()];
  expect(held).toEqual([map, rows]);
  expect(decodeTableMap(held[0] ?? Buffer.alloc(0), MARIADB_FORMAT).optional).toHaveLength(0);
});
