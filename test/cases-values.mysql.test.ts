import { describe, expect, test } from "vitest";
import { rows, run, withSession } from "./helpers/channel.ts";
import { allTypes } from "./helpers/all-types.ts";
import { CliProcess } from "./helpers/engine-process.ts";
import { type Field, useFields } from "./helpers/field-cases.ts";

// Values that broke somebody's tool, from each source to each of its targets, whose time zone is another one. Every case is compared row by row.
const fields = useFields(
  {
    "mysql-9.7": ["mysql-9.7", "mariadb-10.11"],
    "mysql-5.6": ["mysql-9.7"],
    "mariadb-10.11": ["mariadb-10.11", "mysql-9.7"],
  },
  { targetOptions: ["--default-time-zone=+07:00"] },
);
const field = (flavour: Field["flavour"]): Field => fields.find((one) => one.flavour === flavour) as Field;
const mysql = field("mysql-9.7");
const mariadb = field("mariadb-10.11");

/** Several sources have a target in common, and a channel that has stopped leaves its part of a schema there. */
async function forget(from: Field, ...schemas: string[]): Promise<void> {
  for (const link of from.links) {
    await link.stop();
    for (const schema of schemas) await run(link.target(), `DROP DATABASE IF EXISTS ${schema}`);
  }
  for (const schema of schemas) await run(from.source(), `DROP DATABASE ${schema}`);
}

describe.each(fields)("from $name", (from) => {
  test("unsigned numbers with the high bit set arrive as they are, also as keys", async () => {
    await from.replicate(
      "CREATE TABLE high(a TINYINT UNSIGNED,b SMALLINT UNSIGNED,c MEDIUMINT UNSIGNED,d INT UNSIGNED,e BIGINT UNSIGNED PRIMARY KEY)",
      "INSERT INTO high VALUES(200,65535,8888607,4294967295,18446744073709551615)",
      "INSERT INTO high VALUES(1,1,1,1,18446744073709551614),(2,2,2,2,9223372036854775808)",
    );
    await from.expectRows("SELECT * FROM high ORDER BY e DESC LIMIT 1", [
      ["200", "65535", "8888607", "4294967295", "18446744073709551615"],
    ]);
    await from.replicate(
      "UPDATE high SET a=a+1, e=18446744073709551613 WHERE e=18446744073709551615",
      "DELETE FROM high WHERE e=18446744073709551614",
    );
    await from.expectRows("SELECT a, e FROM high ORDER BY e", [
      ["2", "9223372036854775808"],
      ["201", "18446744073709551613"],
    ]);
  });

  test("all 64 bits of BIT(64) and the 64th member of a SET arrive", async () => {
    const members = Array.from({ length: 64 }, (_, i) => `'m${i + 1}'`).join(",");
    await from.replicate(
      `CREATE TABLE bits(id INT PRIMARY KEY, b BIT(64), s SET(${members}))`,
      "INSERT INTO bits VALUES(1, 0xFFFFFFFFFFFFFFFF, 'm1,m64'),(2, 0x8000000000000000, 'm64'),(3, 0, '')",
      "UPDATE bits SET b=b-1 WHERE id=2",
    );
    await from.expectRows("SELECT id, HEX(b), s FROM bits ORDER BY id", [
      ["1", "FFFFFFFFFFFFFFFF", "m1,m64"],
      ["2", "7FFFFFFFFFFFFFFF", "m64"],
      ["3", "0", ""],
    ]);
  });

  test("a negative TIME keeps its sign and its fraction", async () => {
    await from.replicate(
      "CREATE TABLE times(id INT PRIMARY KEY, a TIME, b TIME(2), c TIME(3), d TIME(6), e TIME(6))",
      "INSERT INTO times VALUES(1,'-00:00:01','-00:00:00.01','-16:08:04.250','-838:59:59','-00:00:00.000001')",
      "INSERT INTO times VALUES(2,'-838:59:59','-838:59:58.99','00:00:00.001','-00:00:59.999999','00:00:00')",
    );
    await from.expectRows("SELECT * FROM times ORDER BY id", [
      ["1", "-00:00:01", "-00:00:00.01", "-16:08:04.250", "-838:59:59.000000", "-00:00:00.000001"],
      ["2", "-838:59:59", "-838:59:58.99", "00:00:00.001", "-00:00:59.999999", "00:00:00.000000"],
    ]);
  });

  test("BINARY with trailing zeros is found again by update and delete, VARBINARY keeps its length", async () => {
    await from.replicate(
      "CREATE TABLE padded(id BINARY(16) PRIMARY KEY, v BINARY(4), w VARBINARY(16))",
      "INSERT INTO padded VALUES(0x01000000000000000000000000000100, 0x01020000, 0x0100),(0x02000000000000000000000000000000, 0, '')",
    );
    await from.expectRows("SELECT HEX(id), HEX(v), HEX(w) FROM padded ORDER BY id", [
      ["01000000000000000000000000000100", "01020000", "0100"],
      ["02000000000000000000000000000000", "30000000", ""],
    ]);
    await from.replicate("UPDATE padded SET v=0x0A000000, w=0x010000 WHERE id=0x01000000000000000000000000000100");
    await from.expectRows("SELECT HEX(v), HEX(w) FROM padded ORDER BY id LIMIT 1", [["0A000000", "010000"]]);
    await from.replicate("DELETE FROM padded WHERE id=0x01000000000000000000000000000100");
    await from.expectRows("SELECT COUNT(*) FROM padded", [["1"]]);
  });

  test("minimal and noblob row images change what they name and leave the rest alone", async () => {
    await from.replicate(
      "CREATE TABLE m(id INT PRIMARY KEY, a INT DEFAULT 7, b BLOB, t TEXT, n INT)",
      "INSERT INTO m VALUES(1,1,'blob','text',NULL),(2,1,'blob','text',5)",
      "SET SESSION binlog_row_image=MINIMAL",
      "UPDATE m SET a=2 WHERE id=1",
      "INSERT INTO m(id) VALUES(3)",
      "INSERT INTO m(id,a,b) VALUES(4,NULL,NULL)",
      "SET SESSION binlog_row_image=NOBLOB",
      "UPDATE m SET a=3 WHERE id=1",
      "UPDATE m SET b='new', n=NULL WHERE id=2",
      "DELETE FROM m WHERE id=4",
    );
    await from.expectRows("SELECT * FROM m ORDER BY id", [
      ["1", "3", "blob", "text", null],
      ["2", "1", "new", "text", null],
      ["3", "7", null, null, null],
    ]);
  });

  test.each(["ROW", "STATEMENT"])("a TIMESTAMP is the same instant whatever zones are about (%s)", async (format) => {
    await from.replicate(
      `SET SESSION binlog_format=${format}, sql_mode='', time_zone='-03:00'`,
      `CREATE TABLE zones_${format}(id INT PRIMARY KEY, ts TIMESTAMP NULL, tf TIMESTAMP(6) NULL, dt DATETIME)`,
      `INSERT INTO zones_${format} VALUES(1,'2026-07-05 12:00:00','2026-07-05 12:00:00.000001','2026-07-05 12:00:00')`,
      `INSERT INTO zones_${format} VALUES(2,'0000-00-00 00:00:00','0000-00-00 00:00:00','0000-00-00 00:00:00')`,
      `INSERT INTO zones_${format} VALUES(3,FROM_UNIXTIME(1),FROM_UNIXTIME(1.5),FROM_UNIXTIME(1))`,
      `INSERT INTO zones_${format} VALUES(4,FROM_UNIXTIME(1762057800),FROM_UNIXTIME(1762057800.25),NULL)`,
      "SET time_zone='+05:45'",
      `UPDATE zones_${format} SET dt=ts WHERE id=4`,
      `DELETE FROM zones_${format} WHERE ts=FROM_UNIXTIME(1)`,
    );
    await from.expectRows(`SELECT id, UNIX_TIMESTAMP(ts), UNIX_TIMESTAMP(tf), dt FROM zones_${format} ORDER BY id`, [
      ["1", "1783263600", "1783263600.000001", "2026-07-05 12:00:00"],
      ["2", "0", "0.000000", "0000-00-00 00:00:00"],
      ["4", "1762057800", "1762057800.250000", "2025-11-02 10:15:00"],
    ]);
    await from.expectRows(`SELECT ts+0, tf+0 FROM zones_${format} WHERE id=2`, [["0", "0.000000"]]);
  });

  test("a row that is only found by its FLOAT is found", async () => {
    await from.replicate(
      "CREATE TABLE floats(id INT, f FLOAT, d DOUBLE, n DECIMAL(65,30))",
      "INSERT INTO floats VALUES(1,3.14,3.14,3.14),(2,1e-45,4.9e-324,-0.000000000000000000000000000001),(3,-0.1,0.1,NULL)",
      "DELETE FROM floats WHERE id=1",
      "UPDATE floats SET n=1 WHERE id=2",
    );
    await from.expectRows("SELECT id, n IS NULL FROM floats ORDER BY id", [
      ["2", "0"],
      ["3", "1"],
    ]);
  });

  test("equal rows of a table without a key are changed one by one", async () => {
    await from.replicate(
      "CREATE TABLE twins(a INT, b VARCHAR(10), c BLOB)",
      "INSERT INTO twins VALUES(1,'x','c'),(1,'x','c'),(1,'x','c'),(NULL,NULL,NULL),(NULL,NULL,NULL)",
      "DELETE FROM twins WHERE a=1 LIMIT 1",
      "UPDATE twins SET b='y' WHERE a=1 LIMIT 1",
      "DELETE FROM twins WHERE a IS NULL LIMIT 1",
    );
    await from.expectRows("SELECT a, b FROM twins ORDER BY a, b", [
      [null, null],
      ["1", "x"],
      ["1", "y"],
    ]);
  });

  test("one event that changes a row without primary key twice leaves the last value", async () => {
    await from.replicate(
      "CREATE TABLE rr(a INT UNIQUE, b INT)",
      "INSERT INTO rr VALUES(1,2)",
      "REPLACE INTO rr VALUES(1,3),(1,4)",
    );
    await from.expectRows("SELECT a, b FROM rr", [["1", "4"]]);
  });

  test("collations say which values are one: a case, an accent or a space apart", async () => {
    await from.replicate(
      "CREATE TABLE ci(id INT AUTO_INCREMENT PRIMARY KEY, u VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci UNIQUE)",
      "CREATE TABLE bi(id INT AUTO_INCREMENT PRIMARY KEY, u VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin UNIQUE)",
      ...["ci", "bi"].flatMap((table) => [
        `INSERT INTO ${table}(u) VALUES('Abc'),('é'),('ß')`,
        `DELETE FROM ${table} WHERE u='Abc'`,
        `INSERT INTO ${table}(u) VALUES('aBC ')`,
        `UPDATE ${table} SET u='e' WHERE u='é'`,
        `INSERT INTO ${table}(u) VALUES('ss')`,
      ]),
      "INSERT INTO bi(u) VALUES('Abc'),('é'),('E')",
    );
    await from.expectRows("SELECT COUNT(*) FROM bi", [["7"]]);
  });
});

describe("types that one flavour has", () => {
  test("UUID, INET6 and INET4 arrive whole although their bytes are cut in the log (MariaDB)", async () => {
    await mariadb.run([
      "CREATE DATABASE own_types",
      "CREATE TABLE own_types.ids(id UUID PRIMARY KEY, a INET6, b INET4)",
      "INSERT INTO own_types.ids VALUES('00000000-0000-0000-0000-000000000100','::','0.0.0.0'),('ffffffff-ffff-ffff-ffff-ffffffffff00','2001:db8::','10.0.0.0')",
      "UPDATE own_types.ids SET b='1.0.0.0' WHERE id='00000000-0000-0000-0000-000000000100'",
      "DELETE FROM own_types.ids WHERE a='2001:db8::'",
      ...allTypes("mariadb"),
      "UPDATE types.newer SET c=c+1 WHERE c IS NOT NULL",
      "DELETE FROM types.newer WHERE id='123e4567-e89b-12d3-a456-426655440000'",
    ]);
    const same = mariadb.link("mariadb-10.11");
    await same.settle();
    await same.expectIdentical("own_types");
    await same.expectIdentical("types");
    expect(await rows(same.target(), "SELECT * FROM own_types.ids")).toEqual([
      ["00000000-0000-0000-0000-000000000100", "::", "1.0.0.0"],
    ]);
    // The other target does not know the types: it says so, and has nothing of the table.
    const other = mariadb.link("mysql-9.7");
    const error = await other.stopped();
    expect(error.message).toContain("CREATE TABLE own_types.ids(id UUID PRIMARY KEY");
    expect(error.where.gtid).toMatch(/^0-\d+-\d+$/);
    expect(await rows(other.target(), "SHOW TABLES FROM own_types")).toEqual([]);
    await forget(mariadb, "own_types", "types");
  });

  test("temporal columns of MariaDB's old format, whose length the log does not tell, arrive at a MariaDB", async () => {
    const [same, other] = [mariadb.link("mariadb-10.11"), mariadb.link("mysql-9.7")];
    await run(mariadb.source(), "SET GLOBAL mysql56_temporal_format=OFF");
    try {
      await mariadb.run([
        "CREATE TABLE old_time(id INT PRIMARY KEY, t TIME(3), d DATETIME(6), s TIMESTAMP(2) NULL, u TIME, v VARCHAR(10))",
        "INSERT INTO old_time VALUES(1,'-10:11:12.123','2026-01-02 03:04:05.678901','2026-01-02 03:04:05.25','01:02:03','v'),(2,NULL,NULL,NULL,NULL,NULL)",
        "UPDATE old_time SET t='00:00:00.001', v='w' WHERE id=1",
      ]);
    } finally {
      await run(mariadb.source(), "SET GLOBAL mysql56_temporal_format=DEFAULT");
    }
    await same.settle();
    await same.expectIdentical(mariadb.schema);
    // MySQL since 8.0 has no such types in its row events any more.
    const error = await other.stopped();
    expect(error.code).toBe("APPLY");
    expect(await rows(other.target(), `SELECT * FROM ${mariadb.schema}.old_time`)).toEqual([]);
    await mariadb.run(["DROP TABLE IF EXISTS old_time"]);
  });

  test("JSON keeps the types inside: DECIMAL, TIME, DATETIME, BIT, empty names, 64-bit numbers, JSON null (MySQL)", async () => {
    await mysql.run([
      "CREATE DATABASE own_types",
      "CREATE TABLE own_types.j(id INT PRIMARY KEY, d JSON)",
      "CREATE TABLE own_types.bits(b BIT(10))",
      "INSERT INTO own_types.bits VALUES(b'1010')",
      `INSERT INTO own_types.j SELECT
        1, JSON_OBJECT('dec', 1.10, 'big', 123456789012345678901234567890.000100, 'time', CAST('-10:11:12.5' AS TIME(3)), 'dt', CAST('2026-01-01 10:00:00.000001' AS DATETIME(6)), 'date', CAST('2026-01-01' AS DATE), 'bit', b, 'blob', X'00FF') FROM own_types.bits`,
      `INSERT INTO own_types.j VALUES
        (2, 'null'), (3, NULL), (4, '{"":1,"a":{}}'), (5, '[1e100,-9223372036854775808,18446744073709551615]'),
        (6, JSON_ARRAY(REPEAT('x', 70000), 1, 2.50, true, false)), (7, '"ünï"'), (8, '{"a":{"b":[1,2,{"c":null}]}}')`,
      "UPDATE own_types.j SET d=JSON_SET(d, '$.a', 2.50) WHERE id IN (4, 8)",
      "SET SESSION binlog_row_value_options=PARTIAL_JSON, binlog_row_image=MINIMAL",
      "UPDATE own_types.j SET d=JSON_SET(d, '$.dec', CAST(9.90 AS DECIMAL(4,2)), '$.new', 1) WHERE id=1",
      "UPDATE own_types.j SET d=JSON_REPLACE(d, '$[0]', 'y') WHERE id=6",
      "UPDATE own_types.j SET d=JSON_REMOVE(d, '$.a') WHERE id=4",
      "UPDATE own_types.j SET d=NULL WHERE id=7",
      "SET SESSION binlog_row_value_options=DEFAULT, binlog_row_image=DEFAULT",
      ...allTypes("mysql-9.7"),
      "UPDATE types.newer SET a=a+1 WHERE a IS NOT NULL",
      "DELETE FROM types.newer WHERE id IN (2, 5)",
    ]);
    const same = mysql.link("mysql-9.7");
    await same.settle();
    await same.expectIdentical("own_types");
    await same.expectIdentical("types");
    const told = (server: typeof same.source): Promise<(string | null)[][]> =>
      rows(
        server(),
        "SELECT id, CAST(d AS CHAR), JSON_TYPE(d), JSON_TYPE(d->'$.dec'), JSON_TYPE(d->'$.time'), JSON_TYPE(d->'$.bit') FROM own_types.j ORDER BY id",
      );
    const onSource = await told(same.source);
    expect(await told(same.target)).toEqual(onSource);
    expect(onSource[1]).toEqual(["2", "null", "NULL", null, null, null]);
    expect(onSource[2]?.[1]).toBeNull();
    expect(onSource[0]?.slice(2)).toEqual(["OBJECT", "DECIMAL", "TIME", "BIT"]);
    // MariaDB has no such column type: row events of it cannot go there.
    const error = await mysql.link("mariadb-10.11").stopped();
    expect(error.message).toMatch(/own_types\.j|JSON/);
    expect(await rows(mysql.link("mariadb-10.11").target(), "SELECT COUNT(*) FROM own_types.j")).toEqual([["0"]]);
    await forget(mysql, "own_types", "types");
  });

  test("every common type with its extreme values survives insert, update and delete", async () => {
    for (const from of fields) {
      await from.run([
        ...allTypes("common"),
        "UPDATE types.numbers SET t=2000, n=n WHERE id>2",
        "UPDATE types.times SET f='2026-07-05 00:00:00' WHERE a IS NOT NULL",
        "UPDATE types.strings SET n=n-1",
        "UPDATE types.bytes SET b=CONCAT(b, X'00')",
        "UPDATE types.unique_key SET v=v+10 WHERE v IS NOT NULL ORDER BY v DESC",
        "UPDATE types.by_members SET v=-v",
        "DELETE FROM types.keyless WHERE a=1 LIMIT 2",
        "DELETE FROM types.numbers WHERE id=18446744073709551615",
        "DELETE FROM types.bytes WHERE id=X'FF000000000000000000000000000000'",
        "DELETE FROM types.by_members WHERE f=1e-300",
      ]);
      for (const link of from.links) {
        await link.settle();
        await link.expectIdentical("types");
      }
      await forget(from, "types");
    }
  });

  test("the zone that the engine runs in does not matter", async () => {
    await mysql.run([]);
    const { options } = mysql.link("mysql-9.7");
    await mysql.link("mysql-9.7").stop();
    await withSession(mysql.source(), async (session) => {
      await session.execute(`USE ${mysql.schema}; SET SESSION time_zone='-03:00', sql_mode=''`);
      await session.execute("CREATE TABLE engine_zone(id INT PRIMARY KEY, ts TIMESTAMP NULL, dt DATETIME)");
      await session.execute(
        "INSERT INTO engine_zone VALUES(1,'2026-07-05 12:00:00',NOW()),(2,0,0),(3,FROM_UNIXTIME(1),0)",
      );
      await session.execute("SET SESSION binlog_format=STATEMENT");
      await session.execute(
        "INSERT INTO engine_zone VALUES(4,'2026-07-05 12:00:00',NOW()),(5,0,0),(6,FROM_UNIXTIME(1),0)",
      );
    });
    const engine = new CliProcess(
      [
        "replicate",
        `--source=${mysql.source().url}`,
        `--target=${mysql.link("mysql-9.7").target().url}`,
        `--folder=${options.folder}`,
        `--channel=${options.channel}`,
        "--skip-preflight",
        "--until=now",
      ],
      { TZ: "America/Sao_Paulo" },
    );
    expect(await engine.ended, engine.errors).toBe(0);
    await mysql.link("mysql-9.7").expectIdentical(mysql.schema);
    expect(
      await rows(
        mysql.link("mysql-9.7").target(),
        `SELECT id, UNIX_TIMESTAMP(ts) FROM ${mysql.schema}.engine_zone ORDER BY id`,
      ),
    ).toEqual(["1783263600", "0", "1", "1783263600", "0", "1"].map((ts, i) => [String(i + 1), ts]));
  });
});
