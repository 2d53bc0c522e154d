import fc from "fast-check";
import { expect, test } from "vitest";
import {
  assembleFiles,
  binlogFiles,
  bodyOf,
  expectedPlaces,
  places,
  runAll,
  tellAll,
  told,
} from "../../test/helpers/assemble.ts";
import { useServer } from "../../test/helpers/servers.ts";

const server = useServer("mariadb-10.11");

test("a MariaDB binlog becomes transactions with the server's own identities, places and kinds", async () => {
  await runAll(server(), [
    "CREATE DATABASE w",
    "USE w",
    "CREATE TABLE t(id INT PRIMARY KEY, v LONGTEXT)",
    "CREATE TABLE m(id INT PRIMARY KEY) ENGINE=MyISAM",
    "INSERT INTO t VALUES(1,'a'),(2,'b')",
    "BEGIN",
    "INSERT INTO t VALUES(3,'c')",
    "SAVEPOINT s1",
    "INSERT INTO m VALUES(1)",
    "ROLLBACK TO s1",
    "UPDATE t SET v='u' WHERE id<3",
    "COMMIT",
    "XA START 'a'",
    "INSERT INTO t VALUES(30,'xa')",
    "XA END 'a'",
    "XA PREPARE 'a'",
    "XA ROLLBACK 'a'",
    "XA START 'b','c',5",
    "INSERT INTO t VALUES(31,'xa')",
    "XA END 'b','c',5",
    "XA COMMIT 'b','c',5 ONE PHASE",
    "XA START 'd'",
    "INSERT INTO t VALUES(32,'xa')",
    "XA END 'd'",
    "XA PREPARE 'd'",
    "XA COMMIT 'd'",
    "SET binlog_alter_two_phase=1",
    "ALTER TABLE t ADD COLUMN c INT, ALGORITHM=COPY",
    "SET binlog_alter_two_phase=0",
    "SET gtid_domain_id=3",
    "CREATE TABLE t2 AS SELECT id FROM t LIMIT 2",
    "SET GLOBAL log_bin_compress=1, log_bin_compress_min_len=10",
    "INSERT INTO t(id,v) VALUES(40,REPEAT('compressed ',300))",
    "ALTER TABLE t COMMENT='compressed compressed compressed'",
    "FLUSH LOGS",
    "SET GLOBAL log_bin_compress=0",
    "SET binlog_format=STATEMENT",
    "INSERT INTO t(id,v) VALUES(41,LAST_INSERT_ID())",
    "SET binlog_alter_two_phase=1",
  ]);
  await expect(
    runAll(server(), ["USE w", "SET binlog_alter_two_phase=1", "ALTER TABLE t ADD UNIQUE(c), ADD UNIQUE(v(1))"]),
  ).rejects.toThrow("Duplicate entry");
  const paths = await binlogFiles(server());
  const whole = assembleFiles(paths);

  expect(tellAll(whole)).toEqual([
    "ddl; implicit; 0 rows; CREATE DATABASE w",
    "ddl; implicit; 0 rows; CREATE TABLE t(id INT PRIMARY KEY, v LONGTEXT)",
    "ddl; implicit; 0 rows; CREATE TABLE m(id INT PRIMARY KEY) ENGINE=MyISAM",
    "rows; commit; 2 rows; Table_map, Write_rows_v1",
    // The row of the table without transactions is there whatever follows, in a group of its own ahead of it.
    "rows; commit; 1 rows; Table_map, Write_rows_v1",
    "mixed; commit; 3 rows; Table_map, Write_rows_v1, SAVEPOINT `s1`, ROLLBACK TO `s1`, Table_map, Update_rows_v1",
    "xa-prepare; prepare; 1 rows; X'61',X'',1; Table_map, Write_rows_v1",
    "xa-rollback; implicit; 0 rows; X'61',X'',1; ",
    "rows; commit; 1 rows; Table_map, Write_rows_v1",
    "xa-prepare; prepare; 1 rows; X'64',X'',1; Table_map, Write_rows_v1",
    "xa-commit; implicit; 0 rows; X'64',X'',1; ",
    "alter-start; implicit; 0 rows; ",
    "ddl; implicit; 0 rows; ALTER TABLE t ADD COLUMN c INT, ALGORITHM=COPY",
    expect.stringMatching(/^mixed; commit; 2 rows; CREATE TABLE `t2` \(.*\), Table_map, Write_rows_v1$/s),
    "rows; commit; 1 rows; Table_map, Write_rows_v1",
    "ddl; implicit; 0 rows; ALTER TABLE t COMMENT='compressed compressed compressed'",
    "mixed; commit; 0 rows; Intvar, INSERT INTO t(id,v) VALUES(41,LAST_INSERT_ID())",
    "alter-start; implicit; 0 rows; ",
    "alter-rollback; implicit; 0 rows; ",
  ]);
  expect(places(whole)).toEqual(await expectedPlaces(server()));
  expect(whole.transactions.map(({ mariadbFlags }) => mariadbFlags?.ddl)).toEqual(
    whole.transactions.map(({ kind }, i) => kind === "ddl" || kind.startsWith("alter-") || i === 13),
  );

  const expected = tellAll(whole);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: 900 }),
      fc.integer({ min: 1, max: 400 }),
      async (limit, batchBytesMax) => {
        const limited = assembleFiles(paths, { bytesInMemoryMax: limit });
        const bodies = await Promise.all(
          limited.transactions.map((transaction) => bodyOf(transaction, limited, { batchBytesMax })),
        );
        expect(limited.transactions.map((transaction, i) => told(transaction, bodies[i] ?? []))).toEqual(expected);
      },
    ),
    { numRuns: 20 },
  );
});
