import fc from "fast-check";
import { expect, test } from "vitest";
import { describeStartPoint, parseStartPoint } from "./start-point.ts";

const UUID = "566f59e9-ecb5-11f1-8ad6-02fc00000001";

test("each form of a start point is told by its looks", () => {
  expect(parseStartPoint("now")).toEqual({ kind: "now" });
  expect(parseStartPoint("binlog.000003:4711")).toEqual({ kind: "file", file: "binlog.000003", position: 4711 });
  expect(parseStartPoint(" mysql-bin.000003:4 ")).toEqual({ kind: "file", file: "mysql-bin.000003", position: 4 });
  expect(parseStartPoint(`${UUID}:1-5`).kind).toBe("mysql-gtid");
  expect(parseStartPoint(`${UUID}:1-5:7,${UUID.replace("5", "6")}:1-3:tag:9`).kind).toBe("mysql-gtid");
  expect(parseStartPoint(`${UUID.toUpperCase()}:1`).kind).toBe("mysql-gtid");
  expect(parseStartPoint("0-1-100").kind).toBe("mariadb-gtid");
  expect(parseStartPoint("0-1-100, 1-2-5").kind).toBe("mariadb-gtid");
});

test("a file may have any name, with colons and dashes too", () => {
  expect(parseStartPoint("0-1-100:4")).toEqual({ kind: "file", file: "0-1-100", position: 4 });
  expect(parseStartPoint("a:b.000001:120")).toEqual({ kind: "file", file: "a:b.000001", position: 120 });
});

test("positions above 4 GiB are kept exactly", () => {
  expect(parseStartPoint("binlog.000003:5000000000")).toMatchObject({ position: 5_000_000_000 });
});

test("what a start point writes is read back as the same", () => {
  const mysql = fc.tuple(fc.uuid(), fc.bigInt(1n, 2n ** 40n)).map(([uuid, gno]) => `${uuid}:1-${gno + 1n}`);
  const mariadb = fc.tuple(fc.nat(), fc.nat(), fc.nat()).map((numbers) => numbers.join("-"));
  const file = fc
    .tuple(fc.stringMatching(/^[a-z][a-z.-]{0,20}$/), fc.integer({ min: 4 }))
    .map(([f, p]) => `${f}.000001:${p}`);
  fc.assert(
    fc.property(fc.oneof(mysql, mariadb, file, fc.constant("now")), (text) => {
      const start = parseStartPoint(text);
      expect(describeStartPoint(start)).toBe(text);
      expect(parseStartPoint(describeStartPoint(start))).toEqual(start);
    }),
  );
});

test.each([
  "",
  "yesterday",
  "binlog.000003",
  "binlog.000003:",
  ":4",
  `${UUID}:`,
  `${UUID}:5-1`,
  "0-1",
  "binlog.000003:3",
])("%j is refused with the forms there are", (text) => {
  expect(() => parseStartPoint(text)).toThrow(expect.objectContaining({ code: "CONFIG", hint: expect.any(String) }));
});
