import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Connection, RowDataPacket } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { closeBinlog, expectAgreement } from "../../test/helpers/binlog-agreement.ts";
import { scanBinlog } from "../../test/helpers/binlog-scan.ts";
import type { Scan, ScannedEvent } from "../../test/helpers/binlog-scan.ts";
import { query, useServer, withConnection } from "../../test/helpers/servers.ts";
import type { SandboxServer } from "../sandbox/start.ts";
import { GtidSet } from "../gtid/mysql.ts";
import type { DecodedEvent } from "./decode.ts";
import { decodeOptionalMetadata } from "./events/optional-metadata.ts";
import { QUERY_FLAG2 } from "./events/query.ts";

type Kind = DecodedEvent["kind"];

/** Runs the statements in one session of schema `d`, then reads the file they were logged in. */
async function log(server: SandboxServer, work: (run: Connection["query"]) => Promise<void>): Promise<Scan> {
  await closeBinlog(server);
  await withConnection(server, async (connection) => {
    await connection.query("CREATE DATABASE IF NOT EXISTS d; USE d");
    await work(connection.query.bind(connection));
  });
  return expectAgreement(server, await closeBinlog(server));
}

function ofKind<K extends Kind>(scan: Scan, kind: K): Extract<DecodedEvent, { kind: K }>[] {
  return scan.events.flatMap(({ decoded }) =>
    decoded.kind === kind ? [decoded as Extract<DecodedEvent, { kind: K }>] : [],
  );
}

const roles = (events: ScannedEvent[]): string[] =>
  events.map(({ name, step }) => `${name} ${step?.role}${step?.ending === undefined ? "" : ` ${step.ending}`}`);

/** The events of the transaction that has the n-th GTID event of the file, counted from the end for negative n. */
function transaction(scan: Scan, n: number): ScannedEvent[] {
  const starts = scan.events.flatMap(({ decoded }, i) => (decoded.kind === "gtid" ? [i] : []));
  const index = starts.at(n) ?? 0;
  const end = scan.events.findIndex(({ step }, i) => i > index && step?.ending !== undefined);
  return scan.events.slice(index, end + 1);
}

const ALL_TYPES = `CREATE TABLE every_type (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a TINYINT, y YEAR, b SMALLINT UNSIGNED, c CHAR(10) CHARACTER SET latin1, v VARCHAR(300) CHARACTER SET utf8mb4,
  e ENUM('x','y'), s SET('p','q') CHARACTER SET latin1, j JSON, ve VECTOR(3), d DECIMAL(20,5), f FLOAT, db DOUBLE UNSIGNED, bi BIT(13), t0 TIME,
  t3 TIME(3), dt6 DATETIME(6), ts2 TIMESTAMP(2) NULL, da DATE, lb LONGBLOB, tb TINYTEXT, wide CHAR(200) CHARACTER SET utf8mb4, m MEDIUMINT UNSIGNED,
  big BIGINT UNSIGNED, hidden INT INVISIBLE DEFAULT 4, k INT GENERATED ALWAYS AS (a + 1) STORED, bin BINARY(16), vb VARBINARY(20), j2 JSON)`;

const FULL_ROW = `INSERT INTO every_type (a,y,b,c,v,e,s,j,ve,d,f,db,bi,t0,t3,dt6,ts2,da,lb,tb,wide,m,big,bin,vb,j2) VALUES
  (1,2000,65535,'abc',REPEAT('x',300),'y','p,q',CONCAT('{"a":[1,2,3],"b":"',REPEAT('z',200),'"}'),TO_VECTOR('[1,2,3]'),12345678901.12345,1.5,2.5,
   b'1010101010101','-838:59:59','-10:11:12.123','2020-01-01 00:00:00.123456','2020-01-01 00:00:01.12','2020-02-03',REPEAT('q',70000),'tiny','wide',8888607,
   18446744073709551615,UNHEX('0100'),UNHEX('0200'),'{"n":1}')`;

describe("binlogs of mysql-9.7", () => {
  const server = useServer("mysql-9.7", {
    options: ["--binlog-row-metadata=FULL", "--binlog-rows-query-log-events=ON", "--sync-binlog=0"],
  });

  test("rows of every type, full, minimal and without blobs, count as mysqlbinlog counts them", async () => {
    const scan = await log(server(), async (run) => {
      await run(ALL_TYPES);
      await run(FULL_ROW);
      await run("INSERT INTO every_type (a) VALUES (1),(2),(3)");
      await run("SET binlog_row_image=MINIMAL");
      await run(
        "UPDATE every_type SET a=a+1; DELETE FROM every_type WHERE id=2; INSERT INTO every_type (y) VALUES (1999)",
      );
      await run("SET binlog_row_image=NOBLOB");
      await run("UPDATE every_type SET a=7 WHERE id>2; DELETE FROM every_type");
    });
    expect(scan.rows).toBe(4 + 4 + 1 + 1 + 3 + 4);
    expect(scan.transactions).toBe(9);
  });

  test("geometry, whose values mysqlbinlog cannot print, is walked over and named", async () => {
    await closeBinlog(server());
    await query(
      server(),
      "CREATE DATABASE IF NOT EXISTS d; CREATE TABLE d.geo (id INT PRIMARY KEY, p POINT, g GEOMETRY, m MULTIPOLYGON, v INT);" +
        "INSERT INTO d.geo VALUES (1,POINT(1,2),LINESTRING(POINT(0,0),POINT(1,1)),NULL,7),(2,NULL,NULL,NULL,8)",
    );
    const file = await closeBinlog(server());
    const scan = scanBinlog(readFileSync(join(server().dataFolder, file)));
    expect(scan.fault).toBeUndefined();
    expect(scan.rows).toBe(2);
    const map = ofKind(scan, "table-map").at(-1);
    expect(map && decodeOptionalMetadata(map).geometryTypes).toEqual([undefined, 1, 0, 6, undefined]);
  });

  test("a partial update's list of changed JSON columns is walked over", async () => {
    const scan = await log(server(), async (run) => {
      await run("SET binlog_row_value_options=PARTIAL_JSON");
      await run(FULL_ROW);
      await run("INSERT INTO every_type (j,j2) VALUES ('{\"a\":[1]}','{}'),(NULL,NULL)");
      await run("UPDATE every_type SET j=JSON_SET(j,'$.a[0]',9), j2=JSON_SET(j2,'$.n',2), a=a+1");
      await run("UPDATE every_type SET j=JSON_SET(j,'$.a[0]',10)");
      await run("SET binlog_row_image=MINIMAL; UPDATE every_type SET j2=JSON_SET(j2,'$.n',3)");
    });
    const partial = scan.events.filter(({ name }) => name === "Update_rows_partial");
    // A row whose documents are NULL does not change.
    expect(partial.reduce((sum, { rows = 0 }) => sum + rows, 0)).toBe(2 + 2 + 2);
  });

  test("full metadata names types as information_schema does", async () => {
    const scan = await log(server(), async (run) => {
      await run(FULL_ROW);
    });
    const map = ofKind(scan, "table-map").at(-1);
    if (map === undefined) throw new Error("no table map");
    const metadata = decodeOptionalMetadata(map);
    const columns = await query<RowDataPacket[]>(
      server(),
      `SELECT COLUMN_NAME AS name, COLUMN_TYPE AS type, DATA_TYPE AS base, EXTRA AS extra, c.COLLATION_NAME AS collation, l.ID AS id
         FROM information_schema.COLUMNS c LEFT JOIN information_schema.COLLATIONS l ON l.COLLATION_NAME = c.COLLATION_NAME
        WHERE TABLE_SCHEMA = 'd' AND TABLE_NAME = 'every_type' ORDER BY ORDINAL_POSITION`,
    );
    expect(metadata.names).toEqual(columns.map(({ name }) => name as string));
    expect(metadata.primaryKey).toEqual([{ column: 0, prefix: 0 }]);
    for (const [i, { name, type, base, extra, id }] of columns.entries()) {
      const numeric = /int$|decimal|float|double|year/.test(base as string);
      const unsigned = base === "year" || /unsigned/.test(type as string);
      expect([name, metadata.unsigned?.[i]]).toEqual([name, numeric ? unsigned : undefined]);
      const binary = /binary|blob|vector/.test(base as string);
      expect([name, metadata.collations?.[i]]).toEqual([name, binary ? 63 : ((id as number | null) ?? undefined)]);
      expect([name, metadata.visible?.[i]]).toEqual([name, !/INVISIBLE/.test(extra as string)]);
      expect([name, metadata.dimensions?.[i]]).toEqual([name, base === "vector" ? 3 : undefined]);
      const members = metadata.members?.[i]?.map((member) => member.toString());
      expect([name, members]).toEqual([name, base === "enum" ? ["x", "y"] : base === "set" ? ["p", "q"] : undefined]);
    }
  });

  test("keys of column prefixes and many character sets come out of the metadata", async () => {
    const scan = await log(server(), async (run) => {
      await run(
        `CREATE TABLE prefixed (n INT, a VARCHAR(20) CHARACTER SET latin1, b VARCHAR(20) CHARACTER SET utf8mb4, c VARCHAR(20) CHARACTER SET utf8mb4,
          e ENUM('ä') CHARACTER SET latin1, f ENUM('ö') CHARACTER SET utf8mb4, g TEXT CHARACTER SET ucs2, PRIMARY KEY (b(3), n))`,
      );
      await run("INSERT INTO prefixed VALUES (1,'a','b','c','ä','ö','g')");
    });
    const map = ofKind(scan, "table-map").at(-1);
    if (map === undefined) throw new Error("no table map");
    const { primaryKey, collations, members } = decodeOptionalMetadata(map);
    expect(primaryKey).toEqual([
      { column: 2, prefix: 3 },
      { column: 0, prefix: 0 },
    ]);
    expect(collations).toEqual([undefined, 8, 255, 255, 8, 255, 35]);
    expect(members?.[4]?.[0]?.toString("latin1")).toBe("ä");
    expect(members?.[5]?.[0]?.toString("utf8")).toBe("ö");
  });

  test("a compressed transaction is one payload, and its events are read as if they were not inside", async () => {
    const scan = await log(server(), async (run) => {
      await run("CREATE TABLE c (id INT PRIMARY KEY, v LONGTEXT)");
      await run("SET binlog_transaction_compression=ON");
      await run(
        "BEGIN; INSERT INTO c VALUES (1,REPEAT('a',5000)); INSERT INTO c VALUES (2,REPEAT('b',300000)),(3,'c'); COMMIT",
      );
      await run("SET binlog_transaction_compression=OFF; INSERT INTO c VALUES (4,'d')");
    });
    const [, , payload, ...inner] = [transaction(scan, -2)[0], ...transaction(scan, -2)];
    expect(payload?.decoded).toMatchObject({ kind: "transaction-payload", compression: "zstd" });
    expect(roles(inner)).toEqual([
      "Query inside",
      "Rows_query inside",
      "Table_map inside",
      "Write_rows inside",
      "Rows_query inside",
      "Table_map inside",
      "Write_rows inside",
      ...Array.from<string>({ length: inner.length - 8 }).fill("Write_rows inside"),
      "Xid end commit",
    ]);
    expect(scan.rows).toBe(4);
  });

  test("GTID events tell what the server shows, with a tag and without, and Previous_gtids holds them all", async () => {
    const scan = await log(server(), async (run) => {
      await run("CREATE TABLE tagged (id INT PRIMARY KEY)");
      await run("SET gtid_next='AUTOMATIC:mytag'; INSERT INTO tagged VALUES (1); SET gtid_next='AUTOMATIC'");
      await run("SET gtid_next='AAAAAAAA-0000-0000-0000-0000000000FF:other_tag:77'; INSERT INTO tagged VALUES (2)");
      await run(
        "SET gtid_next='aaaaaaaa-0000-0000-0000-0000000000ff:9'; INSERT INTO tagged VALUES (3); SET gtid_next='AUTOMATIC'",
      );
    });
    const [row] = await query<RowDataPacket[]>(
      server(),
      "SELECT @@server_uuid AS uuid, @@gtid_executed AS executed, UNIX_TIMESTAMP() AS now",
    );
    const gtids = ofKind(scan, "gtid").slice(-4);
    expect(gtids.map(({ uuid, tag, gno }) => [uuid, tag, gno])).toEqual([
      [row?.["uuid"], "", expect.any(BigInt)],
      [row?.["uuid"], "mytag", 1n],
      ["aaaaaaaa-0000-0000-0000-0000000000ff", "other_tag", 77n],
      ["aaaaaaaa-0000-0000-0000-0000000000ff", "", 9n],
    ]);
    for (const gtid of gtids) {
      expect(gtid.immediateServerVersion).toBeGreaterThanOrEqual(90_700);
      expect(gtid.originalServerVersion).toBe(gtid.immediateServerVersion);
      expect(gtid.originalCommitUs).toBe(gtid.immediateCommitUs);
      expect(Math.abs(gtid.immediateCommitUs / 1e6 - (row?.["now"] as number))).toBeLessThan(600);
    }
    // The next file begins with all of it.
    const next = await log(server(), async () => {});
    const text = String(row?.["executed"]);
    const executed = GtidSet.parse(text);
    const [previous] = ofKind(next, "previous-gtids");
    expect(previous?.set.toString()).toBe(text.replaceAll("\n", ""));
    expect(previous?.set.equals(executed)).toBe(true);
    expect(GtidSet.decode(executed.encode()).equals(executed)).toBe(true);
  });

  test("a transaction's length is the sum of its events, the clock counts up", async () => {
    const scan = await log(server(), async (run) => {
      await run("CREATE TABLE len (id INT PRIMARY KEY)");
      for (let i = 0; i < 5; i++) await run(`INSERT INTO len VALUES (${i})`);
    });
    let previous = 0;
    for (const [i, { decoded, offset }] of scan.events.entries()) {
      if (decoded.kind !== "gtid") continue;
      const end = scan.events.findIndex(({ step }, j) => j > i && step?.ending !== undefined) + 1;
      expect((scan.events[end]?.offset ?? 0) - offset).toBe(decoded.transactionLength);
      expect(decoded.sequenceNumber).toBe(++previous);
      expect(decoded.lastCommitted).toBeLessThan(decoded.sequenceNumber);
    }
  });

  test("the two halves of an XA transaction, and ONE PHASE, end as they should", async () => {
    const scan = await log(server(), async (run) => {
      await run("CREATE TABLE x (id INT PRIMARY KEY)");
      await run("XA START 'a','b',7; INSERT INTO x VALUES (1); XA END 'a','b',7; XA PREPARE 'a','b',7");
      await run("XA COMMIT 'a','b',7");
      await run("XA START 'r'; INSERT INTO x VALUES (2); XA END 'r'; XA PREPARE 'r'; XA ROLLBACK 'r'");
      await run("XA START 'o'; INSERT INTO x VALUES (3); XA END 'o'; XA COMMIT 'o' ONE PHASE");
    });
    const endings = scan.events
      .slice(5)
      .flatMap(({ step, name }) => (step?.ending === undefined ? [] : [`${name} ${step.ending}`]));
    expect(endings.slice(-5)).toEqual([
      "XA_prepare prepare",
      "Query implicit",
      "XA_prepare prepare",
      "Query implicit",
      "XA_prepare commit",
    ]);
    expect(ofKind(scan, "xa-prepare").map(({ xid }) => xid)).toEqual(["X'61',X'62',7", "X'72',X'',1", "X'6f',X'',1"]);
  });

  test("CREATE TABLE … SELECT carries a statement inside a transaction; savepoints stay inside", async () => {
    const scan = await log(server(), async (run) => {
      await run("CREATE TABLE s (id INT PRIMARY KEY); INSERT INTO s VALUES (1),(2)");
      await run("CREATE TABLE s2 AS SELECT * FROM s");
      await run("BEGIN; INSERT INTO s VALUES (3); SAVEPOINT `a b`; INSERT INTO s VALUES (4); COMMIT");
    });
    expect(roles(transaction(scan, -2))).toEqual([
      "Gtid begin",
      "Query inside",
      "Query inside",
      "Rows_query inside",
      "Table_map inside",
      "Write_rows inside",
      "Xid end commit",
    ]);
    expect(transaction(scan, -2).map(({ step }) => step?.content)).toEqual([
      false,
      false,
      true,
      false,
      true,
      true,
      false,
    ]);
    expect(roles(transaction(scan, -1)).filter((role) => role.startsWith("Query"))).toEqual([
      "Query inside",
      "Query inside",
    ]);
  });

  test("statement format brings its context: variables, seeds, ids, zone, file", async () => {
    const scan = await log(server(), async (run) => {
      await run("CREATE TABLE st (id INT AUTO_INCREMENT PRIMARY KEY, x VARCHAR(100), r DOUBLE)");
      await run("SET binlog_format=STATEMENT, @u=-5, @s='str', @d=1.5, @r=2e0, @n=NULL, @b=18446744073709551615");
      await run("INSERT INTO st (x,r) VALUES (CONCAT(@u,@s,@d,@r,COALESCE(@n,'n'),@b), RAND())");
      await run("INSERT INTO st (x) SELECT LAST_INSERT_ID()");
      await run(
        `SET time_zone='+03:00', lc_time_names='de_DE', auto_increment_increment=3, auto_increment_offset=2, timestamp=1700000000.123456,
             foreign_key_checks=0, unique_checks=0, sql_auto_is_null=1; INSERT INTO st (x) VALUES (NOW(6))`,
      );
      const file = join(server().runFolder, "load.txt");
      writeFileSync(file, "a\nb\nc\n");
      await run(`LOAD DATA INFILE '${file}' REPLACE INTO TABLE st (x)`);
      await run("CREATE DEFINER=CURRENT_USER VIEW vst AS SELECT 1");
    });
    const variables = ofKind(scan, "user-var").map(({ name, type, unsigned }) => [name.toString(), type, unsigned]);
    expect(variables).toEqual([
      ["u", "integer", false],
      ["s", "string", false],
      ["d", "decimal", false],
      ["r", "real", false],
      ["n", "null", false],
      ["b", "integer", true],
    ]);
    expect(ofKind(scan, "user-var")[0]?.value.readBigInt64LE()).toBe(-5n);
    expect(ofKind(scan, "rand")).toHaveLength(1);
    expect(ofKind(scan, "intvar").slice(0, 3)).toEqual([
      { kind: "intvar", variable: "insert-id", value: 1n },
      { kind: "intvar", variable: "last-insert-id", value: 1n },
      { kind: "intvar", variable: "insert-id", value: 2n },
    ]);
    const now = ofKind(scan, "query").find(({ sql }) => sql.includes("NOW(6)"));
    expect(now?.status).toMatchObject({
      flags2: QUERY_FLAG2.NO_FOREIGN_KEY_CHECKS | QUERY_FLAG2.RELAXED_UNIQUE_CHECKS | QUERY_FLAG2.AUTO_IS_NULL,
      autoIncrementIncrement: 3,
      autoIncrementOffset: 2,
      timeZone: "+03:00",
      lcTimeNames: 4,
      microseconds: 123456,
      updatedSchemas: ["d"],
      defaultCollationForUtf8mb4: 255,
    });
    const [load] = ofKind(scan, "execute-load-query");
    expect(load).toMatchObject({ duplicates: "replace", schema: "d" });
    expect(load?.sql.subarray(load.fileNameFrom, load.fileNameTo).toString()).toMatch(
      /INFILE '.*load\.txt' REPLACE INTO/,
    );
    expect(ofKind(scan, "begin-load-query")[0]?.data.toString()).toBe("a\nb\nc\n");
    const view = ofKind(scan, "query").find(({ sql }) => sql.includes("VIEW"));
    expect(view?.status).toMatchObject({ invokerUser: "root", invokerHost: expect.any(String) });
  });

  test("GTID sets are printed, united and cut as the server does", async () => {
    const a = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    const b = "0e11fa47-71ca-11e1-9e33-c80aa9429562";
    const texts = [
      `${a}:1-100`,
      `${a}:100-200:300-400,${b}:5`,
      `${a}:21-57:tag_b:1:3,${a.toUpperCase()}:_a:5-7:2,${b}:1-3:x:9`,
      ` ${a} : 1-3 : 5 - 7,\n${b}:9-5:4`,
      `${a}:_a:1-9,${a}:20-21`,
      "",
    ];
    for (const left of texts) {
      for (const right of texts) {
        const [row] = await query<RowDataPacket[]>(
          server(),
          "SELECT GTID_SUBTRACT(?, '') AS printed, GTID_SUBTRACT(?, ?) AS difference, GTID_SUBSET(?, ?) AS subset",
          [left, left, right, left, right],
        );
        const one = (text: unknown): string => (text as string).replaceAll("\n", "");
        expect(GtidSet.parse(left).toString()).toBe(one(row?.["printed"]));
        expect(GtidSet.parse(left).subtract(GtidSet.parse(right)).toString()).toBe(one(row?.["difference"]));
        expect(GtidSet.parse(left).isSubsetOf(GtidSet.parse(right))).toBe(row?.["subset"] === 1);
      }
    }
  });
});

describe("binlogs of mysql-9.7 without GTIDs", () => {
  const server = useServer("mysql-9.7", {
    options: ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF", "--sync-binlog=0", "--binlog-checksum=NONE"],
  });

  test("a transaction that changed a non-transactional table ends in ROLLBACK or COMMIT", async () => {
    const scan = await log(server(), async (run) => {
      await run("CREATE TABLE i (id INT PRIMARY KEY); CREATE TABLE m (id INT) ENGINE=MyISAM");
      await run("BEGIN; INSERT INTO i VALUES (8); INSERT INTO m VALUES (1); ROLLBACK");
      await run("SET binlog_format=STATEMENT");
      await run("BEGIN; INSERT INTO i VALUES (9); SAVEPOINT s; INSERT INTO m SELECT 2 FROM i; ROLLBACK TO s; ROLLBACK");
    });
    const endings = scan.events.flatMap(({ step }) => (step?.ending === undefined ? [] : [step.ending]));
    expect(endings).toContain("commit");
    expect(endings).toContain("rollback");
    expect(ofKind(scan, "gtid").every(({ anonymous, gno }) => anonymous && gno === 0n)).toBe(true);
  });
});

describe("binlogs of mysql-5.6", () => {
  const server = useServer("mysql-5.6");

  test("rows of version 2 and statements agree with SHOW BINLOG EVENTS", async () => {
    const scan = await log(server(), async (run) => {
      await run(
        "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300), t TIME(3), b BIT(13), e ENUM('x'), d DECIMAL(30,10), m MEDIUMTEXT)",
      );
      await run(
        "INSERT INTO t VALUES (1,REPEAT('x',300),'-10:11:12.123',b'1010101010101','x',12345.678,'text'),(2,NULL,NULL,NULL,NULL,NULL,NULL)",
      );
      await run("UPDATE t SET v='y'; DELETE FROM t");
      await run("SET binlog_format=STATEMENT; INSERT INTO t (id,v) VALUES (5,NOW())");
    });
    expect(scan.rows).toBe(6);
    const [gtid] = ofKind(scan, "gtid");
    expect(gtid).toMatchObject({
      anonymous: false,
      lastCommitted: 0,
      sequenceNumber: 0,
      immediateCommitUs: 0,
      transactionLength: 0,
    });
  });
});
