import { beforeAll, describe, expect, test } from "vitest";
import type { SandboxServer } from "../src/sandbox/start.ts";
import { Session } from "../src/wire/session.ts";
import { expectedPlaces } from "./helpers/assemble.ts";
import { rows, run, withSession } from "./helpers/channel.ts";
import { type Field, Link, RELAXED, useFields } from "./helpers/field-cases.ts";
import { useServer } from "./helpers/servers.ts";

// Events that broke somebody's tool. MySQL 9.7 has a third target, on which its transactions keep their GTIDs.
const keeps = useServer("mysql-9.7", { options: RELAXED });
const fields = useFields({
  "mysql-9.7": ["mysql-9.7", "mariadb-10.11"],
  "mysql-5.6": ["mysql-9.7"],
  "mariadb-10.11": ["mariadb-10.11", "mysql-9.7"],
});
const field = (flavour: Field["flavour"]): Field => fields.find((one) => one.flavour === flavour) as Field;
const mysql = field("mysql-9.7");
const mariadb = field("mariadb-10.11");

mysql.links.push(
  new Link("MySQL 9.7 to MySQL 9.7, GTIDs kept", mysql.source, keeps, { gtid: "preserve", startFrom: undefined }),
);

beforeAll(async () => {
  for (const from of fields) {
    const { source, schema } = from;
    await run(source(), `CREATE TABLE ${schema}.t(id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(3000), n INT)`);
    await settle(from);
  }
});

/** Every transaction of the source's that the target has kept the GTID of: none missing, none more. */
async function expectKeptGtids(): Promise<void> {
  const ofSource = async (server: () => SandboxServer): Promise<string[]> => {
    const uuid = String(await mysql.value("SELECT @@server_uuid"));
    const executed = (await rows(server(), "SELECT @@GLOBAL.gtid_executed"))[0]?.[0] ?? "";
    return executed.split(/,\s*/).filter((part) => part.startsWith(uuid));
  };
  expect(await ofSource(keeps)).toEqual(await ofSource(mysql.source));
}

async function settle(from: Field): Promise<void> {
  for (const link of from.links) await link.settle();
}

async function restart(from: Field): Promise<void> {
  for (const link of from.links) await link.restart();
}

/** A session in the field's schema. */
async function inSchema(from: Field, work: (session: Session) => Promise<void>): Promise<void> {
  for (const link of from.links) await link.ensure();
  await withSession(from.source(), async (session) => {
    await session.execute(`USE ${from.schema}`);
    await work(session);
  });
}

/** What the target has as the resume point lies between two transactions of the source. */
async function expectResumePointsBetweenTransactions(from: Field): Promise<void> {
  const ends = new Set(
    (await expectedPlaces(from.source())).map((place) => place.replace(/^\S+ (\S+) \d+-(\d+)$/, "$1 $2")),
  );
  for (const link of from.links) {
    const points = await rows(
      link.target(),
      `SELECT CONCAT(source_file, ' ', source_position) FROM abreast.checkpoint WHERE channel='${link.options.channel}'`,
    );
    for (const [point] of points) expect(ends, `${link.name}: ${point}`).toContain(point);
  }
}

describe("compressed events", () => {
  test("compressed and plain transactions, interleaved, arrive whole, and the engine never stops inside one (MySQL)", async () => {
    await inSchema(mysql, (compressed) =>
      inSchema(mysql, async (plain) => {
        await compressed.execute("SET SESSION binlog_transaction_compression=ON");
        for (let n = 0; n < 20; n++) {
          await compressed.execute(
            `BEGIN; INSERT INTO t(v,n) VALUES(REPEAT('c',2000),${n}),(REPEAT('d',2000),${n}); UPDATE t SET n=n+1 ORDER BY id LIMIT 3; COMMIT`,
          );
          await plain.execute(`INSERT INTO t(v,n) VALUES('p',${n})`);
          await plain.execute(`UPDATE t SET n=n+1 WHERE n=${n}`);
          if (n % 7 === 3) {
            await restart(mysql);
            await expectResumePointsBetweenTransactions(mysql);
          }
        }
        await compressed.execute(
          "INSERT INTO t(v,n) WITH RECURSIVE s AS (SELECT 1 i UNION ALL SELECT i+1 FROM s WHERE i<900) SELECT REPEAT('x',1000), i FROM s",
        );
        await compressed.execute("CREATE TABLE compressed_ddl(id INT PRIMARY KEY) COMMENT='x'");
        await compressed.execute("SET SESSION binlog_format=STATEMENT");
        await compressed.execute("BEGIN; INSERT INTO t(v,n) VALUES('s',1); UPDATE t SET n=n+1; COMMIT");
      }),
    );
    await mysql.replicate();
    await expectKeptGtids();
    expect(Number(await mysql.value(`SELECT COUNT(*) FROM ${mysql.schema}.t`))).toBe(961);
  });

  test("log_bin_compress: statements, long values and DDL arrive as they were (MariaDB)", async () => {
    await run(mariadb.source(), "SET GLOBAL log_bin_compress=1", "SET GLOBAL log_bin_compress_min_len=10");
    try {
      await mariadb.replicate(
        `CREATE TABLE squeezed(id INT PRIMARY KEY, v VARCHAR(3000), b BLOB) COMMENT='${"long ".repeat(200)}'`,
        "INSERT INTO squeezed VALUES(1,REPEAT('a',3000),REPEAT(X'00',3000)),(2,REPEAT('ab',1500),NULL),(3,'','')",
        "UPDATE squeezed SET v=REPEAT('b',3000), b=REPEAT(X'FF',60000) WHERE id<3",
        "DELETE FROM squeezed WHERE id=3",
        "SET SESSION binlog_format=STATEMENT",
        `INSERT INTO squeezed VALUES(4,'${"s".repeat(3000)}','x')`,
        "BEGIN",
        `UPDATE squeezed SET v=CONCAT('${"u".repeat(100)}',id)`,
        "INSERT INTO squeezed VALUES(5,'','')",
        "COMMIT",
        `ALTER TABLE squeezed ADD COLUMN c INT DEFAULT 5 COMMENT '${"comment ".repeat(100)}'`,
      );
      await restart(mariadb);
      await mariadb.replicate("UPDATE squeezed SET c=id");
    } finally {
      await run(mariadb.source(), "SET GLOBAL log_bin_compress=0", "SET GLOBAL log_bin_compress_min_len=DEFAULT");
    }
  });
});

describe("two-phase ALTER (MariaDB)", () => {
  test("it runs once, at its COMMIT", async () => {
    await mariadb.replicate(
      "CREATE TABLE two(id INT PRIMARY KEY, v INT)",
      "INSERT INTO two VALUES(1,1),(2,1)",
      "SET SESSION binlog_alter_two_phase=1",
      "ALTER TABLE two ADD COLUMN c INT, ALGORITHM=COPY",
      "UPDATE two SET c=id",
    );
    await mariadb.expectRows("SELECT * FROM two ORDER BY id", [
      ["1", "1", "1"],
      ["2", "1", "2"],
    ]);
  });

  test("one that fails changes nothing, and both of its GTIDs count", async () => {
    await inSchema(mariadb, async (session) => {
      await session.execute("SET SESSION binlog_alter_two_phase=1");
      await expect(session.execute("ALTER TABLE two ADD UNIQUE(v), ALGORITHM=COPY")).rejects.toThrow("Duplicate entry");
    });
    await mariadb.replicate("INSERT INTO two VALUES(3,1,3)");
    await restart(mariadb);
    await mariadb.replicate("INSERT INTO two VALUES(4,1,4)");
    await mariadb.expectRows(
      "SELECT COUNT(*) FROM information_schema.STATISTICS WHERE TABLE_SCHEMA=DATABASE() AND TABLE_NAME='two'",
      [["1"]],
    );
    await mariadb.expectRows("SELECT COUNT(*) FROM two", [["4"]]);
  });

  test("the engine may restart between the two halves", async () => {
    await inSchema(mariadb, (blocker) =>
      inSchema(mariadb, async (session) => {
        await session.execute("SET SESSION binlog_alter_two_phase=1");
        await blocker.execute("BEGIN; SELECT * FROM two");
        const before = await mariadb.value("SELECT @@gtid_binlog_pos");
        // Copies, having logged its START, and waits for the reader before it puts the copy in place.
        const alter = session.execute("ALTER TABLE two ADD COLUMN d INT DEFAULT 8, ALGORITHM=COPY");
        while ((await mariadb.value("SELECT @@gtid_binlog_pos")) === before) {
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        await settle(mariadb);
        await restart(mariadb);
        await mariadb.run(["INSERT INTO t(v) VALUES('between')"]);
        await settle(mariadb);
        await restart(mariadb);
        await blocker.execute("COMMIT");
        await alter;
      }),
    );
    await mariadb.replicate("INSERT INTO two(id) VALUES(5)");
    await mariadb.expectRows("SELECT d FROM two WHERE id IN (1,5)", [["8"], ["8"]]);
  });
});

describe.each(fields)("from $name", (from) => {
  test("a prepared XA transaction has no effect until it commits, and none when it is rolled back", async () => {
    await from.replicate("CREATE TABLE xa(id INT PRIMARY KEY, v INT)", "INSERT INTO xa VALUES(9,9)");
    for (const restarts of [false, true]) {
      const id = restarts ? 10 : 0;
      await inSchema(from, (rolledBack) =>
        inSchema(from, async (committed) => {
          await rolledBack.execute(`XA START 'a'; INSERT INTO xa VALUES(${id + 1},1); XA END 'a'; XA PREPARE 'a'`);
          await committed.execute(
            `XA START X'00FF27','b',7; INSERT INTO xa VALUES(${id + 2},2); UPDATE xa SET v=v+1 WHERE id=9; XA END X'00FF27','b',7; XA PREPARE X'00FF27','b',7`,
          );
          await from.run([`INSERT INTO xa VALUES(${id + 3},3)`]);
          await settle(from);
          for (const link of from.links) {
            expect(
              await rows(link.target(), `SELECT id FROM ${from.schema}.xa WHERE id>${id} AND id<>9 ORDER BY id`),
            ).toEqual([[String(id + 3)]]);
          }
          if (restarts) await restart(from);
          await rolledBack.execute("XA ROLLBACK 'a'");
          await from.run([`INSERT INTO xa VALUES(${id + 4},4)`]);
          await settle(from);
          if (restarts) await restart(from);
          await committed.execute("XA COMMIT X'00FF27','b',7");
          await committed.execute(
            `XA START 'one'; INSERT INTO xa VALUES(${id + 5},5); XA END 'one'; XA COMMIT 'one' ONE PHASE`,
          );
        }),
      );
    }
    await from.replicate("INSERT INTO xa VALUES(100,0)");
    await from.expectRows(
      "SELECT id, v FROM xa ORDER BY id",
      [
        [2, 2],
        [3, 3],
        [4, 4],
        [5, 5],
        [9, 11],
        [12, 2],
        [13, 3],
        [14, 4],
        [15, 5],
        [100, 0],
      ].map((row) => row.map(String)),
    );
    for (const link of from.links) {
      expect(
        await rows(link.target(), `SELECT xid FROM abreast.xa_prepared WHERE channel='${link.options.channel}'`),
      ).toEqual([]);
    }
    if (from === mysql) await expectKeptGtids();
  });

  test("XA transactions with statements, with nothing, and one that goes on while others commit", async () => {
    await from.replicate("CREATE TABLE xs(id INT PRIMARY KEY, v VARCHAR(50))");
    await inSchema(from, (one) =>
      inSchema(from, async (two) => {
        await one.execute("SET SESSION binlog_format=STATEMENT");
        await one.execute("SET @v='user var'");
        await one.execute(
          "XA START 's'; INSERT INTO xs VALUES(1,@v); INSERT INTO xs VALUES(2,RAND()); UPDATE xs SET v=CONCAT(v,'!') WHERE id=1; XA END 's'; XA PREPARE 's'",
        );
        await two.execute("XA START 'empty'; XA END 'empty'; XA PREPARE 'empty'");
        await two.execute("XA COMMIT 'empty'");
        await two.execute("XA START 'r'; SELECT COUNT(*) FROM t; XA END 'r'; XA PREPARE 'r'");
        await two.execute("XA ROLLBACK 'r'");
        await two.execute("INSERT INTO xs VALUES(3,'autocommit')");
        await one.execute("XA COMMIT 's'");
      }),
    );
    await from.replicate();
    await from.expectRows("SELECT v FROM xs WHERE id<>2 ORDER BY id", [["user var!"], ["autocommit"]]);
  });

  test("SAVEPOINT and ROLLBACK TO leave what the source left", async () => {
    for (const format of ["ROW", "STATEMENT", "MIXED"]) {
      await from.replicate(
        `SET SESSION binlog_format=${format}`,
        `CREATE TABLE sp_${format}(id INT PRIMARY KEY)`,
        "BEGIN",
        `INSERT INTO sp_${format} VALUES(1)`,
        "SAVEPOINT `a b`",
        `INSERT INTO sp_${format} VALUES(2)`,
        "SAVEPOINT c",
        `INSERT INTO sp_${format} VALUES(3)`,
        "RELEASE SAVEPOINT c",
        "ROLLBACK TO `a b`",
        `INSERT INTO sp_${format} VALUES(4)`,
        "SAVEPOINT d",
        "COMMIT",
      );
      await from.expectRows(`SELECT id FROM sp_${format} ORDER BY id`, [["1"], ["4"]]);
    }
  });

  test("changes of tables without transactions arrive once, row by row and as statements", async () => {
    for (const format of ["ROW", "STATEMENT"]) {
      await from.replicate(
        `SET SESSION binlog_format=${format}`,
        `CREATE TABLE my_${format}(id INT AUTO_INCREMENT PRIMARY KEY, v INT) ENGINE=MyISAM`,
        `INSERT INTO my_${format}(v) VALUES(1),(2),(3)`,
        `UPDATE my_${format} SET v=v+1`,
        `DELETE FROM my_${format} WHERE v=3`,
        "INSERT INTO t(v) VALUES('between')",
        `INSERT INTO my_${format}(v) SELECT v FROM my_${format}`,
        `TRUNCATE my_${format}`,
        `INSERT INTO my_${format}(v) VALUES(7)`,
      );
      await from.expectRows(`SELECT * FROM my_${format}`, [["1", "7"]]);
    }
  });

  test("a trigger's rows come once: from the log of rows, from the trigger for a statement", async () => {
    await from.replicate(
      "CREATE TABLE audited(id INT PRIMARY KEY, v INT)",
      "CREATE TABLE audit(id INT AUTO_INCREMENT PRIMARY KEY, what VARCHAR(30))",
      "CREATE TRIGGER au AFTER UPDATE ON audited FOR EACH ROW INSERT INTO audit(what) VALUES(CONCAT(OLD.v,' to ',NEW.v))",
      "CREATE TRIGGER ai BEFORE INSERT ON audited FOR EACH ROW SET NEW.v=NEW.v*10",
      "INSERT INTO audited VALUES(1,1),(2,2)",
      "UPDATE audited SET v=v+1",
      "SET SESSION binlog_format=STATEMENT",
      "INSERT INTO audited VALUES(3,3)",
      "UPDATE audited SET v=v+1 ORDER BY id",
    );
    await from.expectRows("SELECT what FROM audit ORDER BY id", [
      ["10 to 11"],
      ["20 to 21"],
      ["11 to 12"],
      ["21 to 22"],
      ["30 to 31"],
    ]);
  });

  test.each(["STATEMENT", "MIXED"])("what a statement depends on comes with it: %s", async (format) => {
    const table = `dep_${format}`;
    await from.replicate(
      `CREATE TABLE ${table}(id INT AUTO_INCREMENT PRIMARY KEY, v VARCHAR(200))`,
      `CREATE TABLE ${table}_log(whose INT, seen VARCHAR(200))`,
      `CREATE TRIGGER ${table}_t AFTER INSERT ON ${table} FOR EACH ROW INSERT INTO ${table}_log(whose,seen) VALUES(NEW.id, NEW.v)`,
      `CREATE FUNCTION ${table}_f(x INT) RETURNS INT DETERMINISTIC RETURN x*2`,
      `CREATE PROCEDURE ${table}_p(x INT) BEGIN DECLARE y INT DEFAULT x+1; INSERT INTO ${table}(v) VALUES(CONCAT('p',y)); UPDATE ${table} SET v=CONCAT(v,'!') WHERE v=CONCAT('p',y); END`,
      `SET SESSION binlog_format=${format}`,
      `INSERT INTO ${table}(v) VALUES(RAND()),(NOW(6)),(CONNECTION_ID())`,
      `INSERT INTO ${table}(v) VALUES(UNIX_TIMESTAMP())`,
      `SET @n=-5, @s='it''s', @d=1.50, @b=X'00FF'`,
      `INSERT INTO ${table}(v) VALUES(CONCAT_WS('/',@n,@s,@d,HEX(@b)))`,
      "SET INSERT_ID=1000",
      `INSERT INTO ${table}(v) VALUES('id 1000')`,
      `INSERT INTO ${table}(v) SELECT LAST_INSERT_ID()`,
      `UPDATE ${table} SET v=${table}_f(id) WHERE id=1000`,
      `CALL ${table}_p(4)`,
      `BEGIN`,
      `INSERT INTO ${table}(v) VALUES('a')`,
      `INSERT INTO ${table}_log(whose) VALUES(LAST_INSERT_ID())`,
      `DELETE FROM ${table} WHERE v='a'`,
      "COMMIT",
      `BEGIN`,
      `INSERT INTO ${table}(v) VALUES('gone')`,
      "ROLLBACK",
      "SET time_zone='-03:00'",
      `INSERT INTO ${table}(v) VALUES(FROM_UNIXTIME(1762057800))`,
    );
    await from.expectRows(`SELECT v FROM ${table} WHERE id BETWEEN 1000 AND 1002 OR v LIKE 'p%'`, [
      ["2000"],
      ["1000"],
      ["p5!"],
    ]);
  });

  test.each(["STATEMENT", "MIXED"])("temporary tables of two sessions with one name are two: %s", async (format) => {
    const table = `tmp_${format}`;
    await from.replicate(`CREATE TABLE ${table}(id INT PRIMARY KEY, v INT)`);
    await inSchema(from, (one) =>
      inSchema(from, async (two) => {
        for (const [index, session] of [one, two].entries()) {
          await session.execute(`SET SESSION binlog_format=${format}`);
          await session.execute("CREATE TEMPORARY TABLE scratch(id INT PRIMARY KEY, v INT)");
          await session.execute(`INSERT INTO scratch VALUES(${index + 1},${index + 10})`);
        }
        await two.execute("ALTER TABLE scratch ADD COLUMN w INT DEFAULT 3");
        await two.execute(`INSERT INTO ${table} SELECT id, v+w FROM scratch`);
        await one.execute("UPDATE scratch SET v=99");
        await one.execute(`INSERT INTO ${table} SELECT id, v FROM scratch`);
        await one.execute("DROP TEMPORARY TABLE scratch");
      }),
    );
    await from.replicate();
    await from.expectRows(`SELECT * FROM ${table} ORDER BY id`, [
      ["1", "99"],
      ["2", "14"],
    ]);
  });

  test("a statement that failed half way over a table without transactions leaves the same half", async () => {
    await inSchema(from, async (session) => {
      await session.execute("CREATE TABLE half(id INT PRIMARY KEY, v INT) ENGINE=MyISAM");
      await session.execute("SET SESSION binlog_format=STATEMENT");
      await expect(session.execute("INSERT INTO half VALUES(1,1),(2,2),(1,3),(4,4)")).rejects.toThrow("Duplicate");
      await session.execute("INSERT IGNORE INTO half VALUES(2,5),(5,5)");
      await expect(session.execute("UPDATE half SET id=id+3 ORDER BY id DESC LIMIT 3")).resolves.toBeDefined();
      await expect(session.execute("UPDATE half SET id=5 ORDER BY id DESC")).rejects.toThrow("Duplicate");
    });
    await from.replicate();
    expect((await from.expectSame("SELECT * FROM half ORDER BY id")).length).toBe(3);
  });

  test("a statement that was killed half way over such a table stops the engine: nobody knows its other half", async () => {
    await from.replicate(
      "CREATE TABLE killed(id INT PRIMARY KEY, v INT) ENGINE=MyISAM",
      "INSERT INTO killed VALUES(1,1),(2,2),(3,3),(4,4),(5,5),(6,6),(7,7),(8,8)",
    );
    const sql = "UPDATE killed SET v=v+10+SLEEP(0.3) ORDER BY id";
    await inSchema(from, async (session) => {
      await session.execute("SET SESSION binlog_format=STATEMENT");
      const update = session.execute(sql).catch(() => {});
      const changed = `SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID=${session.connectionId} AND STATE='User sleep' AND TIME>=1`;
      while ((await from.value(changed)) === "0") await new Promise((resolve) => setTimeout(resolve, 20));
      await run(from.source(), `KILL QUERY ${session.connectionId}`);
      await update;
    });
    for (const link of from.links) {
      const error = await link.stopped();
      expect(error.message, link.name).toContain(sql);
      expect(error.hint).toBeDefined();
      // Where GTIDs are kept, the target is told that it has this one.
      if (link.options.gtid === "preserve") {
        await run(link.target(), `SET GTID_NEXT='${error.where.gtid}'`, "BEGIN", "COMMIT", "SET GTID_NEXT='AUTOMATIC'");
      }
    }
    await from.run(["DROP TABLE IF EXISTS killed"]);
    await settle(from);
  });

  test("cascades of foreign keys are done once, whether the source logs them or leaves them to the target", async () => {
    await from.replicate(
      "CREATE TABLE fp(id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
      "CREATE TABLE fc(id INT PRIMARY KEY, p INT, FOREIGN KEY(p) REFERENCES fp(id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB",
      "CREATE TABLE fn(id INT PRIMARY KEY, p INT, FOREIGN KEY(p) REFERENCES fp(id) ON DELETE SET NULL ON UPDATE CASCADE) ENGINE=InnoDB",
      "CREATE TABLE fg(id INT PRIMARY KEY, c INT, FOREIGN KEY(c) REFERENCES fc(id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB",
      "INSERT INTO fp VALUES(1,1),(2,2),(3,3)",
      "INSERT INTO fc VALUES(1,1),(2,2),(3,3),(4,1)",
      "INSERT INTO fn VALUES(1,1),(2,2),(3,3)",
      "INSERT INTO fg VALUES(1,1),(2,2),(3,3),(4,4)",
      "DELETE FROM fp WHERE id=1",
      "UPDATE fp SET id=22 WHERE id=2",
      "SET SESSION binlog_format=STATEMENT",
      "DELETE FROM fp WHERE id=3",
    );
    await from.expectRows("SELECT * FROM fc", [["2", "22"]]);
    await from.expectRows("SELECT * FROM fn ORDER BY id", [
      ["1", null],
      ["2", "22"],
      ["3", null],
    ]);
    await from.expectRows("SELECT * FROM fg", [["2", "2"]]);
  });

  test("a log without checksums, with all metadata of tables and with the statements beside the rows", async () => {
    const metadata = from.flavour === "mysql-5.6" ? "DO 0" : "SET GLOBAL binlog_row_metadata=FULL";
    const beside =
      from.flavour === "mariadb-10.11"
        ? "SET SESSION binlog_annotate_row_events=ON"
        : "SET SESSION binlog_rows_query_log_events=ON";
    try {
      await from.replicate(
        "SET GLOBAL binlog_checksum=NONE",
        metadata,
        beside,
        "CREATE TABLE full(id INT UNSIGNED, e ENUM('x','ü'), s SET('a','b'), c CHAR(5) CHARACTER SET latin1, t TEXT, b BIT(10), g GEOMETRY, d DECIMAL(20,5), y YEAR, PRIMARY KEY(id,c))",
        "INSERT INTO full VALUES(4294967295,'ü','a,b','é','text',1023,POINT(1,2),-1.5,2026),(1,NULL,NULL,'',NULL,NULL,NULL,NULL,NULL)",
        "UPDATE full SET t='ü', b=b-1, s='b' WHERE id>1",
        "DELETE FROM full WHERE id=1",
      );
      await restart(from);
      await from.replicate("INSERT INTO full(id,c) VALUES(5,'after')");
      await from.expectRows("SELECT id, e, s, c, t, b+0, ST_AsText(g), d, y FROM full WHERE id>5", [
        ["4294967295", "ü", "b", "é", "ü", "1022", "POINT(1 2)", "-1.50000", "2026"],
      ]);
    } finally {
      await run(from.source(), "SET GLOBAL binlog_checksum=CRC32");
      if (metadata !== "DO 0") await run(from.source(), "SET GLOBAL binlog_row_metadata=DEFAULT");
    }
    await from.replicate("INSERT INTO full(id,c) VALUES(6,'again')");
  });

  test("LOAD DATA in statement format loads the source's file", async () => {
    const lines = Array.from({ length: 30_000 }, (_, i) => `${i};"text \\"${i}\\" é";${i % 7 === 0 ? "\\N" : i}\n`);
    const file = Buffer.from(`header\n${lines.join("")}`);
    for (const link of from.links) await link.ensure();
    const session = await openLocal(from.source());
    try {
      await session.execute(`USE ${from.schema}`);
      await session.execute("CREATE TABLE loaded(id INT PRIMARY KEY, v VARCHAR(50), n INT, twice INT)");
      await session.execute("SET SESSION binlog_format=STATEMENT");
      await session.executeWithFile(
        Buffer.from(
          "LOAD DATA LOCAL INFILE '/x''y' INTO TABLE loaded CHARACTER SET utf8mb4 FIELDS TERMINATED BY ';' OPTIONALLY ENCLOSED BY '\"' LINES TERMINATED BY '\\n' " +
            "IGNORE 1 LINES (id, v, @n) SET n=@n, twice=@n*2",
        ),
        [file],
      );
    } finally {
      await session.close();
    }
    await from.replicate();
    await from.expectRows("SELECT COUNT(*), SUM(n IS NULL), SUM(twice=2*n), MAX(v) FROM loaded WHERE id<10", [
      ["10", "2", "8", 'text "9" é'],
    ]);
    await from.expectRows("SELECT COUNT(*) FROM loaded", [["30000"]]);
  });
});

test.each(["mysql-9.7", "mariadb-10.11"] as const)(
  "the second half of an XA transaction whose first half came before the channel stops the engine, a rollback does not: %s",
  async (flavour) => {
    const from = field(flavour);
    const link = from.links[0] as Link;
    await from.replicate("CREATE TABLE too_late(id INT PRIMARY KEY)");
    await inSchema(from, async (commits) =>
      inSchema(from, async (rollsBack) => {
        await commits.execute("XA START 'c'; INSERT INTO too_late VALUES(1); XA END 'c'; XA PREPARE 'c'");
        await rollsBack.execute("XA START 'r'; INSERT INTO too_late VALUES(2); XA END 'r'; XA PREPARE 'r'");
        await settle(from);
        const late = new Link("a channel that begins later", link.source, link.target);
        await late.ensure();
        await late.settle();
        await rollsBack.execute("XA ROLLBACK 'r'");
        await late.settle();
        await commits.execute("XA COMMIT 'c'");
        expect(await late.stopped()).toMatchObject({
          code: "UNSUPPORTED",
          message: expect.stringContaining("prepared before this channel began"),
          hint: expect.stringContaining("XA RECOVER"),
        });
      }),
    );
    await from.replicate();
  },
);

test("tagged GTIDs hold across a rotation and a restart of the engine (MySQL 9.7)", async () => {
  await mysql.replicate("SET gtid_next='AUTOMATIC:mytag'", "INSERT INTO t(v) VALUES('tagged 1')");
  await mysql.run(["SET gtid_next='AUTOMATIC:mytag'", "INSERT INTO t(v) VALUES('tagged 2')", "FLUSH BINARY LOGS"]);
  await settle(mysql);
  await restart(mysql);
  await mysql.replicate(
    "INSERT INTO t(v) VALUES('plain')",
    "SET gtid_next='AUTOMATIC:other'",
    "CREATE TABLE tagged(id INT)",
    "SET gtid_next='AUTOMATIC:mytag'",
    "INSERT INTO t(v) VALUES('tagged 3')",
    "SET binlog_transaction_compression=ON",
    "INSERT INTO t(v) VALUES('tagged 4')",
  );
  await restart(mysql);
  await mysql.replicate("INSERT INTO t(v) VALUES('plain')");
  await mysql.expectRows("SELECT COUNT(*) FROM t WHERE v LIKE 'tagged%'", [["4"]]);
  await expectKeptGtids();
  const [[gtids]] = (await rows(
    mysql.link("mysql-9.7").target(),
    `SELECT gtids FROM abreast.checkpoint WHERE channel='${mysql.link("mysql-9.7").options.channel}'`,
  )) as [[string]];
  expect(gtids).toMatch(/:mytag:1-4/);
  expect(gtids).toMatch(/:other:1/);
});

describe("MariaDB: a transaction over both kinds of tables that is rolled back", () => {
  const both = (format: string): string[] => [
    `SET SESSION binlog_format=${format}`,
    `CREATE TABLE inno_${format}(id INT PRIMARY KEY)`,
    `CREATE TABLE isam_${format}(id INT PRIMARY KEY) ENGINE=MyISAM`,
    "BEGIN",
    `INSERT INTO inno_${format} VALUES(8)`,
    `INSERT INTO isam_${format} VALUES(1)`,
    "ROLLBACK",
    "BEGIN",
    `INSERT INTO isam_${format} VALUES(2)`,
    `INSERT INTO inno_${format} VALUES(9)`,
    `INSERT INTO isam_${format} SELECT id FROM inno_${format}`,
    "COMMIT",
  ];

  test.each(["ROW", "MIXED"])("leaves the rows of the kind without transactions: %s", async (format) => {
    await mariadb.replicate(...both(format));
    await mariadb.expectRows(`SELECT id FROM isam_${format} ORDER BY id`, [["1"], ["2"], ["9"]]);
    await mariadb.expectRows(`SELECT id FROM inno_${format}`, [["9"]]);
  });

  test("does so as statements; a MySQL target that enforces GTID consistency cannot, and says so", async () => {
    const [same, other] = [mariadb.link("mariadb-10.11"), mariadb.link("mysql-9.7")];
    await mariadb.run(both("STATEMENT"));
    await same.settle();
    await same.expectIdentical(mariadb.schema);
    const isam = `SELECT id FROM ${mariadb.schema}.isam_STATEMENT ORDER BY id`;
    expect(await rows(same.target(), isam)).toEqual([["1"], ["2"], ["9"]]);
    const error = await other.stopped();
    expect(error.message).toContain("GTID consistency");
    expect(error.message).toContain("INSERT INTO isam_STATEMENT VALUES(1)");
    expect(await rows(other.target(), isam)).toEqual([]);
  });
});

const openLocal = (server: SandboxServer): Promise<Session> => Session.connect(server.address, { localFiles: true });
