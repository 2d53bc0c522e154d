import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Connection, RowDataPacket } from "mysql2/promise";
import { beforeAll, describe, expect, test } from "vitest";
import { closeBinlog, expectAgreement } from "../../test/helpers/binlog-agreement.ts";
import { scanBinlog } from "../../test/helpers/binlog-scan.ts";
import type { Scan } from "../../test/helpers/binlog-scan.ts";
import { query, useServer, withConnection, withServer } from "../../test/helpers/servers.ts";
import { formatMariadbGtid, MariadbGtidPosition } from "../gtid/mariadb.ts";
import type { ServerFlavour } from "../sandbox/flavours.ts";
import type { SandboxServer } from "../sandbox/start.ts";
import type { DecodedEvent } from "./decode.ts";
import { decodeOptionalMetadata } from "./events/optional-metadata.ts";
import { QUERY_FLAG2 } from "./events/query.ts";

type Kind = DecodedEvent["kind"];

/** Runs the statements in one session of schema `d`, then reads the file they were logged in. */
async function log(server: SandboxServer, work: (run: Connection["query"]) => Promise<void>): Promise<Scan> {
  await closeBinlog(server);
  await withConnection(server, async (connection) => {
    await connection.query("USE d");
    await work(connection.query.bind(connection));
  });
  return expectAgreement(server, await closeBinlog(server));
}

function ofKind<K extends Kind>(scan: Scan, kind: K): Extract<DecodedEvent, { kind: K }>[] {
  return scan.events.flatMap(({ decoded }) =>
    decoded.kind === kind ? [decoded as Extract<DecodedEvent, { kind: K }>] : [],
  );
}

const names = (scan: Scan): Set<string> => new Set(scan.events.map(({ name }) => name));

const endings = (scan: Scan): string[] =>
  scan.events.flatMap(({ name, step }) => (step?.ending === undefined ? [] : [`${name} ${step.ending}`]));

const ALL_TYPES = `CREATE TABLE every_type (
  id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY, a TINYINT, y YEAR, b SMALLINT UNSIGNED, c CHAR(10) CHARACTER SET latin1, v VARCHAR(300) CHARACTER SET utf8mb4,
  e ENUM('x','y'), s SET('p','q') CHARACTER SET latin1, j JSON, d DECIMAL(20,5), f FLOAT, db DOUBLE UNSIGNED, bi BIT(13), t0 TIME, t3 TIME(3),
  dt6 DATETIME(6), ts2 TIMESTAMP(2) NULL, da DATE, lb LONGBLOB, tb TINYTEXT, wide CHAR(200) CHARACTER SET utf8mb4, m MEDIUMINT UNSIGNED,
  big BIGINT UNSIGNED, hidden INT INVISIBLE DEFAULT 4, k INT AS (a + 1) STORED, bin BINARY(16), vb VARBINARY(20), u UUID, i6 INET6)`;

const FULL_ROW = `INSERT INTO every_type (a,y,b,c,v,e,s,j,d,f,db,bi,t0,t3,dt6,ts2,da,lb,tb,wide,m,big,bin,vb,u,i6) VALUES
  (1,2000,65535,'abc',REPEAT('x',300),'y','p,q','[1]',12345678901.12345,1.5,2.5,b'1010101010101','-838:59:59','-10:11:12.123',
   '2020-01-01 00:00:00.123456','2020-01-01 00:00:01.12','2020-02-03',REPEAT('q',70000),'tiny','wide',8888607,18446744073709551615,UNHEX('0100'),
   UNHEX('0200'),'00000000-0000-0000-0000-000000000100','::')`;

function describeBinlogs(flavour: ServerFlavour): void {
  describe(`binlogs of ${flavour}`, () => {
    const server = useServer(flavour, { options: ["--binlog-row-metadata=FULL", "--sync-binlog=0"] });
    beforeAll(async () => {
      await query(server(), "CREATE DATABASE d");
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
      expect(names(scan)).toContain("Annotate_rows");
      expect(
        ofKind(scan, "mariadb-gtid").filter(({ transactional, standalone }) => transactional && !standalone),
      ).toHaveLength(7);
    });

    test("columns that are compressed and geometry are walked over", async () => {
      await closeBinlog(server());
      await query(
        server(),
        "CREATE TABLE d.odd (id INT PRIMARY KEY, v VARCHAR(500) COMPRESSED, b BLOB COMPRESSED, p POINT, i INT);" +
          "INSERT INTO d.odd VALUES (1,REPEAT('c',300),REPEAT('d',400),POINT(1,2),5),(2,'','x',NULL,6),(3,NULL,NULL,NULL,7)",
      );
      const scan = scanBinlog(readFileSync(join(server().dataFolder, await closeBinlog(server()))));
      expect(scan.fault).toBeUndefined();
      expect(scan.rows).toBe(3);
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
        `SELECT COLUMN_NAME AS name, COLUMN_TYPE AS type, DATA_TYPE AS base, l.ID AS id
           FROM information_schema.COLUMNS c LEFT JOIN information_schema.COLLATION_CHARACTER_SET_APPLICABILITY l ON l.FULL_COLLATION_NAME = c.COLLATION_NAME
          WHERE TABLE_SCHEMA = 'd' AND TABLE_NAME = 'every_type' ORDER BY ORDINAL_POSITION`,
      );
      expect(metadata.names).toEqual(columns.map(({ name }) => name as string));
      expect(metadata.primaryKey).toEqual([{ column: 0, prefix: 0 }]);
      for (const [i, { name, type, base, id }] of columns.entries()) {
        const numeric = /int$|decimal|float|double|year/.test(base as string);
        const unsigned = base === "year" || /unsigned/.test(type as string);
        expect([name, metadata.unsigned?.[i]]).toEqual([name, numeric ? unsigned : undefined]);
        const binary = /binary|blob|uuid|inet/.test(base as string);
        expect([name, metadata.collations?.[i]]).toEqual([name, binary ? 63 : ((id as number | null) ?? undefined)]);
        const members = metadata.members?.[i]?.map((member) => member.toString());
        expect([name, members]).toEqual([name, base === "enum" ? ["x", "y"] : base === "set" ? ["p", "q"] : undefined]);
      }
    });

    test("compressed queries and rows unpack to what they were", async () => {
      const scan = await log(server(), async (run) => {
        await run("SET GLOBAL log_bin_compress=1, log_bin_compress_min_len=10");
        await run(`CREATE TABLE lz (id INT PRIMARY KEY, v LONGTEXT) COMMENT='${"long ".repeat(300)}'`);
        await run("INSERT INTO lz VALUES (1,REPEAT('a',3000)),(2,REPEAT('b',3000))");
        await run("UPDATE lz SET v=REPEAT('c',70000)");
        await run("DELETE FROM lz");
        await run("SET GLOBAL log_bin_compress=0");
      });
      expect([...names(scan)].filter((name) => name.includes("compressed"))).toEqual([
        "Query_compressed",
        "Write_rows_compressed_v1",
        "Update_rows_compressed_v1",
        "Delete_rows_compressed_v1",
      ]);
      expect(scan.rows).toBe(6);
      expect(ofKind(scan, "query")[0]?.sql.toString()).toBe(
        `CREATE TABLE lz (id INT PRIMARY KEY, v LONGTEXT) COMMENT='${"long ".repeat(300)}'`,
      );
    });

    test("a two-phase ALTER has a GTID when it starts and one when it ends", async () => {
      const scan = await log(server(), async (run) => {
        await run("CREATE TABLE al (v INT); INSERT INTO al VALUES (1),(1)");
        await run("SET SESSION binlog_alter_two_phase=1; ALTER TABLE al ADD COLUMN c INT, ALGORITHM=COPY");
        await run("ALTER TABLE al ADD UNIQUE(v)").catch(() => {});
      });
      const gtids = ofKind(scan, "mariadb-gtid").slice(-4);
      expect(gtids.map(({ alter }) => alter)).toEqual(["start", "commit", "start", "rollback"]);
      expect(gtids[1]?.alterStartSequence).toBe(gtids[0]?.sequence);
      expect(gtids[3]?.alterStartSequence).toBe(gtids[2]?.sequence);
      expect(gtids.every(({ standalone, ddl }) => standalone && ddl)).toBe(true);
      expect(ofKind(scan, "query").at(-1)).toMatchObject({ errorCode: 1062 });
    });

    test("the two halves of an XA transaction carry its name; ONE PHASE is an ordinary transaction", async () => {
      const scan = await log(server(), async (run) => {
        await run("CREATE TABLE x (id INT PRIMARY KEY)");
        await run("XA START 'a','b',7; INSERT INTO x VALUES (1); XA END 'a','b',7; XA PREPARE 'a','b',7");
        await run("XA COMMIT 'a','b',7");
        await run("XA START 'r'; INSERT INTO x VALUES (2); XA END 'r'; XA PREPARE 'r'; XA ROLLBACK 'r'");
        await run("XA START 'o'; INSERT INTO x VALUES (3); XA END 'o'; XA COMMIT 'o' ONE PHASE");
      });
      expect(endings(scan).slice(-5)).toEqual([
        "XA_prepare prepare",
        "Query implicit",
        "XA_prepare prepare",
        "Query implicit",
        "Xid commit",
      ]);
      expect(
        ofKind(scan, "mariadb-gtid")
          .slice(-5)
          .map(({ xa, xid }) => [xa, xid]),
      ).toEqual([
        ["prepare", "X'61',X'62',7"],
        ["complete", "X'61',X'62',7"],
        ["prepare", "X'72',X'',1"],
        ["complete", "X'72',X'',1"],
        [undefined, undefined],
      ]);
      expect(ofKind(scan, "xa-prepare").map(({ xid }) => xid)).toEqual(["X'61',X'62',7", "X'72',X'',1"]);
    });

    test("mixed engines, savepoints and CREATE TABLE … SELECT stay in their groups", async () => {
      const scan = await log(server(), async (run) => {
        await run("CREATE TABLE i (id INT PRIMARY KEY); CREATE TABLE m (id INT) ENGINE=MyISAM");
        await run("BEGIN; INSERT INTO i VALUES (8); INSERT INTO m VALUES (1); ROLLBACK");
        await run("CREATE OR REPLACE TABLE i2 AS SELECT * FROM m");
        await run("SET binlog_format=STATEMENT");
        await run(
          "BEGIN; INSERT INTO i VALUES (9); SAVEPOINT s; INSERT INTO m SELECT 2 FROM i; ROLLBACK TO SAVEPOINT s; ROLLBACK",
        );
      });
      expect(endings(scan).slice(-3)).toEqual(["Query commit", "Xid commit", "Query rollback"]);
    });

    test("statement format brings its context: variables, seeds, ids, zone, checks, file", async () => {
      const scan = await log(server(), async (run) => {
        await run("CREATE TABLE st (id INT AUTO_INCREMENT PRIMARY KEY, x VARCHAR(100), r DOUBLE)");
        await run("SET binlog_format=STATEMENT, @u=-5, @s='str', @d=1.5, @r=2e0, @n=NULL, @b=18446744073709551615");
        await run("INSERT INTO st (x,r) VALUES (CONCAT(@u,@s,@d,@r,COALESCE(@n,'n'),@b), RAND())");
        await run(
          `SET time_zone='+03:00', lc_time_names='de_DE', auto_increment_increment=3, auto_increment_offset=2, timestamp=1700000000.123456,
               foreign_key_checks=0, check_constraint_checks=0; INSERT INTO st (x) VALUES (NOW(6))`,
        );
        await run("SET sql_if_exists=1; DROP TABLE no_such_table");
        const file = join(server().runFolder, "load.txt");
        writeFileSync(file, "a\nb\nc\n");
        await run(`LOAD DATA INFILE '${file}' IGNORE INTO TABLE st (x)`);
        await run("CREATE DEFINER=CURRENT_USER VIEW vst AS SELECT 1");
      });
      expect(ofKind(scan, "user-var").map(({ name, type, unsigned }) => [name.toString(), type, unsigned])).toEqual([
        ["u", "integer", false],
        ["s", "string", false],
        ["d", "decimal", false],
        ["r", "real", false],
        ["n", "null", false],
        ["b", "integer", true],
      ]);
      const now = ofKind(scan, "query").find(({ sql }) => sql.includes("NOW(6)"));
      expect(now?.status).toMatchObject({
        flags2:
          QUERY_FLAG2.NO_FOREIGN_KEY_CHECKS |
          QUERY_FLAG2.NO_CHECK_CONSTRAINT_CHECKS |
          QUERY_FLAG2.EXPLICIT_DEFAULTS_FOR_TIMESTAMP,
        autoIncrementIncrement: 3,
        autoIncrementOffset: 2,
        timeZone: "+03:00",
        lcTimeNames: 4,
        microseconds: 123456,
      });
      const drop = ofKind(scan, "query").find(({ sql }) => sql.includes("no_such_table"));
      expect((drop?.status.flags2 ?? 0) & QUERY_FLAG2.IF_EXISTS).not.toBe(0);
      expect(ofKind(scan, "execute-load-query")[0]).toMatchObject({ duplicates: "ignore", schema: "d" });
      const view = ofKind(scan, "query").find(({ sql }) => sql.includes("VIEW"));
      expect(view?.status).toMatchObject({ invokerUser: "root" });
    });

    test("GTIDs of two domains: the next file's list and gtid_binlog_pos are the last of each", async () => {
      const scan = await log(server(), async (run) => {
        await run("CREATE TABLE dom (id INT PRIMARY KEY)");
        await run(
          "SET gtid_domain_id=7; INSERT INTO dom VALUES (1); SET server_id=99; INSERT INTO dom VALUES (2); SET gtid_domain_id=0",
        );
        await run("INSERT INTO dom VALUES (3)");
      });
      const [row] = await query<RowDataPacket[]>(server(), "SELECT @@gtid_binlog_pos AS position");
      const position = new MariadbGtidPosition();
      for (const { domainId, serverId, sequence } of ofKind(scan, "mariadb-gtid"))
        position.update(domainId, serverId, sequence);
      expect(position.equals(MariadbGtidPosition.parse(row?.["position"] as string))).toBe(true);
      const next = await log(server(), async () => {});
      const [list] = ofKind(next, "gtid-list");
      const last = new Map(list?.gtids.map((gtid) => [gtid.domainId, formatMariadbGtid(gtid)]));
      expect([...last.values()].toSorted().join(",")).toBe(position.toString());
      expect(list?.gtids.filter(({ domainId }) => domainId === 7)).toHaveLength(2);
    });

    test("transactions that were committed together share a commit id", async () => {
      const scan = await log(server(), async (run) => {
        await run("CREATE TABLE gc (id INT PRIMARY KEY)");
        await run("SET GLOBAL binlog_commit_wait_count=4, binlog_commit_wait_usec=500000");
        await Promise.all([1, 2, 3, 4].map((id) => query(server(), `INSERT INTO d.gc VALUES (${id})`)));
        await run("SET GLOBAL binlog_commit_wait_count=0");
      });
      const ids = ofKind(scan, "mariadb-gtid")
        .slice(-4)
        .map(({ commitId }) => commitId);
      expect(ids[0]).toBeTypeOf("bigint");
      expect(new Set(ids).size).toBe(1);
    });
  });

  test(`an encrypted binlog of ${flavour} ends where the encryption starts`, async () => {
    const folder = mkdtempSync(join(tmpdir(), "abreast-keys-"));
    const keys = join(folder, "keys.txt");
    writeFileSync(keys, `1;${"a7".repeat(32)}\n`);
    const options = [
      "--plugin-load-add=file_key_management",
      `--loose-file-key-management-filename=${keys}`,
      "--encrypt-binlog=1",
    ];
    try {
      await withServer(flavour, { options }, async (server) => {
        await query(server, "CREATE DATABASE e");
        const scan = scanBinlog(readFileSync(join(server.dataFolder, await closeBinlog(server))));
        expect(scan.events.map(({ name }) => name)).toEqual(["Format_desc", "Start_encryption"]);
        expect(scan.fault?.code).toBe("ENCRYPTED");
        expect(scan.fault?.where.position).toBeGreaterThan(scan.events[1]?.offset ?? 0);
        expect(scan.events[1]?.decoded).toMatchObject({ scheme: 1, keyVersion: 1 });
      });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
}

describeBinlogs("mariadb-10.11");
describeBinlogs("mariadb-11.8");

describe("only in mariadb-11.8", () => {
  const server = useServer("mariadb-11.8", { options: ["--binlog-row-metadata=FULL", "--sync-binlog=0"] });
  beforeAll(async () => {
    await query(server(), "CREATE DATABASE d");
  });

  test("GTIDs tell their thread, DDL tells what a bare character set means, vectors are walked over", async () => {
    const scan = await log(server(), async (run) => {
      await run(
        "SET SESSION character_set_collations='utf8mb4=utf8mb4_bin'; CREATE TABLE cc (a VARCHAR(10) CHARACTER SET utf8mb4)",
      );
      await run(
        "CREATE TABLE vec (a INT PRIMARY KEY, v VECTOR(3) NOT NULL, w INT); INSERT INTO vec VALUES (1, VEC_FromText('[1,2,3]'), 5)",
      );
    });
    expect(ofKind(scan, "query").find(({ sql }) => sql.includes("cc"))?.status.characterSetCollations).toEqual([
      { characterSet: 45, collation: 46 },
    ]);
    expect(ofKind(scan, "mariadb-gtid").every(({ threadId }) => threadId === ofKind(scan, "query")[0]?.threadId)).toBe(
      true,
    );
    expect(scan.rows).toBe(1);
  });
});
