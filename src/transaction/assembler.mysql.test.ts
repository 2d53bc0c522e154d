import fc from "fast-check";
import type { RowDataPacket } from "mysql2/promise";
import { beforeAll, describe, expect, test } from "vitest";
import {
  type Assembled,
  assembleFiles,
  binlogFiles,
  bodyOf,
  describeEvents,
  expectedPlaces,
  IN_MEMORY,
  places,
  runAll,
  tellAll,
  told,
} from "../../test/helpers/assemble.ts";
import { query, useServer } from "../../test/helpers/servers.ts";
import type { Transaction } from "./transaction.ts";

describe("a MySQL source with GTIDs", () => {
  const server = useServer("mysql-9.7");
  let whole: Assembled;

  beforeAll(async () => {
    await runAll(server(), [
      "CREATE DATABASE w",
      "USE w",
      "CREATE TABLE t(id INT PRIMARY KEY, v VARCHAR(20))",
      "CREATE TABLE m(id INT PRIMARY KEY) ENGINE=MyISAM",
      "INSERT INTO t VALUES(1,'a'),(2,'b')",
      "BEGIN",
      "INSERT INTO t VALUES(3,'c')",
      "SAVEPOINT s1",
      "INSERT INTO t VALUES(4,'d')",
      "ROLLBACK TO s1",
      "UPDATE t SET v='u' WHERE id<3",
      "COMMIT",
      "INSERT INTO m VALUES(2)",
      "XA START 'a'",
      "INSERT INTO t VALUES(30,'xa')",
      "XA END 'a'",
      "XA PREPARE 'a'",
      "XA ROLLBACK 'a'",
      "XA START 'b'",
      "INSERT INTO t VALUES(31,'xa')",
      "XA END 'b'",
      "XA COMMIT 'b' ONE PHASE",
      "XA START 'c','d',7",
      "INSERT INTO t VALUES(32,'xa')",
      "XA END 'c','d',7",
      "XA PREPARE 'c','d',7",
      "XA COMMIT 'c','d',7",
      "SET binlog_transaction_compression=1",
      "INSERT INTO t VALUES(60,'compressed'),(61,'compressed')",
      "SET binlog_transaction_compression=0",
      "CREATE TABLE t2 AS SELECT * FROM t LIMIT 2",
      "FLUSH LOGS",
      "SET gtid_next='AUTOMATIC:mytag'",
      "INSERT INTO t VALUES(62,'tagged')",
      "SET gtid_next=AUTOMATIC",
      "SET binlog_rows_query_log_events=1",
      "DELETE FROM t WHERE id>60",
      "SET gtid_next='11111111-2222-3333-4444-555555555555:7'",
      "BEGIN",
      "COMMIT",
      "SET gtid_next=AUTOMATIC",
      "SET binlog_format=STATEMENT",
      "SET @u='x'",
      "INSERT INTO t VALUES(70,CONCAT(@u,RAND()))",
      "BEGIN",
      "INSERT INTO t VALUES(71,'x')",
      "SAVEPOINT s2",
      "INSERT INTO t VALUES(72,'x')",
      "COMMIT",
      "TRUNCATE t2",
    ]);
    whole = assembleFiles(await binlogFiles(server()));
  });

  test("every transaction has the identity and the place that the server shows", async () => {
    expect(places(whole)).toEqual(await expectedPlaces(server()));
    expect(whole.assembler.atBoundary).toBe(true);
    expect(whole.assembler.source).toEqual(whole.transactions.at(-1)?.end);
    expect(whole.assembler.ignoredEvents).toBe(0);
  });

  test("kinds, endings, rows and bodies are what the statements were", () => {
    expect(tellAll(whole)).toEqual([
      "ddl; implicit; 0 rows; CREATE DATABASE w",
      "ddl; implicit; 0 rows; CREATE TABLE t(id INT PRIMARY KEY, v VARCHAR(20))",
      "ddl; implicit; 0 rows; CREATE TABLE m(id INT PRIMARY KEY) ENGINE=MyISAM",
      "rows; commit; 2 rows; Table_map, Write_rows",
      // A SAVEPOINT that nothing returns to says nothing: the server itself forgot what came after it.
      "rows; commit; 3 rows; Table_map, Write_rows, Table_map, Update_rows",
      "rows; commit; 1 rows; Table_map, Write_rows",
      "xa-prepare; prepare; 1 rows; X'61',X'',1; Table_map, Write_rows",
      "xa-rollback; implicit; 0 rows; X'61',X'',1; ",
      "rows; commit; 1 rows; Table_map, Write_rows",
      "xa-prepare; prepare; 1 rows; X'63',X'64',7; Table_map, Write_rows",
      "xa-commit; implicit; 0 rows; X'63',X'64',7; ",
      "rows; commit; 2 rows; Table_map, Write_rows",
      expect.stringMatching(
        /^mixed; commit; 2 rows; CREATE TABLE `t2` \(.*\) START TRANSACTION, Table_map, Write_rows$/s,
      ),
      "rows; commit; 1 rows; Table_map, Write_rows",
      "rows; commit; 2 rows; Table_map, Delete_rows",
      "empty; commit; 0 rows; ",
      "mixed; commit; 0 rows; RAND, User var, INSERT INTO t VALUES(70,CONCAT(@u,RAND()))",
      "mixed; commit; 0 rows; INSERT INTO t VALUES(71,'x'), SAVEPOINT `s2`, INSERT INTO t VALUES(72,'x')",
      "ddl; implicit; 0 rows; TRUNCATE t2",
    ]);
  });

  test("tables, schemas, logical clock and commit time are filled in", () => {
    const insert = whole.transactions[3] as Transaction;
    expect([...insert.tables]).toEqual(["w.t"]);
    expect([...insert.schemas]).toEqual(["w"]);
    expect(insert.sequenceNumber).toBe(4);
    expect(insert.lastCommitted).toBe(3);
    expect(Math.abs(insert.committedAtUs / 1000 - Date.now())).toBeLessThan(600_000);
    expect([...(whole.transactions[1] as Transaction).schemas]).toEqual(["w"]);
    expect(whole.transactions.map(({ ordinal }) => ordinal)).toEqual(whole.transactions.map((_, i) => i + 1));
    expect(insert.bytes).toBe(insert.end.position - insert.start.position);
  });

  test("any limit of memory gives the same transactions, and their bodies can be read back in any batches", async () => {
    const paths = await binlogFiles(server());
    const expected = tellAll(whole);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: 600 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 1, max: 400 }),
        async (bytesInMemoryMax, batchEvents, batchBytesMax) => {
          const limited = assembleFiles(paths, { bytesInMemoryMax });
          const bodies = await Promise.all(
            limited.transactions.map((transaction) => bodyOf(transaction, limited, { batchEvents, batchBytesMax })),
          );
          expect(limited.transactions.map((transaction, i) => told(transaction, bodies[i] ?? []))).toEqual(expected);
          expect(places(limited)).toEqual(places(whole));
          for (const [i, { body }] of whole.transactions.entries()) {
            if ("events" in body) expect(bodies[i]).toEqual([...body.events]);
          }
        },
      ),
      { numRuns: 40 },
    );
  });

  test("an unwanted table leaves neither rows nor table maps, and statements still end", async () => {
    await runAll(server(), [
      "FLUSH LOGS",
      "USE w",
      "CREATE TABLE a(id INT PRIMARY KEY)",
      "CREATE TABLE b(id INT PRIMARY KEY)",
      "INSERT INTO a VALUES(1)",
      "INSERT INTO b VALUES(1)",
      "UPDATE a,b SET a.id=2,b.id=2",
      "UPDATE b,a SET a.id=3,b.id=3",
    ]);
    const path = (await binlogFiles(server())).at(-1) as string;
    for (const bytesInMemoryMax of [IN_MEMORY.bytesInMemoryMax, 0]) {
      for (const unwanted of ["a", "b"]) {
        const tableFilter = (_: string, table: string): boolean => table !== unwanted;
        const filtered = assembleFiles([path], { bytesInMemoryMax, tableFilter });
        const kept = unwanted === "a" ? "w.b" : "w.a";
        const updates = filtered.transactions.slice(-2);
        expect(updates.map(({ rows, tables }) => [rows, ...tables])).toEqual([
          [1, kept],
          [1, kept],
        ]);
        for (const update of updates) {
          const events = await bodyOf(update, filtered, { batchBytesMax: 1, batchEvents: 1, tableFilter });
          expect(describeEvents(update, events)).toEqual(["Table_map", "Update_rows"]);
          // STMT_END_F
          expect((events[1] as Buffer).readUInt16LE(25) & 1).toBe(1);
        }
        expect(filtered.transactions.filter(({ kind }) => kind === "empty")).toHaveLength(1);
      }
    }
  });
});

describe("a MySQL source without GTIDs", () => {
  const server = useServer("mysql-9.7", { options: ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"] });

  test("changes of mixed engines end as they were: committed ahead, or rolled back", async () => {
    await runAll(server(), [
      "CREATE DATABASE w",
      "USE w",
      "CREATE TABLE t(id INT PRIMARY KEY)",
      "CREATE TABLE m(id INT PRIMARY KEY) ENGINE=MyISAM",
      "BEGIN",
      "INSERT INTO t VALUES(8)",
      "INSERT INTO m VALUES(1)",
      "ROLLBACK",
      "SET binlog_format=STATEMENT",
      "BEGIN",
      "INSERT INTO t VALUES(9)",
      "INSERT INTO m VALUES(2)",
      "ROLLBACK",
      "BEGIN",
      "INSERT INTO t VALUES(10)",
      "SAVEPOINT a",
      "INSERT INTO m VALUES(3)",
      "ROLLBACK TO a",
      "COMMIT",
    ]);
    const assembled = assembleFiles(await binlogFiles(server()));
    expect(tellAll(assembled).slice(3)).toEqual([
      "rows; commit; 1 rows; Table_map, Write_rows",
      "mixed; rollback; 0 rows; INSERT INTO t VALUES(9), INSERT INTO m VALUES(2)",
      "mixed; commit; 0 rows; INSERT INTO t VALUES(10), SAVEPOINT `a`, INSERT INTO m VALUES(3), ROLLBACK TO `a`",
    ]);
    expect(assembled.transactions.every(({ id }) => id.kind === "anonymous")).toBe(true);
    expect(places(assembled)).toEqual(await expectedPlaces(server()));
  });
});

describe("a MySQL 5.6 source with the defaults of its time", () => {
  const server = useServer("mysql-5.6", {
    options: ["--gtid-mode=OFF", "--skip-enforce-gtid-consistency", "--binlog-format=MIXED", "--log-slave-updates=OFF"],
  });

  test("transactions begin at BEGIN or at a lone statement, its context included", async () => {
    await runAll(server(), [
      "CREATE DATABASE w",
      "USE w",
      "CREATE TABLE t(id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20))",
      "INSERT INTO t(v) VALUES('a')",
      "INSERT INTO t(v) VALUES(UUID())",
      "SET @x=5",
      "CREATE TABLE t3 AS SELECT @x AS x",
      "XA START 'b'",
      "INSERT INTO t(v) VALUES('x')",
      "XA END 'b'",
      "XA PREPARE 'b'",
      "XA COMMIT 'b'",
    ]);
    const assembled = assembleFiles(await binlogFiles(server()));
    expect(tellAll(assembled)).toEqual([
      "ddl; implicit; 0 rows; CREATE DATABASE w",
      "ddl; implicit; 0 rows; CREATE TABLE t(id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(20))",
      "mixed; commit; 0 rows; Intvar, INSERT INTO t(v) VALUES('a')",
      "rows; commit; 1 rows; Table_map, Write_rows",
      "ddl; implicit; 0 rows; User var, CREATE TABLE t3 AS SELECT @x AS x",
      "mixed; commit; 0 rows; Intvar, INSERT INTO t(v) VALUES('x')",
    ]);
    const events = await query<RowDataPacket[]>(server(), "SHOW BINLOG EVENTS");
    const shown = events.filter(({ Event_type }) => Event_type !== "Format_desc");
    const bounds = assembled.transactions.map(({ start, end }) => [start.position, end.position]);
    expect(bounds[0]?.[0]).toBe(shown[0]?.["Pos"]);
    expect(bounds.at(-1)?.[1]).toBe(shown.at(-1)?.["End_log_pos"]);
    for (const [i, [from]] of bounds.entries()) if (i > 0) expect(from).toBe(bounds[i - 1]?.[1]);
  });
});
