import type { RowDataPacket } from "mysql2/promise";
import { expect, test } from "vitest";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { type Key, readTables, type Table } from "../../src/schema/catalog.ts";
import { parseSchemaDump, type Schema } from "../../src/schema/dump.ts";
import { type ForeignKey, readForeignKeys, readTable } from "../../src/schema/key-catalog.ts";
import { quoteName, quoteTable } from "../../src/schema/names.ts";
import { Session } from "../../src/wire/session.ts";
import { query, withConnection } from "./servers.ts";

/** What every server since MySQL 5.6 understands. */
const COMMON = [
  "CREATE DATABASE parsed DEFAULT CHARACTER SET latin1",
  "CREATE DATABASE `od``d` DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci",
  "USE parsed",
  `CREATE TABLE types(a TINYINT(1), b SMALLINT UNSIGNED, c MEDIUMINT ZEROFILL, d INT NOT NULL, e BIGINT, f DECIMAL(10,2) UNSIGNED, g FLOAT, h DOUBLE(10,3),
     i BIT(5), j YEAR, k DATE, l TIME(3), m DATETIME DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, n TIMESTAMP(6) NULL, o CHAR(5), p VARCHAR(30), q TINYTEXT,
     r TEXT, s MEDIUMTEXT, t LONGTEXT, u BINARY(3), v VARBINARY(30), w TINYBLOB, x BLOB, y MEDIUMBLOB, z LONGBLOB, aa ENUM('a','it''s','x,y)','\\\\'), bb SET('a','long'),
     cc POINT, dd GEOMETRY, ee BOOLEAN, ff DOUBLE PRECISION, gg NUMERIC(5), hh INTEGER, ii REAL, jj NCHAR(3), kk GEOMETRYCOLLECTION)`,
  `CREATE TABLE texts(id INT AUTO_INCREMENT PRIMARY KEY, a VARCHAR(10) CHARACTER SET utf8, b VARCHAR(10) CHARACTER SET utf8 COLLATE utf8_bin, c TEXT CHARACTER SET utf8mb4,
     d CHAR(3) COLLATE latin1_bin, e ENUM('é','日本') CHARACTER SET utf8mb4, f SET('é','日本') CHARACTER SET ucs2, g VARCHAR(9) CHARACTER SET binary, h VARCHAR(9) CHARACTER SET gbk,
     i VARCHAR(9) CHARACTER SET cp1251 COLLATE cp1251_general_cs) DEFAULT CHARSET=latin1`,
  "CREATE TABLE in_binary(a VARCHAR(3) CHARACTER SET latin1, b CHAR(3), c TEXT) DEFAULT CHARSET=binary",
  `CREATE TABLE defaults(a VARCHAR(90) DEFAULT 'NOT NULL, PRIMARY KEY (a)' COMMENT 'a ) , \\'b\\' UNIQUE -- ; # /* ', b INT DEFAULT -5, c DECIMAL(5,2) DEFAULT '1.50', d BIT(3) DEFAULT b'101',
     e VARCHAR(9) NOT NULL DEFAULT '', f VARCHAR(9) DEFAULT 'it''s \\\\', g ENUM('AUTO_INCREMENT') DEFAULT 'AUTO_INCREMENT') COMMENT='ENGINE=MyISAM; CREATE TABLE x (a int)'`,
  "CREATE TABLE `odd ``name` (`select` INT PRIMARY KEY, `ünï ``code` VARCHAR(10) UNIQUE, `$&` INT, `key` INT, KEY `a,b` (`key`))",
  "CREATE TABLE keys_of_it(a INT NOT NULL, b VARCHAR(90) NOT NULL, c INT, d TEXT, e BLOB, PRIMARY KEY(a,b), UNIQUE(c,b(10)), UNIQUE d(d(20)), KEY(c), KEY both_ways(a,c), FULLTEXT(b), UNIQUE e(e(7)) USING BTREE)",
  "CREATE TABLE many_keys(a INT UNIQUE, b INT UNIQUE COMMENT 'x', UNIQUE(a), UNIQUE(a,b))",
  "CREATE TABLE my(a INT NOT NULL, b INT, PRIMARY KEY USING HASH (a)) ENGINE=MyISAM",
  "CREATE TABLE mem(a INT NOT NULL, UNIQUE a (a) USING HASH) ENGINE=MEMORY",
  "CREATE TABLE parts(a INT NOT NULL, b INT, PRIMARY KEY(a)) PARTITION BY RANGE(a) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
  "CREATE TABLE hashed(a INT) PARTITION BY HASH(a) PARTITIONS 3",
  "CREATE TABLE parent(a INT PRIMARY KEY, b INT, c INT, UNIQUE bc(b,c))",
  `CREATE TABLE child(id INT PRIMARY KEY, a INT, b INT, c INT, FOREIGN KEY(a) REFERENCES parent(a), CONSTRAINT named FOREIGN KEY(b,c) REFERENCES parent(b,c) ON DELETE CASCADE ON UPDATE SET NULL,
     self INT, CONSTRAINT self FOREIGN KEY(self) REFERENCES child(id) ON DELETE RESTRICT)`,
  "CREATE TABLE `od``d`.other(id INT PRIMARY KEY, a INT, v VARCHAR(9) UNIQUE, FOREIGN KEY(a) REFERENCES parsed.parent(a) ON UPDATE CASCADE)",
  "CREATE VIEW parsed.seen AS SELECT a FROM parent",
  "CREATE TRIGGER parsed.fired BEFORE INSERT ON parent FOR EACH ROW BEGIN SET NEW.b = 1; SET NEW.c = 2; END",
];

export const MYSQL_TABLES = [
  `CREATE TABLE newer(id INT PRIMARY KEY, a INT, v INT AS (a + 1), s VARCHAR(20) GENERATED ALWAYS AS (CONCAT(')', a, ',', "it's")) STORED NOT NULL, hidden INT DEFAULT 5 INVISIBLE, j JSON, d DATE DEFAULT ('2026-01-01'),
     p POINT NOT NULL SRID 4326, UNIQUE(v), UNIQUE falling(a DESC, s), UNIQUE functional((a + 1)), UNIQUE mixed(a, (v * 2) DESC), UNIQUE unseen(s) INVISIBLE, CHECK (a < 10), CONSTRAINT c CHECK (a > -1),
     KEY multi((CAST(j->'$.x' AS UNSIGNED ARRAY))))`,
  "CREATE TABLE c09(a VARCHAR(9), b VARCHAR(9) CHARACTER SET utf8mb4, c VARCHAR(9) COLLATE utf8mb4_0900_as_cs, d VARCHAR(9) CHARACTER SET latin1, vec VECTOR(3)) DEFAULT CHARSET=utf8mb4",
  "CREATE TABLE c09_in_old(a VARCHAR(9), b VARCHAR(9) COLLATE utf8mb4_0900_ai_ci) DEFAULT CHARSET=utf8mb4 COLLATE utf8mb4_general_ci",
  "CREATE TABLE c09_in_latin(a VARCHAR(9), b VARCHAR(9) CHARACTER SET utf8mb4) DEFAULT CHARSET=latin1",
  "SET SESSION sql_generate_invisible_primary_key=ON",
  "CREATE TABLE gipk(a INT)",
  "SET SESSION sql_generate_invisible_primary_key=OFF",
];

export const MARIADB_TABLES = [
  `CREATE TABLE newer(a INT, v INT AS (a + 1) VIRTUAL, s VARCHAR(20) AS (CONCAT(')', a, ',', 'it''s')) PERSISTENT, hidden INT DEFAULT 5 INVISIBLE, j JSON, d DATE DEFAULT (CURDATE() + INTERVAL 1 DAY),
     e VARCHAR(9) DEFAULT CONCAT('x', a), i INET6, u UUID DEFAULT UUID(), z VARCHAR(200) COMPRESSED, UNIQUE(v), UNIQUE long_one(e, s), UNIQUE ignored(a) IGNORED, CHECK (a < 10), CONSTRAINT c CHECK (a > -1))`,
  "CREATE TABLE hash_key(t TEXT, UNIQUE(t))",
  "CREATE TABLE versioned(id INT PRIMARY KEY, b INT) WITH SYSTEM VERSIONING",
  `CREATE TABLE versioned_too(id INT PRIMARY KEY, f TIMESTAMP(6) GENERATED ALWAYS AS ROW START, t TIMESTAMP(6) GENERATED ALWAYS AS ROW END, b INT WITHOUT SYSTEM VERSIONING,
     PERIOD FOR SYSTEM_TIME(f,t)) WITH SYSTEM VERSIONING`,
  "CREATE TABLE overlaps(id INT, f DATE, t DATE, PERIOD FOR p(f,t), UNIQUE(id, p WITHOUT OVERLAPS))",
  "CREATE SEQUENCE counts",
  "CREATE TABLE c_in_old(a VARCHAR(9), b VARCHAR(9) COLLATE utf8mb4_unicode_nopad_ci) DEFAULT CHARSET=utf8mb4",
];

/** The texts of SHOW CREATE TABLE, in the words of a dump. */
async function dumpOf(server: SandboxServer): Promise<string> {
  return withConnection(server, async (connection) => {
    const [tables] = await connection.query<RowDataPacket[]>(
      "SELECT TABLE_SCHEMA s, TABLE_NAME t FROM information_schema.TABLES WHERE TABLE_SCHEMA IN ('parsed','od`d') AND TABLE_TYPE NOT IN ('VIEW','SEQUENCE')",
    );
    let dump = "";
    for (const { s, t } of tables as { s: string; t: string }[]) {
      const [[row]] = await connection.query<RowDataPacket[]>(
        `SHOW CREATE TABLE ${quoteTable({ schema: s, name: t })}`,
      );
      dump += `USE ${quoteName(s)};\n${row?.["Create Table"]};\nINSERT INTO ${quoteName(t)} VALUES (1,'it\\'s; CREATE TABLE x (a int);');\n`;
    }
    return dump;
  });
}

async function schemaOf(server: SandboxServer): Promise<Schema> {
  const session = await Session.connect(server.address);
  try {
    const { flavour } = session.serverVersion;
    if (flavour === "mysql" && session.serverVersion.atLeast(8, 0, 30)) {
      await session.execute("SET SESSION show_gipk_in_create_table_and_information_schema=ON");
    }
    const tables: Table[] = [];
    for (const { schema, name } of await readTables(session)) {
      const table = await readTable(session, schema, name, flavour);
      if (table !== undefined) tables.push(table);
    }
    return { tables, foreignKeys: await readForeignKeys(session) };
  } finally {
    await session.close();
  }
}

/** In one order, and without what only a server knows. */
function comparable({ tables, foreignKeys }: Schema): { tables: Table[]; foreignKeys: ForeignKey[] } {
  const name = (of: { schema: string; name: string }): string => `${of.schema}\0${of.name}`;
  const byName = <T extends { schema: string; name: string }>(list: readonly T[]): T[] =>
    list.toSorted((a, b) => (name(a) < name(b) ? -1 : 1));
  const acts = (action: ForeignKey["onDelete"]): ForeignKey["onDelete"] =>
    action === "RESTRICT" ? "NO ACTION" : action;
  return {
    tables: byName(tables).map((table) => ({
      ...table,
      rowsEstimate: 0,
      bytesEstimate: 0,
      keys: table.keys.toSorted((a: Key, b: Key) => (a.name < b.name ? -1 : 1)),
    })),
    foreignKeys: byName(foreignKeys).map((key) => ({
      ...key,
      onDelete: acts(key.onDelete),
      onUpdate: acts(key.onUpdate),
    })),
  };
}

/** What the parser makes of the server's own texts is what the server's catalog says. */
export function testSchemaDump(server: () => SandboxServer, more: readonly string[] = []): void {
  test("what SHOW CREATE TABLE says and what information_schema says are the same tables and keys", async () => {
    await withConnection(server(), async (connection) => {
      for (const statement of [...COMMON, ...more]) await connection.query(statement);
    });
    const parsed = comparable(parseSchemaDump(await dumpOf(server())));
    const read = comparable(await schemaOf(server()));
    expect(parsed.tables.map(({ name }) => name)).toEqual(read.tables.map(({ name }) => name));
    for (const [index, table] of read.tables.entries()) expect(parsed.tables[index]).toEqual(table);
    expect(parsed.foreignKeys).toEqual(read.foreignKeys);
    expect(parsed.tables.length).toBeGreaterThan(12);
    await query(server(), "DROP DATABASE `od``d`; DROP DATABASE parsed");
  });
}
