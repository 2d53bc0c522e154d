import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { FORMAT } from "../../../test/helpers/binlog-event.ts";
import {
  LOGGED,
  type LoggedColumn,
  type LoggedValue,
  makeRow,
  makeTableMap,
} from "../../../test/helpers/row-images.ts";
import type { TableMapEvent } from "../../binlog/events/table-map.ts";
import type { Column, Key, Table } from "../../schema/catalog.ts";
import { Collation } from "./collation.ts";
import { WritesetExtractor } from "./extract.ts";
import { type KeyHash, type KeyHashName, loadKeyHash } from "./key-hash.ts";
import { planTable, type TablePlan } from "./plan.ts";

/** A model of each type: values as a person reads them, how they lie in the log, and what equal ones have in common. */
interface ModelType {
  dataType: string;
  values: readonly string[];
  logged: (wide: boolean) => LoggedColumn;
  encode: (value: string) => Buffer;
  same: (value: string, prefix: number) => string;
  prefixes: boolean;
}

const TEXTS = ["", " ", "a", "A", "a ", "ab", "AB  ", "b", "é", "É", "éa", "日", "日a", "ba", "Ba"];
const BYTES = ["", "a", "a\0b", "a\0", "a\0\0", "A", "ab", "ab\0", "b"];
const trimZeros = (value: string): string => value.replace(/\0+$/, "");
const cut = (value: string, prefix: number): string =>
  prefix > 0 ? Array.from(value).slice(0, prefix).join("") : value;

const MODEL: Readonly<Record<string, ModelType>> = {
  int: {
    dataType: "int",
    values: ["0", "1", "-1", "256"],
    logged: () => LOGGED.int,
    encode: (value) => Buffer.from(Int32Array.of(Number(value)).buffer),
    same: (value) => value,
    prefixes: false,
  },
  double: {
    dataType: "double",
    values: ["0", "-0", "1", "-1"],
    logged: () => LOGGED.double,
    encode: (value) => Buffer.from(Float64Array.of(value === "-0" ? -0 : Number(value)).buffer),
    same: (value) => String(Math.abs(Number(value)) === 0 ? 0 : Number(value)),
    prefixes: false,
  },
  binary: {
    dataType: "binary",
    values: BYTES.map((value) => value.padEnd(4, "\0")),
    logged: () => LOGGED.fixed(4),
    encode: (value) => Buffer.from(trimZeros(value)),
    same: (value, prefix) => cut(value, prefix),
    prefixes: true,
  },
  varbinary: {
    dataType: "varbinary",
    values: BYTES,
    logged: (wide) => LOGGED.varchar(wide ? 300 : 30),
    encode: (value) => Buffer.from(value),
    same: (value, prefix) => cut(value, prefix),
    prefixes: true,
  },
  varchar: {
    dataType: "varchar",
    values: TEXTS,
    logged: (wide) => LOGGED.varchar(wide ? 300 : 30),
    encode: (value) => Buffer.from(value),
    same: (value, prefix) => cut(value, prefix).toLowerCase().trimEnd(),
    prefixes: true,
  },
  text: {
    dataType: "text",
    values: TEXTS,
    logged: (wide) => LOGGED.blob(wide ? 3 : 2),
    encode: (value) => Buffer.from(value),
    same: (value, prefix) => cut(value, prefix).toLowerCase().trimEnd(),
    prefixes: true,
  },
  char: {
    dataType: "char",
    values: TEXTS.map((value) => value.trimEnd()),
    logged: () => LOGGED.fixed(40),
    encode: (value) => Buffer.from(value),
    same: (value, prefix) => cut(value, prefix).toLowerCase().trimEnd(),
    prefixes: true,
  },
  // Trailing spaces of a CHAR are none of its value, whatever the collation; those that a prefix leaves neither.
  "char of a collation that does not pad": {
    dataType: "char",
    values: [...TEXTS.map((value) => value.trimEnd()), "a  b"],
    logged: () => LOGGED.fixed(40),
    encode: (value) => Buffer.from(value),
    same: (value, prefix) => cut(value, prefix).toLowerCase().trimEnd(),
    prefixes: true,
  },
  "varchar of a collation that does not pad": {
    dataType: "varchar",
    values: TEXTS,
    logged: (wide) => LOGGED.varchar(wide ? 300 : 30),
    encode: (value) => Buffer.from(value),
    same: (value, prefix) => cut(value, prefix).toLowerCase(),
    prefixes: true,
  },
};

/** Everything lower case, two bytes a character, trailing spaces mean nothing. */
const weightOf = (text: Buffer): Buffer => Buffer.from(text.toString().toLowerCase(), "utf16le").swap16();

const facts = { charset: "utf8mb4", width: "utf8", bytewise: false, levels: "all" } as const;
const collations = [
  new Collation({ ...facts, name: "pad_ci", padSpace: true }),
  new Collation({ ...facts, name: "nopad_ci", padSpace: false }),
];
const hashes = new Map<KeyHashName, KeyHash>();

beforeAll(async () => {
  // é is on page 1, 日 on none.
  for (const collation of collations) {
    for (const page of [0, 1]) await collation.learn(page, async (texts) => texts.map(weightOf));
  }
  for (const name of ["xxhash64", "murmur32"] as const) hashes.set(name, await loadKeyHash(name));
});

interface Schema {
  columns: string[];
  keys: { columns: { index: number; prefix: number }[] }[];
}

type Row = (string | null)[];

const schemas: fc.Arbitrary<Schema> = fc
  .array(fc.constantFrom(...Object.keys(MODEL)), { minLength: 1, maxLength: 10 })
  .chain((columns) =>
    fc.record({
      columns: fc.constant(columns),
      keys: fc.array(
        fc.record({
          columns: fc
            .uniqueArray(fc.record({ index: fc.nat(columns.length - 1), prefix: fc.nat(2) }), {
              selector: ({ index }) => index,
              minLength: 1,
              maxLength: 3,
            })
            .map((parts) =>
              parts.map(({ index, prefix }) => ({ index, prefix: modelOf(columns[index]).prefixes ? prefix : 0 })),
            ),
        }),
        { maxLength: 4 },
      ),
    }),
  );

const rowsOf = ({ columns }: Schema): fc.Arbitrary<Row> =>
  fc.tuple(...columns.map((name) => fc.option(fc.constantFrom(...modelOf(name).values), { freq: 8 })));

interface Change {
  before: Row | undefined;
  after: Row | undefined;
  wide: boolean;
}

const changesOf = (schema: Schema): fc.Arbitrary<Change> =>
  fc
    .record({
      before: fc.option(rowsOf(schema), { nil: undefined }),
      after: fc.option(rowsOf(schema), { nil: undefined }),
      wide: fc.boolean(),
    })
    .filter(({ before, after }) => before !== undefined || after !== undefined);

test("two changes share a key value exactly when their hashes meet; rows without a key are told", () => {
  const cases = schemas.chain((schema) =>
    fc.tuple(
      fc.constant(schema),
      changesOf(schema),
      changesOf(schema),
      fc.constantFrom("xxhash64" as const, "murmur32" as const),
    ),
  );
  fc.assert(
    fc.property(cases, ([schema, a, b, hash]) => {
      const writesets = [a, b].map((change) => extract(schema, change, hash, whole));
      const values = [a, b].map((change) => keyValues(schema, [change.before, change.after]));
      const meet = writesets[0]?.writes.some((one) => writesets[1]?.writes.includes(one));
      expect(meet).toBe(values[0]?.some((value) => values[1]?.includes(value)));
      for (const [index, change] of [a, b].entries()) {
        const images = [change.before, change.after].filter((row) => row !== undefined);
        expect(writesets[index]?.fallback).toBe(images.some((row) => keyValues(schema, [row]).length === 0));
        expect(writesets[index]?.opaque).toBe(false);
        expect(new Set(writesets[index]?.writes).size).toBe(new Set(values[index]).size);
      }
    }),
    { numRuns: 700 },
  );
});

test("of a partial image no key value that changes is missed, or the writeset is opaque", () => {
  const cases = schemas.chain((schema) =>
    fc.tuple(fc.constant(schema), changesOf(schema), fc.array(fc.boolean(), { minLength: 20, maxLength: 20 })),
  );
  let told = 0;
  fc.assert(
    fc.property(cases, ([schema, change, coins]) => {
      const { before, after } = change;
      const full = extract(schema, change, "xxhash64", whole);
      const part = extract(schema, change, "xxhash64", (row, image) =>
        row.map((_, index) => {
          // What an update's after-image leaves out is as it was.
          const isSame = image === "before" || before === undefined || before[index] === after?.[index];
          return !isSame || coins[index + (image === "before" ? 0 : 10)] === true;
        }),
      );
      expect(part.writes.every((hash) => full.writes.includes(hash))).toBe(true);
      if (part.opaque) return;
      told++;
      const [old, now] = [keyValues(schema, [before]), keyValues(schema, [after])];
      const changed = [...old.filter((value) => !now.includes(value)), ...now.filter((value) => !old.includes(value))];
      expect(new Set(part.writes).size).toBeGreaterThanOrEqual(new Set(changed).size);
      // Whatever else changes one of these keys meets it.
      for (const row of [before, after]) {
        if (row === undefined) continue;
        const key = extract(schema, { before: undefined, after: row, wide: false }, "xxhash64", whole);
        if (changed.length === keyValues(schema, [before, after]).length) {
          expect(key.writes.every((hash) => part.writes.includes(hash))).toBe(true);
        }
        if (!part.fallback) expect(key.writes.some((hash) => part.writes.includes(hash))).toBe(true);
      }
    }),
    { numRuns: 700 },
  );
  expect(told).toBeGreaterThan(70);
});

test.each(["varbinary", "varchar", "text"])("where one value ends and the next begins is part of a key: %s", (type) => {
  const schema = { columns: [type, type], keys: [{ columns: [0, 1].map((index) => ({ index, prefix: 0 })) }] };
  const hashOf = (after: Row) =>
    extract(schema, { before: undefined, after, wide: false }, "xxhash64", whole).writes[0];
  expect(hashOf(["a", "b"])).not.toBe(hashOf(["ab", ""]));
  expect(hashOf(["", "ab"])).not.toBe(hashOf(["ab", ""]));
});

const whole = (row: Row): boolean[] => row.map(() => true);

/** The values of each unique key that a row image has, as the model sees them. */
function keyValues({ columns, keys }: Schema, rows: readonly (Row | undefined)[]): string[] {
  return rows.flatMap((row) =>
    row === undefined
      ? []
      : keys.flatMap(({ columns: parts }, number) =>
          parts.some(({ index }) => row[index] === null)
            ? []
            : [
                JSON.stringify([
                  number,
                  ...parts.map(({ index, prefix }) => modelOf(columns[index]).same(row[index] ?? "", prefix)),
                ]),
              ],
        ),
  );
}

function extract(
  schema: Schema,
  { before, after, wide }: Change,
  hashName: KeyHashName,
  present: (row: Row, image: "before" | "after") => boolean[],
) {
  const columns = schema.columns.map((name) => modelOf(name).logged(wide));
  const logged = (row: Row, image: "before" | "after"): LoggedValue[] => {
    const there = present(row, image);
    return row.map((value, index) =>
      there[index] !== true ? undefined : value === null ? null : modelOf(schema.columns[index]).encode(value),
    );
  };
  const images = [
    ...(before === undefined ? [] : [logged(before, "before")]),
    ...(after === undefined ? [] : [logged(after, "after")]),
  ];
  const operation = before === undefined ? "write" : after === undefined ? "delete" : "update";
  const hash = hashes.get(hashName);
  if (hash === undefined) throw new Error("no hash");
  const events = [makeTableMap(7, "s", "t", columns), makeRow(operation, 7, columns, images)];
  const plans = new Map<TableMapEvent, TablePlan>();
  const extractor = new WritesetExtractor(hash, (map) => plans.get(map));
  for (let round = 0; round < 4; round++) {
    const { writeset, wantedPlans, wantedWeights } = extractor.extract(events, FORMAT);
    for (const map of wantedPlans) plans.set(map, planTable(map, { ...TARGET, table: tableOf(schema), hash }));
    for (const [wanted, { texts }] of wantedWeights) {
      for (const text of texts) wanted.remember(text, weightOf(Buffer.from(text, "latin1")));
    }
    if (wantedPlans.length === 0 && wantedWeights.size === 0) return writeset;
  }
  throw new Error("something is always wanted");
}

const TARGET = {
  flavour: "mysql" as const,
  foreignKeys: [],
  referencedBy: [],
  collation: (name: string): Collation | undefined => collations.find(({ facts: { name: own } }) => own === name),
  charsetOfCollation: (): undefined => undefined,
};

function tableOf({ columns, keys }: Schema): Table {
  return {
    schema: "s",
    name: "t",
    kind: "table",
    engine: "InnoDB",
    collation: undefined,
    rowsEstimate: 0,
    bytesEstimate: 0,
    partitioned: false,
    columns: columns.map((name, index): Column => {
      const { dataType } = modelOf(name);
      const isText = ["varchar", "text", "char"].includes(dataType);
      return {
        name: `c${index}`,
        dataType,
        columnType: dataType,
        nullable: true,
        charset: isText ? "utf8mb4" : undefined,
        collation: isText ? (name.includes("not pad") ? "nopad_ci" : "pad_ci") : undefined,
        octetLength: dataType === "binary" ? 4 : undefined,
        generated: "no",
        invisible: false,
        autoIncrement: false,
      };
    }),
    keys: keys.map(({ columns: parts }, number): Key => ({
      name: `k${number}`,
      unique: true,
      hidden: false,
      columns: parts.map(({ index, prefix }) => ({
        name: `c${index}`,
        prefix: prefix === 0 ? undefined : prefix,
        nullable: true,
        descending: false,
      })),
    })),
  };
}

function modelOf(name: string | undefined): ModelType {
  const model = MODEL[name ?? ""];
  if (model === undefined) throw new Error("no such type");
  return model;
}
