import { beforeAll, describe, expect, test } from "vitest";
import { Writesets } from "../../src/engine/writesets.ts";
import { silentLog } from "../../src/base/log.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import type { Writeset } from "../../src/schedule/writeset.ts";
import { query } from "./servers.ts";
import { conflict, equalTexts, transactionsOf, withWritesets, writesetsOf } from "./writesets.ts";

/** Case, accents, expansions, contractions, ignorable characters, characters like a space, and what lies outside the basic plane. */
const TEXTS =
  "Abc|\0|\u00ad|aBC |abc|abc  |ab|ß|ss|SS|s|é|e|E|è|| |a\u00a0|a|a\t|ch|c|h|cH|Ch|cx|ča|ca|Å|A\u030a|a\u0000|a\u00ad"
    .concat(
      "|Žluťoučký kůň|žluťoučký KŮŇ|žluťoučky kun|Ελλάδα|ΕΛΛΆΔΑ|ελλαδα|Привет|привет|ПРИВЕТ |Chůze|chuze|hc|hč|čh|aachen|Aachen|Åchen|éß|esz|日本|ニホン|にほん|👍|👎|ǆ|dž|ﬁ|fi|ae|æ|Ä|ä|AE|ö|oe|ü|ue|ll|l|ñ|n|aa|å|I|i|ı|dzs|ddzs|ccs|cscs",
    )
    .split("|");

function textType(collation: string, type = "VARCHAR(30)"): string {
  return `${type} CHARACTER SET ${collation.split("_")[0]} COLLATE ${collation}`;
}

export function testCollations(server: () => SandboxServer, collations: readonly string[]): void {
  describe("texts that the server calls equal have one hash, and no others", () => {
    test.each(collations)("%s", async (collation) => {
      const { byHash, byServer } = await equalTexts(server(), { type: textType(collation) }, textsOf(collation));
      expect(byHash).toEqual(byServer);
    });
  });
}

/** Where only a collation's first level is known. */
export function testCoarseCollations(server: () => SandboxServer, collations: readonly string[]): void {
  test.each(collations)(
    "texts that the server calls equal have one hash, and a few others too: %s",
    async (collation) => {
      const { byHash, byServer } = await equalTexts(server(), { type: textType(collation) }, textsOf(collation));
      expect(byHash).toEqual(expect.arrayContaining(byServer));
      expect(byHash).not.toContain("opaque");
      // A few: the server tells these by accent or case alone.
      expect(byHash.length).toBeLessThan(8 * byServer.length + 150);
    },
  );
}

function textsOf(collation: string): string[] {
  if (collation.startsWith("latin1")) return TEXTS.filter((text) => /^[\0-\u00ff]*$/.test(text));
  if (collation.startsWith("utf8_")) return TEXTS.filter((text) => /^[\0-\uffff]*$/u.test(text));
  return TEXTS;
}

/** What holds for every flavour and version. The schema is `w`. */
export function testWritesets(server: () => SandboxServer, generated: { virtualKnown: boolean } | undefined): void {
  const run = (...statements: string[]): Promise<Writeset[]> => writesetsOf(server(), ["USE w", ...statements]);

  beforeAll(async () => {
    await query(server(), "CREATE DATABASE w DEFAULT CHARACTER SET utf8mb4");
  });

  test("a row has a hash for each unique key, of key and value; the same value in another key or row is another", async () => {
    const sets = await run(
      "CREATE TABLE keyed(a INT PRIMARY KEY, b INT NOT NULL UNIQUE, c INT, KEY(c))",
      "INSERT INTO keyed VALUES (1,2,5)",
      "INSERT INTO keyed VALUES (2,1,5)",
      "UPDATE keyed SET c=6 WHERE a=1",
      "UPDATE keyed SET b=3 WHERE a=1",
      "DELETE FROM keyed WHERE a=2",
      "INSERT INTO keyed VALUES (7,1,5)",
    );
    expect(told(sets)).toEqual(["2w", "2w", "2w", "3w", "2w", "2w"]);
    expect(conflicts(sets)).toEqual(["0-2", "0-3", "1-4", "1-5", "2-3", "4-5"]);
  });

  test("NULL in any part takes the key away; a row without any key left, or in a table without one, goes by commit order", async () => {
    const sets = await run(
      "CREATE TABLE nulls(id INT PRIMARY KEY, a INT, b INT, UNIQUE(a,b))",
      "CREATE TABLE nullable(a INT UNIQUE)",
      "CREATE TABLE keyless(a INT)",
      "INSERT INTO nulls VALUES (1,NULL,1)",
      "INSERT INTO nulls VALUES (2,1,1)",
      "UPDATE nulls SET a=2 WHERE id=1",
      "INSERT INTO nullable VALUES (NULL)",
      "UPDATE nullable SET a=1",
      "DELETE FROM nullable",
      "INSERT INTO keyless VALUES (1)",
      "INSERT INTO nulls VALUES (5,5,5),(6,NULL,5)",
    );
    expect(told(sets)).toEqual(["1w", "2w", "2w", "0w fallback", "1w fallback", "1w", "0w fallback", "3w"]);
  });

  test("values are compared as the server compares them, whatever the log cuts off or adds", async () => {
    const sets = await run(
      "CREATE TABLE bin(a BINARY(4) PRIMARY KEY, UNIQUE(a), UNIQUE p(a(3)))",
      "CREATE TABLE varbin(a VARBINARY(4) PRIMARY KEY)",
      `CREATE TABLE chars(a ${textType("latin1_general_cs", "CHAR(10)")} NOT NULL, UNIQUE p(a(3)))`,
      "CREATE TABLE reals(a FLOAT NOT NULL, b DOUBLE NOT NULL, PRIMARY KEY(a), UNIQUE(b))",
      "INSERT INTO bin VALUES (X'01020000')",
      "DELETE FROM bin",
      "INSERT INTO bin VALUES (X'01020001')",
      "INSERT INTO varbin VALUES (X'0102')",
      "INSERT INTO varbin VALUES (X'01020000')",
      "INSERT INTO chars VALUES ('ab')",
      "DELETE FROM chars",
      "INSERT INTO chars VALUES ('ab  x')",
      "INSERT INTO reals VALUES (0,0)",
      "DELETE FROM reals",
      "INSERT INTO reals VALUES (-1*0e0,-1*0e0)",
    );
    expect(sets.some(({ opaque, fallback }) => opaque || fallback)).toBe(false);
    expect(conflicts(sets)).toEqual(["0-1", "0-2", "1-2", "5-6", "5-7", "6-7", "8-9", "8-10", "9-10"]);
  });

  test("a value's hash does not depend on how long its column may be", async () => {
    const sets = await run(
      `CREATE TABLE lengths(a ${textType("utf8mb4_general_ci", "VARCHAR(30)")} PRIMARY KEY, b VARBINARY(30) NOT NULL UNIQUE)`,
      "INSERT INTO lengths VALUES ('Some text','x')",
      "DELETE FROM lengths",
      `ALTER TABLE lengths MODIFY a ${textType("utf8mb4_general_ci", "VARCHAR(180)")}, MODIFY b VARBINARY(300) NOT NULL`,
      "INSERT INTO lengths VALUES ('some TEXT','x')",
    );
    expect(told(sets)).toEqual(["2w", "2w", "2w"]);
    expect(new Set(sets[0]?.writes)).toEqual(new Set(sets[2]?.writes));
  });

  test.each([
    ["utf8mb4_general_ci", "VARCHAR(20)", 3],
    ["utf8mb4_bin", "TEXT", 2],
    ["latin1_german2_ci", "VARCHAR(20)", 3],
    ["ucs2_general_ci", "VARCHAR(20)", 3],
    ["utf16_general_ci", "TEXT", 2],
    ["utf32_general_ci", "VARCHAR(20)", 3],
  ])("prefixes are of characters: %s %s, %i of them", async (collation, type, prefix) => {
    const texts = [
      "abcd",
      "ABCE",
      "ab",
      "ab  x",
      "é日本",
      "É日x",
      "éx",
      "日本x",
      "日本y",
      "日x",
      "👍👍x",
      "👍👍y",
      "👍👎",
      "ßa",
      "ssa",
      "ssb",
    ];
    const some = collation.startsWith("latin1")
      ? texts.filter((text) => /^[\0-\u00ff]*$/.test(text))
      : collation.startsWith("ucs2")
        ? texts.filter((text) => /^[\0-\uffff]*$/u.test(text))
        : texts;
    const { byHash, byServer } = await equalTexts(server(), { type: textType(collation, type), prefix }, some);
    expect(byHash).toEqual(byServer);
    expect(byServer.length).toBeGreaterThan(0);
  });

  test("a column of any type can be part of a key", async () => {
    const types = [
      "TINYINT",
      "SMALLINT UNSIGNED",
      "MEDIUMINT",
      "INT",
      "BIGINT UNSIGNED",
      "DECIMAL(20,5)",
      "BIT(13)",
      "YEAR",
      "DATE",
      "TIME",
      "TIME(3)",
      "DATETIME",
      "DATETIME(6)",
      "TIMESTAMP",
      "TIMESTAMP(2)",
      "ENUM('1','2')",
      "SET('1','2','3')",
      "CHAR(3)",
      "VARCHAR(300)",
      "BINARY(3)",
    ];
    for (const type of types) {
      const value = /DATE|TIMES/.test(type)
        ? "'2026-07-05'"
        : type === "YEAR"
          ? "2026"
          : type.startsWith("BIT")
            ? "b'11'"
            : "'1'";
      const name = type.replaceAll(/\W/g, "_");
      const sets = await run(
        `CREATE TABLE type_${name}(a ${type} NOT NULL${type.startsWith("TIMES") ? " DEFAULT '2000-01-01'" : ""}, b INT, UNIQUE(a${type === "VARCHAR(300)" ? "(100)" : ""}))`,
        `INSERT INTO type_${name} VALUES (${value},1)`,
        `UPDATE type_${name} SET b=2`,
      );
      expect([type, ...told(sets)]).toEqual([type, "1w", "1w"]);
      expect(sets[0]?.writes).toEqual(sets[1]?.writes);
    }
  });

  test("what an image leaves out is opaque where it may be a key's, and only there", async () => {
    const sets = await run(
      "CREATE TABLE part(id INT AUTO_INCREMENT PRIMARY KEY, u INT UNIQUE, x INT, t TEXT)",
      "CREATE TABLE defaults(id INT DEFAULT 5 PRIMARY KEY)",
      "SET SESSION binlog_row_image=MINIMAL",
      "INSERT INTO part VALUES (1,1,1,'')",
      "INSERT INTO part(id,u,x) VALUES (2,2,2)",
      "INSERT INTO part(id,x) VALUES (3,3)",
      "UPDATE part SET x=5 WHERE id=1",
      "UPDATE part SET u=5 WHERE id=1",
      "DELETE FROM part WHERE id=1",
      "INSERT INTO defaults() VALUES ()",
      "SET SESSION binlog_row_image=NOBLOB",
      "UPDATE part SET x=6 WHERE id=2",
      "UPDATE part SET u=6 WHERE id=2",
      "DELETE FROM part WHERE id=2",
    );
    expect(told(sets)).toEqual([
      "2w",
      "2w",
      "1w opaque",
      "1w",
      "2w opaque",
      "1w opaque",
      "0w fallback opaque",
      "2w",
      "3w",
      "2w",
    ]);
  });

  test("a composite key is completed from the before-image", async () => {
    const sets = await run(
      "CREATE TABLE composite(a INT, b INT, x INT, PRIMARY KEY(a,b))",
      "SET SESSION binlog_row_image=MINIMAL",
      "INSERT INTO composite VALUES (1,1,1)",
      "UPDATE composite SET b=2 WHERE a=1",
      "UPDATE composite SET a=1,b=3 WHERE a=1",
    );
    expect(told(sets)).toEqual(["1w", "2w", "2w"]);
    expect(conflicts(sets)).toEqual(["0-1", "1-2"]);
  });

  test("children read their parents' keys: ordered with what makes those come and go, not with each other; where they come, with all that changes the parent", async () => {
    const sets = await run(
      "CREATE TABLE parent(id INT PRIMARY KEY, x INT) ENGINE=InnoDB",
      "CREATE TABLE child(id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent(id)) ENGINE=InnoDB",
      "CREATE TABLE loose(p INT, x INT, FOREIGN KEY (p) REFERENCES parent(id)) ENGINE=InnoDB",
      "INSERT INTO parent VALUES (1,1),(2,2)",
      "INSERT INTO child VALUES (1,1)",
      "INSERT INTO child VALUES (2,1)",
      "INSERT INTO child VALUES (3,NULL)",
      "UPDATE child SET p=2 WHERE id=2",
      "UPDATE parent SET x=3 WHERE id=1",
      "DELETE FROM child WHERE id=1",
      "DELETE FROM parent WHERE id=1",
      "INSERT INTO loose VALUES (2,1)",
      "UPDATE loose SET x=2",
    );
    const loose = ["0w1r fallback", "0w1r fallback"];
    expect(told(sets)).toEqual(["4w", "1w1r", "1w1r", "1w", "1w2r", "1w", "1w1r", "2w", ...loose]);
    expect(conflicts(sets.slice(0, 8))).toEqual([
      "0-1",
      "0-2",
      "0-4",
      "0-5",
      "0-6",
      "0-7",
      "1-5",
      "1-6",
      "1-7",
      "2-4",
      "2-5",
      "2-7",
      "4-7",
      "5-7",
      "6-7",
    ]);
  });

  test("a parent's change that the server carries on to children is opaque", async () => {
    const sets = await run(
      "CREATE TABLE p(id INT PRIMARY KEY, k INT NOT NULL UNIQUE, n INT NOT NULL, x INT, KEY(n)) ENGINE=InnoDB",
      "CREATE TABLE c1(id INT PRIMARY KEY, k INT, FOREIGN KEY (k) REFERENCES p(k) ON DELETE CASCADE) ENGINE=InnoDB",
      "CREATE TABLE c2(id INT PRIMARY KEY, i INT, FOREIGN KEY (i) REFERENCES p(id) ON UPDATE SET NULL) ENGINE=InnoDB",
      "INSERT INTO p VALUES (1,1,1,1),(2,2,2,2)",
      "INSERT INTO c1 VALUES (1,1)",
      "UPDATE p SET x=5 WHERE id=1",
      "UPDATE p SET k=5 WHERE id=2",
      "UPDATE p SET id=6 WHERE id=2",
      "DELETE FROM p WHERE id=1",
    );
    expect(told(sets).slice(0, -1)).toEqual(["8w", "1w1r", "2w", "5w", "5w opaque"]);
    // MySQL since 9.6 logs the children that it deletes as well.
    expect(told(sets).at(-1)).toMatch(/opaque/);
  });

  test("a foreign key to columns that are no unique key, to its own table, and in another case", async () => {
    const sets = await run(
      `CREATE TABLE pn(id INT PRIMARY KEY, a ${textType("utf8mb4_general_ci", "VARCHAR(20)")}, b INT, KEY(a,b)) ENGINE=InnoDB`,
      `CREATE TABLE cn(id INT PRIMARY KEY, z INT, y ${textType("utf8mb4_general_ci", "VARCHAR(170)")}, FOREIGN KEY (y) REFERENCES pn(a)) ENGINE=InnoDB`,
      "CREATE TABLE tree(id INT PRIMARY KEY, up INT, FOREIGN KEY (up) REFERENCES tree(id)) ENGINE=InnoDB",
      "INSERT INTO pn VALUES (1,'Key',1)",
      "INSERT INTO pn VALUES (2,'key',1)",
      "INSERT INTO cn VALUES (1,1,'KEY ')",
      "UPDATE pn SET b=2 WHERE id=2",
      "INSERT INTO tree VALUES (1,NULL)",
      "INSERT INTO tree VALUES (2,1)",
      "INSERT INTO tree VALUES (3,2)",
    );
    expect(told(sets)).toEqual(["2w", "2w", "1w1r", "1w", "2w", "2w1r", "2w1r"]);
    expect(conflicts(sets)).toEqual(["0-1", "0-2", "1-2", "1-3", "4-5", "5-6"]);
  });

  if (generated !== undefined) {
    test("generated columns in keys are known where the log has them, otherwise opaque", async () => {
      const sets = await run(
        "CREATE TABLE gs(id INT PRIMARY KEY, a INT, s INT AS (a+1) STORED, UNIQUE(s))",
        "CREATE TABLE gv(id INT PRIMARY KEY, a INT, v INT AS (a+1) VIRTUAL, x INT, UNIQUE(v))",
        "INSERT INTO gs(id,a) VALUES (1,1)",
        "UPDATE gs SET a=2",
        "DELETE FROM gs",
        "INSERT INTO gv(id,a) VALUES (1,1)",
        "UPDATE gv SET a=2",
        "UPDATE gv SET x=2",
        "DELETE FROM gv",
        "SET SESSION binlog_row_image=MINIMAL",
        "INSERT INTO gv(id,a) VALUES (1,1)",
        "UPDATE gv SET a=2",
        "DELETE FROM gv",
      );
      expect(told(sets).slice(0, 3)).toEqual(["2w", "3w", "2w"]);
      if (generated.virtualKnown) expect(told(sets).slice(3, 7)).toEqual(["2w", "3w", "2w", "2w"]);
      else expect(sets.slice(3, 7).every(({ opaque }) => opaque)).toBe(true);
      expect(sets.slice(8).every(({ opaque }) => opaque)).toBe(true);
    });
  }

  test("statements, mixed transactions and tables that the target does not have are opaque; what changes nothing is empty", async () => {
    const transactions = await transactionsOf(server(), [
      "USE w",
      "CREATE TABLE gone(a INT PRIMARY KEY)",
      "CREATE TABLE wide(a INT PRIMARY KEY, b INT)",
      "INSERT INTO gone VALUES (1)",
      "INSERT INTO wide VALUES (1,1)",
      "DROP TABLE gone",
      "ALTER TABLE wide DROP COLUMN b",
      "INSERT INTO wide VALUES (2)",
      "ALTER TABLE wide ADD COLUMN b INT, ADD COLUMN c INT",
    ]);
    await withWritesets(server(), "xxhash64", async (writesets) => {
      const sets: string[] = [];
      for (const transaction of transactions) sets.push(...told([await writesets.of(transaction)]));
      const opaque = "0w fallback opaque";
      expect(sets).toEqual([opaque, opaque, "0w opaque", "1w", opaque, opaque, "1w", opaque]);
    });
  });

  test("once tables are known the answer comes at once, until the schema is forgotten; a stop ends what waits", async () => {
    const [, insert] = await transactionsOf(server(), [
      "CREATE TABLE w.sync(a INT PRIMARY KEY)",
      "INSERT INTO w.sync VALUES (1)",
      "ALTER TABLE w.sync ADD COLUMN b INT NOT NULL UNIQUE FIRST",
    ]);
    if (insert === undefined) throw new Error("no insert");
    await withWritesets(server(), "murmur32", async (writesets, session) => {
      const first = await writesets.of(insert);
      expect(writesets.of(insert)).toEqual(first);
      await session.execute("ALTER TABLE w.sync DROP COLUMN b");
      expect(writesets.of(insert)).toEqual(first);
      writesets.forget();
      const again = await writesets.of(insert);
      expect(again.writes).not.toEqual(first.writes);

      const controller = new AbortController();
      session.destroy();
      const stopping = new Writesets({
        session: () => session,
        hash: "xxhash64",
        log: silentLog,
        signal: controller.signal,
      });
      const waiting = Promise.resolve(stopping.of(insert));
      setTimeout(() => controller.abort(), 50);
      await expect(waiting).rejects.toThrow(expect.objectContaining({ code: "STOPPED" }));
    });
  });
}

const told = (sets: readonly Writeset[]): string[] =>
  sets.map(({ writes, reads, fallback, opaque }) =>
    [
      `${new Set(writes).size}w${reads.length > 0 ? `${new Set(reads).size}r` : ""}`,
      fallback && "fallback",
      opaque && "opaque",
    ]
      .filter((word) => word !== false)
      .join(" "),
  );

const conflicts = (sets: readonly Writeset[]): string[] =>
  sets.flatMap((a, i) => sets.flatMap((b, j) => (i < j && conflict(a, b) ? [`${i}-${j}`] : [])));
