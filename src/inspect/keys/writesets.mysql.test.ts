import { beforeAll, describe, expect, test } from "vitest";
import { query, useServer } from "../../../test/helpers/servers.ts";
import { conflictsOf, dumpedSchema, offline, rowTransactions } from "../../../test/helpers/offline-writesets.ts";
import { withWritesets } from "../../../test/helpers/writesets.ts";
import type { Writeset } from "../../schedule/writeset.ts";
import type { Transaction } from "../../transaction/transaction.ts";
import { ReplicationError } from "../../base/error.ts";

const server = useServer("mysql-9.7");

const KEYED = [
  "USE w",
  "CREATE TABLE orders(id INT PRIMARY KEY, customer VARCHAR(20) NOT NULL, number INT NOT NULL, note TEXT, UNIQUE(customer,number))",
  "CREATE TABLE keyless(a INT, b VARCHAR(9))",
  "INSERT INTO orders VALUES (1,'Ann',1,''),(2,'Bob',1,'')",
  "INSERT INTO orders VALUES (3,'Cid',1,'')",
  "UPDATE orders SET note='x' WHERE id=2",
  "DELETE FROM orders WHERE id=3",
  "INSERT INTO orders VALUES (4,'cíd',1,'')",
  "INSERT INTO keyless VALUES (1,'a')",
  "INSERT INTO keyless VALUES (2,'a')",
  "UPDATE keyless SET b='b' WHERE a=1",
];

let log: Transaction[] = [];

beforeAll(async () => {
  await query(server(), "CREATE DATABASE w DEFAULT CHARACTER SET utf8mb4; SET GLOBAL binlog_row_metadata=MINIMAL");
  log = await rowTransactions(server(), KEYED);
});

describe("keys", () => {
  test("of a dump tell all that the server's own do", async () => {
    const schema = await dumpedSchema(server(), "w");
    const { told, conflicts, from } = offline(log, { schema });
    expect(told).toEqual(["4w", "2w", "2w", "2w", "2w", "0w fallback", "0w fallback", "0w fallback"]);
    // The last is the former third customer in another spelling.
    expect(conflicts).toEqual(["0-2", "1-3", "1-4", "3-4"]);
    expect(from).toEqual(["w.keyless: none", "w.orders: schema"]);
  });

  test("are guessed to be the first column where nobody tells them, and that is said", () => {
    const { told, conflicts, from } = offline(log, { schema: undefined });
    expect(told).toEqual(["2w", "1w", "1w", "1w", "1w", "1w", "1w", "1w"]);
    expect(conflicts).toEqual(["0-2", "1-3", "5-7"]);
    expect(from).toEqual(["w.keyless: guess", "w.orders: guess"]);
  });

  test("are the primary ones that a log with all metadata tells", async () => {
    const transactions = await rowTransactions(server(), [
      "USE w",
      "SET GLOBAL binlog_row_metadata=FULL",
      "CREATE TABLE lines_of(number INT NOT NULL, x INT, word VARCHAR(20) NOT NULL, PRIMARY KEY(word(2),number))",
      "CREATE TABLE unnamed(x INT)",
      "INSERT INTO lines_of VALUES (1,1,'Ann')",
      "INSERT INTO lines_of VALUES (1,1,'Bäcker')",
      "UPDATE lines_of SET x=2 WHERE number=1 AND word='Ann'",
      "DELETE FROM lines_of WHERE word='Ann'",
      "INSERT INTO lines_of VALUES (1,5,'än')",
      "INSERT INTO unnamed VALUES (1)",
    ]);
    await query(server(), "SET GLOBAL binlog_row_metadata=MINIMAL");
    const { told, conflicts, from } = offline(transactions, { schema: undefined });
    expect(told).toEqual(["1w", "1w", "1w", "1w", "1w", "0w fallback"]);
    expect(conflicts).toEqual(["0-2", "0-3", "0-4", "2-3", "2-4", "3-4"]);
    expect(from).toEqual(["w.lines_of: log", "w.unnamed: none"]);
  });

  test("that a table does not have may be assumed, by name or by place", async () => {
    const byPlace = offline(log, { schema: undefined, withKeys: [{ table: "w.keyless", columns: ["@2"] }] });
    expect(byPlace.conflicts).toEqual(["0-2", "1-3", "5-6", "5-7", "6-7"]);
    expect(byPlace.from).toEqual(["w.keyless: schema", "w.orders: guess"]);
    const schema = await dumpedSchema(server(), "w");
    const byName = offline(log, { schema, withKeys: [{ table: "w.keyless", columns: ["A"] }] });
    expect(byName.told.slice(5)).toEqual(["1w", "1w", "1w"]);
    expect(() => offline(log, { schema, withKeys: [{ table: "w.keyless", columns: ["c"] }] })).toThrow(
      ReplicationError,
    );
  });

  test("of foreign keys are those of the dump", async () => {
    const transactions = await rowTransactions(server(), [
      "USE w",
      "CREATE TABLE parent(id INT PRIMARY KEY, x INT)",
      "CREATE TABLE child(id INT PRIMARY KEY, p INT, FOREIGN KEY(p) REFERENCES parent(id) ON DELETE CASCADE)",
      "INSERT INTO parent VALUES (1,1),(2,2)",
      "INSERT INTO child VALUES (1,1)",
      "INSERT INTO child VALUES (2,1)",
      "DELETE FROM parent WHERE id=1",
    ]);
    const schema = await dumpedSchema(server(), "w");
    expect(offline(transactions, { schema }).conflicts).toEqual(["0-1", "0-2", "0-3", "1-3", "2-3"]);
    expect(offline(transactions, { schema }).told.at(-1)).toContain("opaque");
  });
});

test("rows of tables that are left out count for nothing", async () => {
  const transactions = await rowTransactions(server(), [
    "USE w",
    "CREATE TABLE a(id INT PRIMARY KEY)",
    "CREATE TABLE noise(id INT)",
    "INSERT INTO a VALUES (1)",
    "INSERT INTO noise VALUES (1)",
    "BEGIN; INSERT INTO noise VALUES (2); INSERT INTO a VALUES (2); DELETE FROM noise; COMMIT",
  ]);
  const schema = await dumpedSchema(server(), "w");
  expect(offline(transactions, { schema }).told).toEqual(["1w", "0w fallback", "1w fallback"]);
  expect(offline(transactions, { schema, withoutTables: ["w.noise"] }).told).toEqual(["1w", "0w", "1w"]);
});

test("changes that are too large for memory are opaque", () => {
  const [first] = log;
  if (first === undefined) throw new Error("there is a log");
  const place = { file: 0, offset: 4 };
  const large: Transaction = { ...first, body: { range: { from: place, to: place, checksum: "crc32" } } };
  expect(offline([large], { schema: undefined }).told).toEqual(["0w fallback opaque"]);
  expect(offline([large], { schema: undefined, withoutTables: ["w.orders"] }).told).toEqual(["0w"]);
});

test("a random load conflicts as it does by the server's own keys and weights", async () => {
  const words = [
    "Ann",
    "ann ",
    "ÄNN",
    "Bob",
    "böb",
    "straße",
    "STRASSE",
    "日本",
    "ニホン",
    "にほん",
    "Привет",
    "привет",
  ];
  const statements = [
    "USE w",
    "CREATE TABLE load_of(id INT AUTO_INCREMENT PRIMARY KEY, g VARCHAR(20) COLLATE utf8mb4_general_ci, u VARCHAR(20) COLLATE utf8mb4_unicode_ci, n VARCHAR(20), l VARCHAR(20) CHARACTER SET latin1, UNIQUE(g,n), UNIQUE(u), UNIQUE(l))",
  ];
  for (const [i, word] of words.entries()) {
    const latin = /^[\0-\u00ff]*$/.test(word) ? `'${word}'` : "NULL";
    statements.push(`INSERT IGNORE INTO load_of(g,u,n,l) VALUES ('${word}','${word}','${word}',${latin})`);
    statements.push(`UPDATE IGNORE load_of SET n='${words[(i * 5) % words.length]}' ORDER BY id DESC LIMIT 1`);
    statements.push("DELETE FROM load_of ORDER BY id DESC LIMIT 1");
  }
  const transactions = await rowTransactions(server(), statements);
  const byServer = await withWritesets(server(), "xxhash64", async (writesets) => {
    const sets: Writeset[] = [];
    for (const transaction of transactions) sets.push(await writesets.of(transaction));
    return conflictsOf(sets);
  });
  const { conflicts } = offline(transactions, { schema: await dumpedSchema(server(), "w") });
  expect(conflicts).toEqual(byServer);
  expect(byServer.length).toBeGreaterThan(20);
});
