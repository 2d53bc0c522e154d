import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { BinlogStatementBuilder, type BinlogStatementOptions, formatStatement } from "./row-injection.ts";

const { TABLE_MAP, WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS, WRITE_ROWS_V1 } = EVENT_TYPE;
const STATEMENT_END = 0x1;
const NO_FOREIGN_KEY_CHECKS = 0x2;
const COMPLETE_ROWS = 0x8;
const TABLE_HAS_TRIGGERS = 0x4000;

function event(type: number, tableId: number, flags: number, body: Buffer, seconds = 0): Buffer {
  const bytes = Buffer.concat([Buffer.alloc(27), body]);
  bytes.writeUInt32LE(seconds, 0);
  bytes[4] = type;
  bytes.writeUInt32LE(bytes.length, 9);
  bytes.writeUIntLE(tableId, 19, 6);
  bytes.writeUInt16LE(flags, 25);
  return bytes;
}

function map(tableId: number, name = `t${tableId}`, { flags = 0, columns = "c", seconds = 0 } = {}): Buffer {
  const named = (text: string): Buffer[] => [Buffer.of(text.length), Buffer.from(`${text}\0`)];
  const body = Buffer.concat([...named("shop"), ...named(name), Buffer.from(columns)]);
  return event(TABLE_MAP, tableId, flags, body, seconds);
}

const rows = (type: number, tableId: number, flags: number, { bytes = 8, mark = 1, seconds = 0 } = {}): Buffer =>
  event(type, tableId, flags, Buffer.alloc(bytes, mark), seconds);

function builderOf(options: Partial<BinlogStatementOptions> & { merge?: boolean } = {}): BinlogStatementBuilder {
  const builder = new BinlogStatementBuilder({ source: "mysql", target: "mysql", bytesMax: 10_000, ...options });
  builder.mergeStatements = options.merge ?? false;
  return builder;
}

/** What the server would see: the events of each BINLOG statement. */
function binlogs(builder: BinlogStatementBuilder, events: Buffer[]): Buffer[][] {
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

const typeOf = (one: Buffer): number => one[4] as number;
const isMap = (one: Buffer): boolean => typeOf(one) === TABLE_MAP;
const tableIdOf = (one: Buffer): number => one.readUIntLE(19, 6);
const flagsOf = (one: Buffer): number => one.readUInt16LE(25);
const endsStatement = (one: Buffer): boolean => (flagsOf(one) & STATEMENT_END) !== 0;
const contentOf = (one: Buffer): string => `${typeOf(one)} ${one.subarray(27).toString("hex")}`;

/** The statements in a BINLOG as the server takes them: up to each STMT_END_F. */
function statementsIn(binlog: Buffer[]): Buffer[][] {
  const statements: Buffer[][] = [[]];
  for (const one of binlog) {
    statements.at(-1)?.push(one);
    if (!isMap(one) && endsStatement(one)) statements.push([]);
  }
  expect(statements.pop()).toEqual([]);
  return statements;
}

/** How many statements the server opens tables for. */
const countOf = (builder: BinlogStatementBuilder, events: Buffer[]): number =>
  binlogs(builder, events).flatMap(statementsIn).length;

describe("BINLOG statements", () => {
  test("many small transactions of one run share a BINLOG, bytes untouched", () => {
    const events = [map(1), rows(WRITE_ROWS, 1, 1), map(2), rows(UPDATE_ROWS, 2, 1, { mark: 4 })];
    expect(binlogs(builderOf(), events)).toEqual([events]);
  });

  test("a statement of the source that is cut gets its table maps again, and its first part ends the statement", () => {
    const parts = binlogs(builderOf({ bytesMax: 200 }), [
      map(1),
      rows(WRITE_ROWS, 1, 0, { bytes: 80, mark: 2 }),
      rows(WRITE_ROWS, 1, 0, { bytes: 80, mark: 3 }),
      rows(WRITE_ROWS, 1, 1, { bytes: 80, mark: 4 }),
    ]);
    expect(parts).toHaveLength(3);
    for (const part of parts) {
      expect(part.map(typeOf)).toEqual([TABLE_MAP, WRITE_ROWS]);
      expect(part.map(endsStatement)).toEqual([false, true]);
    }
  });

  test("a table map whose rows come in the next BINLOG moves there, and is not sent twice", () => {
    const events = [1, 2].flatMap((id) => [map(id), rows(WRITE_ROWS, id, 1, { bytes: 60 })]);
    for (const merge of [false, true]) {
      const parts = binlogs(builderOf({ bytesMax: 180, merge }), events);
      expect(parts.map((part) => part.map(typeOf))).toEqual([
        [TABLE_MAP, WRITE_ROWS],
        [TABLE_MAP, WRITE_ROWS],
      ]);
    }
  });

  test("an event above the limit goes by itself, whole", () => {
    const events = [map(1), rows(WRITE_ROWS, 1, 1, { bytes: 5_000, mark: 7 })];
    expect(binlogs(builderOf({ bytesMax: 100 }), events)).toEqual([events]);
  });

  test("MariaDB's rows become version 2 for MySQL: type, length, extra data", () => {
    const one = rows(WRITE_ROWS_V1, 1, 1, { bytes: 20, mark: 9 });
    const [only] = binlogs(builderOf({ source: "mariadb" }), [map(1), one]);
    const converted = only?.[1];
    expect(converted?.[4]).toBe(WRITE_ROWS);
    expect(converted?.readUInt32LE(9)).toBe(one.length + 2);
    expect(converted?.subarray(27, 29)).toEqual(Buffer.of(2, 0));
    expect(converted?.subarray(29)).toEqual(one.subarray(27));
  });

  test("the same rows stay as they are for MariaDB", () => {
    const events = [map(1), rows(WRITE_ROWS_V1, 1, 1, { mark: 9 })];
    expect(binlogs(builderOf({ source: "mariadb", target: "mariadb" }), events)).toEqual([events]);
  });
});

describe("merged statements", () => {
  test("the table maps of all come first, each once; only the last rows event ends", () => {
    const [first, second] = [map(1), map(2)];
    const events = [
      first,
      rows(WRITE_ROWS, 1, 1, { mark: 1 }),
      second,
      rows(DELETE_ROWS, 2, 1, { mark: 2 }),
      map(1, "t1", { seconds: 5 }),
      rows(UPDATE_ROWS, 1, 1 | COMPLETE_ROWS, { mark: 3 }),
    ];
    const [only, ...others] = binlogs(builderOf({ merge: true }), events);
    expect(others).toEqual([]);
    expect(only?.slice(0, 2)).toEqual([first, second]);
    expect(only?.slice(2).map(contentOf)).toEqual(events.filter((one) => !isMap(one)).map(contentOf));
    expect(only?.slice(2).map(flagsOf)).toEqual([0, 0, 1 | COMPLETE_ROWS]);
  });

  test("the events of the source are not changed, for they may have to be sent again", () => {
    const events = [1, 2].flatMap((id) => [map(id), rows(WRITE_ROWS, id, 1)]);
    const copies = events.map((one) => Buffer.from(one));
    binlogs(builderOf({ merge: true }), events);
    expect(events).toEqual(copies);
  });

  const pair = (one: Buffer[], other: Buffer[], target: "mysql" | "mariadb" = "mysql"): number =>
    countOf(builderOf({ merge: true, source: target, target }), [...one, ...other]);
  const write = (id: number, flags = 0): Buffer => rows(WRITE_ROWS, id, flags | STATEMENT_END);
  const plain = [map(1), write(1)];

  test("two plain ones are one", () => {
    expect(pair(plain, [map(2), write(2)])).toBe(1);
    expect(pair(plain, [map(2), write(2)], "mariadb")).toBe(1);
  });

  test.each([
    ["foreign key checks are off in one of them", [map(2), write(2, NO_FOREIGN_KEY_CHECKS)]],
    ["an id means another table", [map(1, "t9"), write(1)]],
    ["a table has other columns", [map(1, "t1", { columns: "cc" }), write(1)]],
    ["a table has a new id", [map(7, "t1"), write(7)]],
    ["a table map has other flags", [map(1, "t1", { flags: 1 }), write(1)]],
  ])("not when %s", (_why, other) => {
    expect(pair(plain, other)).toBe(2);
    expect(pair(other, plain)).toBe(2);
  });

  test("what follows a write may do anything, what follows another action only the same", () => {
    const statement = (type: number, id: number): Buffer[] => [map(id), rows(type, id, 1)];
    for (const [first, second, statements] of [
      [WRITE_ROWS, DELETE_ROWS, 1],
      [WRITE_ROWS, EVENT_TYPE.PARTIAL_UPDATE_ROWS, 1],
      [UPDATE_ROWS, UPDATE_ROWS, 1],
      [UPDATE_ROWS, WRITE_ROWS, 2],
      [DELETE_ROWS, UPDATE_ROWS, 2],
    ] as const) {
      expect(pair(statement(first, 1), statement(second, 2))).toBe(statements);
    }
  });

  test("MariaDB takes time and triggers from the first event, MySQL does not", () => {
    const later = [map(2), rows(WRITE_ROWS, 2, 1, { seconds: 1 })];
    expect(pair(plain, later, "mariadb")).toBe(2);
    expect(pair(plain, later)).toBe(1);
    const triggers = [map(2, "t2", { flags: TABLE_HAS_TRIGGERS }), write(2)];
    expect(pair(plain, triggers, "mariadb")).toBe(2);
    expect(pair(triggers, plain, "mariadb")).toBe(2);
    expect(pair(triggers, triggers, "mariadb")).toBe(2);
  });

  test("not more tables than a server should open at once", () => {
    const events = Array.from({ length: 150 }, (_, id) => [map(id), write(id)]).flat();
    expect(countOf(builderOf({ merge: true, bytesMax: 1 << 20 }), events)).toBe(3);
  });
});

describe("any stream of rows", () => {
  /** One statement of the source: the tables it maps, and its rows events in order. */
  interface SourceStatement {
    maps: Buffer[];
    rows: Buffer[];
  }
  const tables = fc.record({
    id: fc.integer({ min: 1, max: 4 }),
    name: fc.constantFrom("a", "b", "c"),
    flags: fc.constantFrom(0, 0, 0, TABLE_HAS_TRIGGERS),
    columns: fc.constantFrom("x", "x", "xy"),
  });
  const sourceStatement: fc.Arbitrary<SourceStatement> = fc
    .record({
      tables: fc.uniqueArray(tables, { minLength: 1, maxLength: 3, selector: ({ id }) => id }),
      changes: fc.array(
        fc.record({
          table: fc.nat(2),
          type: fc.constantFrom(WRITE_ROWS, UPDATE_ROWS, DELETE_ROWS),
          bytes: fc.integer({ min: 0, max: 90 }),
          mark: fc.nat(255),
        }),
        { minLength: 1, maxLength: 4 },
      ),
      flags: fc.constantFrom(0, 0, 0, NO_FOREIGN_KEY_CHECKS),
      seconds: fc.constantFrom(0, 0, 1),
    })
    .map(({ tables: mapped, changes, flags, seconds }) => ({
      maps: mapped.map(({ id, name, ...facts }) => map(id, name, { ...facts, seconds })),
      rows: changes.map(({ table, type, bytes, mark }, index) => {
        const id = mapped[table % mapped.length]?.id ?? 0;
        const end = index === changes.length - 1 ? STATEMENT_END : 0;
        return rows(type, id, flags | end, { bytes, mark, seconds });
      }),
    }));
  const streams = fc.array(sourceStatement, { minLength: 1, maxLength: 12 });

  /** All that the server knows of a rows event but does not read from it. */
  const context = (first: Buffer, mapped: Buffer | undefined, target: string): unknown[] => [
    mapped?.subarray(19).toString("hex"),
    flagsOf(first) & NO_FOREIGN_KEY_CHECKS,
    target === "mariadb" ? first.readUInt32LE(0) : 0,
  ];

  test("is applied event by event as the source had it, in bounded BINLOGs", () => {
    const flavours = fc.constantFrom("mysql", "mariadb");
    fc.assert(
      fc.property(streams, flavours, fc.boolean(), fc.integer({ min: 60, max: 900 }), (source, target, merge, most) => {
        const wanted = source.flatMap((statement) =>
          statement.rows.map((one) => [
            contentOf(one),
            ...context(
              statement.rows[0] as Buffer,
              statement.maps.find((each) => tableIdOf(each) === tableIdOf(one)),
              target,
            ),
          ]),
        );
        const sent = binlogs(
          builderOf({ source: target, target, merge, bytesMax: most }),
          source.flatMap((statement) => [...statement.maps, ...statement.rows]),
        );
        const applied: unknown[] = [];
        for (const binlog of sent) {
          const rowsCount = binlog.filter((one) => !isMap(one)).length;
          if (rowsCount > 1) expect(binlog.reduce((sum, one) => sum + one.length, 0)).toBeLessThanOrEqual(most);
          for (const statement of statementsIn(binlog)) {
            const firstRows = statement.findIndex((one) => !isMap(one));
            const maps = new Map(statement.slice(0, firstRows).map((one) => [tableIdOf(one), one]));
            expect(maps.size).toBe(firstRows);
            for (const one of statement.slice(firstRows)) {
              expect(isMap(one)).toBe(false);
              const mapped = maps.get(tableIdOf(one));
              applied.push([contentOf(one), ...context(statement[firstRows] as Buffer, mapped, target)]);
            }
          }
        }
        expect(applied).toEqual(wanted);
      }),
      { numRuns: 500 },
    );
  });

  test("merged is never more statements than apart", () => {
    fc.assert(
      fc.property(streams, (source) => {
        const events = source.flatMap((statement) => [...statement.maps, ...statement.rows]);
        const bytesMax = 1 << 20;
        expect(countOf(builderOf({ bytesMax }), events)).toBe(source.length);
        expect(countOf(builderOf({ bytesMax, merge: true }), events)).toBeLessThanOrEqual(source.length);
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
