import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseSchemaDump } from "./dump.ts";

/** As mysqldump of 8.0 writes it, shortened. */
const DUMP = `-- MySQL dump 10.13  Distrib 8.0.36, for Linux (x86_64)
--
-- Host: localhost    Database: shop
-- ------------------------------------------------------
-- Server version\t8.0.36

/*!40101 SET @OLD_CHARACTER_SET_CLIENT=@@CHARACTER_SET_CLIENT */;
/*!40000 DROP DATABASE IF EXISTS \`shop\`*/;
CREATE DATABASE /*!32312 IF NOT EXISTS*/ \`shop\` /*!40100 DEFAULT CHARACTER SET latin1 COLLATE latin1_german1_ci */ /*!80016 DEFAULT ENCRYPTION='N' */;
USE \`shop\`;
DROP TABLE IF EXISTS \`orders\`;
/*!40101 SET @saved_cs_client     = @@character_set_client */;
/*!50503 SET character_set_client = utf8mb4 */;
CREATE TABLE \`orders\` (
  \`id\` int unsigned NOT NULL AUTO_INCREMENT,
  \`customer\` varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_ai_ci NOT NULL DEFAULT 'a''b, PRIMARY KEY (\`x\`)',
  \`state\` enum('new','sent; CREATE TABLE y (a int)') DEFAULT 'new' COMMENT 'it\\'s; -- not /* a comment',
  \`total\` int GENERATED ALWAYS AS ((\`id\` * 2)) VIRTUAL,
  \`secret\` int DEFAULT NULL /*!80023 INVISIBLE */,
  PRIMARY KEY (\`id\`),
  UNIQUE KEY \`by_customer\` (\`customer\`(5) DESC,\`state\`) /*!80000 INVISIBLE */,
  UNIQUE KEY \`by_sum\` (((\`id\` + 1))),
  CONSTRAINT \`to_customer\` FOREIGN KEY (\`customer\`) REFERENCES \`crm\`.\`customers\` (\`name\`) ON DELETE CASCADE,
  CONSTRAINT \`orders_chk_1\` CHECK ((\`id\` > 0))
) ENGINE=InnoDB AUTO_INCREMENT=7 DEFAULT CHARSET=latin1
/*!50100 PARTITION BY RANGE (\`id\`)
(PARTITION p0 VALUES LESS THAN (10) ENGINE = InnoDB,
 PARTITION p1 VALUES LESS THAN MAXVALUE ENGINE = InnoDB) */;
/*!40101 SET character_set_client = @saved_cs_client */;
LOCK TABLES \`orders\` WRITE;
/*!40000 ALTER TABLE \`orders\` DISABLE KEYS */;
INSERT INTO \`orders\` VALUES (1,'it''s \\\\','new',2,NULL),(2,'\\';
CREATE TABLE z (a int);','new',4,-1); -- DROP
/*!40000 ALTER TABLE \`orders\` ENABLE KEYS */;
UNLOCK TABLES;
/*!50003 SET sql_mode              = '' */ ;
DELIMITER ;;
/*!50003 CREATE*/ /*!50017 DEFINER=\`root\`@\`%\`*/ /*!50003 TRIGGER \`t\` BEFORE INSERT ON \`orders\` FOR EACH ROW BEGIN
  CREATE TEMPORARY TABLE a (b int); SET NEW.id = 1;
END */;;
CREATE DEFINER=\`root\`@\`%\` PROCEDURE \`p\`()
BEGIN
  SELECT 1;
  CREATE TABLE inside (a int);
END ;;
DELIMITER ;
/*!50001 CREATE TABLE \`seen\` (
  \`id\` tinyint NOT NULL
) ENGINE=MyISAM */;
/*!50001 DROP TABLE IF EXISTS \`seen\`*/;
/*!50001 CREATE ALGORITHM=UNDEFINED */
/*!50001 VIEW \`seen\` AS select \`orders\`.\`id\` AS \`id\` from \`orders\` */;
CREATE TABLE \`plain\` (a int, b varchar(3));
-- Dump completed
`;

describe("a dump", () => {
  test("has its tables, whatever else is in it", () => {
    const { tables, foreignKeys } = parseSchemaDump(DUMP);
    expect(tables.map(({ schema, name }) => `${schema}.${name}`)).toEqual(["shop.orders", "shop.plain"]);
    expect(tables[0]).toMatchObject({ engine: "InnoDB", collation: "latin1_swedish_ci", partitioned: true });
    expect(tables[0]?.columns.map(({ name, columnType }) => [name, columnType])).toEqual([
      ["id", "int unsigned"],
      ["customer", "varchar(20)"],
      ["state", "enum('new','sent; CREATE TABLE y (a int)')"],
      ["total", "int"],
      ["secret", "int"],
    ]);
    expect(tables[0]?.columns.map(({ generated, invisible, nullable }) => [generated, invisible, nullable])).toEqual([
      ["no", false, false],
      ["no", false, false],
      ["no", false, true],
      ["virtual", false, true],
      ["no", true, true],
    ]);
    expect(tables[0]?.keys).toEqual([
      {
        name: "PRIMARY",
        unique: true,
        hidden: false,
        columns: [{ name: "id", prefix: undefined, nullable: false, descending: false }],
      },
      {
        name: "by_customer",
        unique: true,
        hidden: true,
        columns: [
          { name: "customer", prefix: 5, nullable: false, descending: true },
          { name: "state", prefix: undefined, nullable: true, descending: false },
        ],
      },
      {
        name: "by_sum",
        unique: true,
        hidden: false,
        columns: [{ name: undefined, prefix: undefined, nullable: true, descending: false }],
      },
    ]);
    expect(foreignKeys).toEqual([
      {
        name: "to_customer",
        schema: "shop",
        table: "orders",
        columns: ["customer"],
        parentSchema: "crm",
        parentTable: "customers",
        parentColumns: ["name"],
        onDelete: "CASCADE",
        onUpdate: "NO ACTION",
      },
    ]);
  });

  test("of one schema names it in its head, and what has no character set has the schema's, or the server's", () => {
    expect(parseSchemaDump(DUMP).tables[1]?.columns[1]?.collation).toBe("latin1_german1_ci");
    const head = "-- Host: localhost    Database: crm\n-- Server version\t";
    const of = (version: string): unknown[] => {
      const [table] = parseSchemaDump(`${head}${version}\nCREATE TABLE t (a varchar(3));`).tables;
      return [table?.schema, table?.collation];
    };
    expect(of("5.6.51-log")).toEqual(["crm", "latin1_swedish_ci"]);
    expect(of("8.4.0")).toEqual(["crm", "utf8mb4_0900_ai_ci"]);
    expect(of("10.11.6-MariaDB")).toEqual(["crm", "latin1_swedish_ci"]);
    expect(of("11.8.2-MariaDB")).toEqual(["crm", "utf8mb4_uca1400_ai_ci"]);
  });

  test("may be cut off anywhere, or have anything in it", () => {
    fc.assert(
      fc.property(fc.nat(DUMP.length), fc.nat(DUMP.length), fc.string({ maxLength: 5 }), (from, length, other) => {
        const broken = DUMP.slice(0, from) + other + DUMP.slice(from + (length % 40));
        expect(parseSchemaDump(broken).tables.length).toBeLessThan(8);
        parseSchemaDump(DUMP.slice(0, length));
      }),
    );
  });
});

const namesOf = (sql: string): string[] =>
  parseSchemaDump(sql).tables.map(
    ({ schema, name, keys }) => `${schema}.${name}(${keys.map((key) => key.name).join(",")})`,
  );

describe("other texts", () => {
  test("of SHOW CREATE TABLE, one behind the other without a delimiter, or as a client shows columns as lines", () => {
    expect(
      namesOf(
        "CREATE TABLE `a` (\n  `x` int,\n  PRIMARY KEY (`x`)\n) ENGINE=InnoDB\nCREATE TABLE `b` (\n  `x` int\n)\n",
      ),
    ).toEqual([".a(PRIMARY)", ".b()"]);
    const lines = (row: number, name: string): string =>
      `*************************** ${row}. row ***************************\n       Table: ${name}\nCreate Table: CREATE TABLE \`${name}\` (\n  \`x\` int,\n  UNIQUE KEY \`x\` (\`x\`)\n) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4\n`;
    expect(namesOf(lines(1, "a") + lines(1, "b"))).toEqual([".a(x)", ".b(x)"]);
  });

  test("keys behind the tables", () => {
    expect(
      namesOf(
        "CREATE TABLE s.t (a int, b int);\nALTER TABLE s.t\n  ADD PRIMARY KEY (a),\n  ADD UNIQUE KEY `u` (`b`), ADD KEY k (b);\nALTER TABLE s.t MODIFY a int;\nCREATE UNIQUE INDEX v ON s.t (b);",
      ),
    ).toEqual(["s.t(PRIMARY,u,k,v)"]);
  });

  test("written by hand: synonyms, keys beside columns, keys without a name, double quotes", () => {
    const [table] = parseSchemaDump(
      `create table "t" ("id" SERIAL, a INTEGER PRIMARY KEY, b CHARACTER VARYING(3) UNIQUE, c DOUBLE PRECISION NOT NULL, d ENUM('x', 'y'), e NATIONAL CHAR(2), UNIQUE (c), UNIQUE INDEX (c, a));`,
    ).tables;
    expect(table?.columns.map(({ name, dataType, nullable }) => [name, dataType, nullable])).toEqual([
      ["id", "bigint", false],
      ["a", "int", false],
      ["b", "varchar", true],
      ["c", "double", false],
      ["d", "enum", true],
      ["e", "char", true],
    ]);
    expect(table?.keys.map(({ name, unique }) => [name, unique])).toEqual([
      ["id", true],
      ["PRIMARY", true],
      ["b", true],
      ["c", true],
      ["c_2", true],
    ]);
  });

  test("a table made again is the later one, and a copy of another is none", () => {
    expect(
      namesOf(
        "USE s; CREATE TABLE t (a int, UNIQUE x (a)); CREATE OR REPLACE TABLE t (a int); CREATE TABLE IF NOT EXISTS u LIKE t; CREATE TEMPORARY TABLE v (a int); CREATE TABLE w SELECT 1;",
      ),
    ).toEqual(["s.t()"]);
  });
});
