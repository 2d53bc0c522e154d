import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { BinlogStatementBuilder, formatStatement } from "./row-injection.ts";

const TABLE_MAP = EVENT_TYPE.TABLE_MAP;

function event(type: number, bodyBytes: number, flags = 0, mark = 0): Buffer {
  const bytes = Buffer.alloc(19 + 8 + bodyBytes, mark);
  bytes.fill(0, 0, 27);
  bytes[4] = type;
  bytes.writeUInt32LE(bytes.length, 9);
  bytes.writeUInt16LE(flags, 25);
  return bytes;
}

/** What the server would see: the events of each BINLOG statement. */
function statements(builder: BinlogStatementBuilder, events: Buffer[]): Buffer[][] {
  const texts = [...events.map((one) => builder.add(one)), builder.finish()].filter((text) => text !== undefined);
  return texts.map((parts) => {
    const text = Buffer.concat(parts).toString("latin1");
    expect(text).toMatch(/^BINLOG '[A-Za-z0-9+/=]+'$/);
    const bytes = Buffer.from(text.slice(8, -1), "base64");
    const cut: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += bytes.readUInt32LE(at + 9)) {
      cut.push(bytes.subarray(at, at + bytes.readUInt32LE(at + 9)));
    }
    return cut;
  });
}

const isMap = (one: Buffer): boolean => one[4] === TABLE_MAP;
const endsStatement = (one: Buffer): boolean => (one.readUInt16LE(25) & 1) === 1;

describe("BINLOG statements", () => {
  test("many small transactions of one run share a statement, bytes untouched", () => {
    const events = [event(TABLE_MAP, 10, 1, 1), event(30, 20, 1, 2), event(TABLE_MAP, 10, 1, 3), event(31, 20, 1, 4)];
    const [only, ...others] = statements(new BinlogStatementBuilder("mysql", "mysql", 10_000), events);
    expect(others).toEqual([]);
    expect(only).toEqual(events);
  });

  test("a statement of the source that is cut gets its table maps again, and its first part ends the statement", () => {
    const map = event(TABLE_MAP, 10, 0, 1);
    const parts = statements(new BinlogStatementBuilder("mysql", "mysql", 200), [
      map,
      event(30, 80, 0, 2),
      event(30, 80, 0, 3),
      event(30, 80, 1, 4),
    ]);
    expect(parts).toHaveLength(3);
    for (const part of parts) {
      expect(part.map((one) => one[4])).toEqual([TABLE_MAP, 30]);
      expect(part.map(endsStatement)).toEqual([false, true]);
    }
  });

  test("a table map whose rows come in the next statement moves there, and is not sent twice", () => {
    const events = [event(TABLE_MAP, 10), event(30, 60, 1), event(TABLE_MAP, 10), event(30, 60, 1)];
    const parts = statements(new BinlogStatementBuilder("mysql", "mysql", 180), events);
    expect(parts.map((part) => part.map((one) => one[4]))).toEqual([
      [TABLE_MAP, 30],
      [TABLE_MAP, 30],
    ]);
  });

  test("an event above the limit goes by itself, whole", () => {
    const events = [event(TABLE_MAP, 10), event(30, 5_000, 1, 7)];
    expect(statements(new BinlogStatementBuilder("mysql", "mysql", 100), events)).toEqual([events]);
  });

  test("MariaDB's rows become version 2 for MySQL: type, length, extra data", () => {
    const rows = event(23, 20, 1, 9);
    const [only] = statements(new BinlogStatementBuilder("mariadb", "mysql", 10_000), [event(TABLE_MAP, 10), rows]);
    const converted = only?.[1];
    expect(converted?.[4]).toBe(30);
    expect(converted?.readUInt32LE(9)).toBe(rows.length + 2);
    expect(converted?.subarray(27, 29)).toEqual(Buffer.of(2, 0));
    expect(converted?.subarray(29)).toEqual(rows.subarray(27));
  });

  test("the same rows stay as they are for MariaDB", () => {
    const events = [event(TABLE_MAP, 10), event(23, 20, 1, 9)];
    expect(statements(new BinlogStatementBuilder("mariadb", "mariadb", 10_000), events)).toEqual([events]);
  });

  test("however they are cut, every rows event arrives once, in order, behind the table maps of its statement", () => {
    const sourceStatements = fc.array(
      fc.record({
        maps: fc.integer({ min: 1, max: 3 }),
        rows: fc.array(fc.integer({ min: 0, max: 90 }), { minLength: 1 }),
      }),
      { minLength: 1, maxLength: 8 },
    );
    fc.assert(
      fc.property(sourceStatements, fc.integer({ min: 60, max: 400 }), (source, bytesMax) => {
        let mark = 0;
        const events = source.flatMap(({ maps, rows }) => [
          ...Array.from({ length: maps }, () => event(TABLE_MAP, 4, 0, ++mark % 256)),
          ...rows.map((bytes, index) => event(30, bytes, index === rows.length - 1 ? 1 : 0, ++mark % 256)),
        ]);
        const parts = statements(new BinlogStatementBuilder("mysql", "mysql", bytesMax), events);
        const body = (one: Buffer): string => one.subarray(27).toString("hex");
        expect(
          parts
            .flat()
            .filter((one) => !isMap(one))
            .map(body),
        ).toEqual(events.filter((one) => !isMap(one)).map(body));
        for (const part of parts) {
          expect(isMap(part[0] as Buffer)).toBe(true);
          expect(endsStatement(part.at(-1) as Buffer)).toBe(true);
          expect(isMap(part.at(-1) as Buffer)).toBe(false);
        }
      }),
    );
  });
});

describe("the FORMAT_DESCRIPTION of a session", () => {
  const source = {
    binlogVersion: 4,
    serverVersion: "10.11.18-MariaDB-log",
    flavour: "mariadb" as const,
    checksum: "crc32" as const,
    headerLength: 19,
    postHeaderLengths: Uint8Array.from({ length: 172 }, (_, type) => type % 7),
  };
  const decoded = (text: string): Buffer => Buffer.from(text.slice(8, -1), "base64");

  test("is the source's own for the same flavour, with checksums off", () => {
    const bytes = decoded(formatStatement(source, "mariadb"));
    expect(bytes.readUInt32LE(9)).toBe(bytes.length);
    expect(bytes.toString("latin1", 21, 41)).toBe(source.serverVersion);
    expect(bytes.subarray(76, -5)).toEqual(Buffer.from(source.postHeaderLengths.subarray(1)));
    expect(bytes.at(-5)).toBe(0);
  });

  test("is one of MySQL's when MariaDB's rows go to MySQL", () => {
    const bytes = decoded(formatStatement(source, "mysql"));
    expect(bytes.toString("latin1", 21, 27)).toBe("5.7.44");
    expect(bytes[76 + 29]).toBe(10);
  });
});
