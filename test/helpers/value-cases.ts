import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeValue, type Value } from "../../src/binlog/columns/value.ts";
import { eventType } from "../../src/binlog/event.ts";
import { EVENT_TYPE } from "../../src/binlog/event-type.ts";
import { NULL_VALUE, RowWalker } from "../../src/binlog/events/row-walker.ts";
import { TableMaps, type TableMapEvent } from "../../src/binlog/events/table-map.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import type { Table } from "../../src/schema/catalog.ts";
import { readTable } from "../../src/schema/key-catalog.ts";
import { quoteName } from "../../src/schema/names.ts";
import { valueFacts } from "../../src/schema/value-facts.ts";
import type { Session } from "../../src/wire/session.ts";
import { allTypes, type TypesOf } from "./all-types.ts";
import { assembleFiles, binlogFiles } from "./assemble.ts";
import { contents, openSession } from "./replay.ts";
import { useServer } from "./servers.ts";

interface DecodedRow {
  table: Table;
  values: (Value | undefined)[];
}

/** Every inserted row of the server's last binlog file; a value that is NULL is undefined. */
async function decodeInserts(server: SandboxServer, session: Session): Promise<DecodedRow[]> {
  const { transactions } = assembleFiles((await binlogFiles(server)).slice(-1));
  const walker = new RowWalker();
  const tables = new Map<string, Table>();
  const rows: DecodedRow[] = [];
  for (const { body, format } of transactions) {
    const maps = new TableMaps();
    let map: TableMapEvent | undefined;
    for (const event of "events" in body ? body.events : []) {
      const type = eventType(event);
      if (type === EVENT_TYPE.TABLE_MAP) map = maps.add(event, format);
      if (map === undefined || (type !== EVENT_TYPE.WRITE_ROWS && type !== EVENT_TYPE.WRITE_ROWS_V1)) continue;
      const name = `${map.schema}.${map.table}`;
      const table = tables.get(name) ?? (await readTable(session, map.schema, map.table, format.flavour));
      if (table === undefined) continue;
      tables.set(name, table);
      const slotOf = Int32Array.from(map.types, (_, column) => column);
      walker.open(event, map, format, { slotOf, count: slotOf.length });
      while (walker.next()) {
        const { starts, ends } = walker.after;
        const { types, metadata } = map;
        rows.push({
          table,
          values: table.columns.map((column, i) => {
            const at = starts[i] ?? NULL_VALUE;
            if (at < 0) return undefined;
            return decodeValue(types[i] ?? 0, metadata[i] ?? 0, event, at, ends[i] ?? 0, valueFacts(column));
          }),
        });
      }
    }
  }
  return rows;
}

const LENIENT = "SET SESSION sql_mode='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', time_zone='+00:00'";

/** Values of a binlog that a server of this kind wrote are what it says itself. */
export function describeValues(flavour: ServerFlavour, of: TypesOf): void {
  describe(flavour, () => {
    const server = useServer(flavour);

    test("rows made anew from the literals of decoded values are the same rows, for every type", async () => {
      const session = await openSession(server());
      for (const statement of allTypes(of)) await session.execute(statement);
      const rows = await decodeInserts(server(), session);
      await session.execute("CREATE DATABASE anew; ALTER DATABASE anew CHARACTER SET latin1");
      await session.execute(LENIENT);
      const made = new Set<Table>();
      for (const { table, values } of rows) {
        const [from, to] = [`types.${quoteName(table.name)}`, `anew.${quoteName(table.name)}`];
        if (!made.has(table)) await session.execute(`CREATE TABLE ${to} LIKE ${from}`);
        made.add(table);
        const given = table.columns.map((column, i) => ({ column, literal: values[i]?.literal ?? "NULL" }));
        const stored = given.filter(({ column }) => column.generated === "no");
        const names = stored.map(({ column }) => quoteName(column.name));
        await session.execute(
          `INSERT INTO ${to} (${names.join(",")}) VALUES (${stored.map(({ literal }) => literal).join(",")})`,
        );
      }
      expect(made.size).toBeGreaterThan(6);
      // JSON has no literal of its own.
      const withJson = [...made].filter(({ columns }) => columns.some(({ dataType }) => dataType === "json"));
      for (const { name } of withJson) {
        for (const schema of ["types", "anew"]) await session.execute(`ALTER TABLE ${schema}.${name} DROP COLUMN j`);
      }
      await session.execute("DROP TABLE types.empty_one, types.`odd ``name`, anew.`odd ``name`");
      await session.close();
      expect(await contents(server(), "anew")).toEqual(await contents(server(), "types"));
    });

    test("any value's text and literal are those that the server gives", async () => {
      const session = await openSession(server());
      await session.execute(LENIENT);
      await session.execute("CREATE DATABASE IF NOT EXISTS random");
      const columns = Object.entries(COLUMNS);
      await session.execute(
        `CREATE TABLE random.t(id INT PRIMARY KEY, ${columns.map(([definition], i) => `c${i} ${definition}`).join(",")}) CHARACTER SET utf8mb4`,
      );
      let id = 0;
      const row = fc.tuple(...columns.map(([, value]) => fc.option(value, { nil: "NULL", freq: 20 })));
      await fc.assert(
        fc.asyncProperty(fc.array(row, { minLength: 20, maxLength: 40 }), async (rows) => {
          await session.execute("FLUSH BINARY LOGS");
          const first = id;
          for (const values of rows) await session.execute(`INSERT INTO random.t VALUES (${id++},${values.join(",")})`);
          const decoded = await decodeInserts(server(), session);
          expect(decoded).toHaveLength(rows.length);
          for (const [i, { values }] of decoded.entries()) {
            const texts = columns.map((_, c) => `CAST(c${c}${isBits(c) ? "+0" : ""} AS CHAR)`);
            const equal = columns.map((_, c) => `c${c} <=> ${values[c + 1]?.literal ?? "NULL"}`);
            const answer = (
              await session.execute(`SELECT ${[...texts, ...equal].join(",")} FROM random.t WHERE id=${first + i}`)
            )[0]?.rows[0];
            expect(answer?.slice(columns.length)).toEqual(columns.map(() => "1"));
            for (const [c, [definition]] of columns.entries()) {
              const text = values[c + 1]?.text ?? null;
              if (/FLOAT/.test(definition)) continue;
              if (/DOUBLE/.test(definition) && text !== null) expect(Number(text)).toBe(Number(answer?.[c]));
              else expect(text).toBe(answer?.[c]);
            }
          }
        }),
        { numRuns: 5, endOnFailure: true },
      );
      await session.close();
    });
  });
}

const isBits = (column: number): boolean => (Object.keys(COLUMNS)[column] ?? "").startsWith("BIT");

const integer = (bits: number, unsigned: boolean): fc.Arbitrary<string> => {
  const range = 1n << BigInt(bits);
  const edges = unsigned ? [0n, range - 1n, range / 2n] : [-range / 2n, range / 2n - 1n, -1n, 0n];
  const any = fc.bigInt(unsigned ? 0n : -range / 2n, unsigned ? range - 1n : range / 2n - 1n);
  return fc.oneof({ weight: 4, arbitrary: any }, fc.constantFrom(...edges)).map(String);
};

const DIGIT = fc.nat(9).map(String);

const decimal = (precision: number, scale: number): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.constantFrom("", "-"),
      fc.string({ unit: DIGIT, maxLength: precision - scale }),
      fc.string({ unit: DIGIT, maxLength: scale }),
    )
    .map(([sign, whole, fraction]) => `${sign}${whole || "0"}.${fraction || "0"}`);

const pad = (value: number, digits: number): string => String(value).padStart(digits, "0");
const fraction = (decimals: number): fc.Arbitrary<string> =>
  decimals === 0
    ? fc.constant("")
    : fc.oneof(fc.nat(10 ** decimals - 1), fc.constant(0), fc.constant(1)).map((value) => `.${pad(value, decimals)}`);
const clock = (decimals: number): fc.Arbitrary<string> =>
  fc
    .tuple(fc.nat(23), fc.nat(59), fc.nat(59), fraction(decimals))
    .map(([h, m, s, f]) => `${pad(h, 2)}:${pad(m, 2)}:${pad(s, 2)}${f}`);
const day = (years: [number, number], least: 0 | 1): fc.Arbitrary<string> =>
  fc
    .tuple(
      fc.integer({ min: years[0], max: years[1] }),
      fc.integer({ min: least, max: 12 }),
      fc.integer({ min: least, max: 28 }),
    )
    .map(([y, m, d]) => `${pad(y, 4)}-${pad(m, 2)}-${pad(d, 2)}`);
const quote = (arbitrary: fc.Arbitrary<string>): fc.Arbitrary<string> => arbitrary.map((text) => `'${text}'`);
const datetime = (decimals: number): fc.Arbitrary<string> =>
  quote(fc.tuple(day([1000, 9999], 0), clock(decimals)).map((parts) => parts.join(" ")));
const timestamp = (decimals: number): fc.Arbitrary<string> =>
  quote(fc.tuple(day([1971, 2037], 1), clock(decimals)).map((parts) => parts.join(" ")));
const time = (decimals: number): fc.Arbitrary<string> =>
  quote(
    fc
      .tuple(fc.constantFrom("", "-"), fc.nat(837), fc.nat(59), fc.nat(59), fraction(decimals))
      .map(([sign, h, m, s, f]) => `${sign}${pad(h, 2)}:${pad(m, 2)}:${pad(s, 2)}${f}`),
  );
const text = (lengthMax: number): fc.Arbitrary<string> =>
  fc.string({ unit: "binary", maxLength: lengthMax }).map((value) => {
    const kept = value.replace(/ +$/, "");
    return kept === "" ? "''" : `_utf8mb4 X'${Buffer.from(kept).toString("hex")}'`;
  });
const latin1 = fc
  .uint8Array({ maxLength: 20, min: 0x21 })
  .map((bytes) => (bytes.length === 0 ? "''" : `_latin1 X'${Buffer.from(bytes).toString("hex")}'`));
const real = (value: number): string => (String(value).includes("e") ? String(value) : `${value}e0`);

/** A column's definition, and what is inserted into it. */
const COLUMNS: Readonly<Record<string, fc.Arbitrary<string>>> = {
  TINYINT: integer(8, false),
  "TINYINT UNSIGNED": integer(8, true),
  SMALLINT: integer(16, false),
  "SMALLINT UNSIGNED": integer(16, true),
  MEDIUMINT: integer(24, false),
  "MEDIUMINT UNSIGNED": integer(24, true),
  INT: integer(32, false),
  "INT UNSIGNED": integer(32, true),
  BIGINT: integer(64, false),
  "BIGINT UNSIGNED": integer(64, true),
  "DECIMAL(65,30)": decimal(65, 30),
  "DECIMAL(12,0)": decimal(12, 0),
  "DECIMAL(9,9)": decimal(9, 9),
  "DECIMAL(20,5)": decimal(20, 5),
  FLOAT: fc.float({ noNaN: true, noDefaultInfinity: true }).map(real),
  DOUBLE: fc.double({ noNaN: true, noDefaultInfinity: true }).map(real),
  "BIT(1)": integer(1, true),
  "BIT(13)": integer(13, true),
  "BIT(64)": integer(64, true),
  YEAR: fc.oneof(fc.integer({ min: 1901, max: 2155 }), fc.constant(0)).map(String),
  DATE: quote(fc.oneof(day([0, 9999], 0), day([1000, 9999], 1))),
  "TIME(0)": time(0),
  "TIME(1)": time(1),
  "TIME(2)": time(2),
  "TIME(3)": time(3),
  "TIME(6)": time(6),
  "DATETIME(0)": datetime(0),
  "DATETIME(3)": datetime(3),
  "DATETIME(5)": datetime(5),
  "TIMESTAMP(0) NULL": timestamp(0),
  "TIMESTAMP(4) NULL": timestamp(4),
  "TIMESTAMP(6) NULL": timestamp(6),
  "ENUM('x','it''s','é')": fc.constantFrom("1", "2", "3"),
  "SET('a','b','c d')": fc.nat(7).map(String),
  "CHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin": text(20),
  "VARCHAR(300) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin": text(40),
  "TEXT CHARACTER SET utf8mb4": text(40),
  "VARCHAR(20) CHARACTER SET latin1 COLLATE latin1_bin": latin1,
};
