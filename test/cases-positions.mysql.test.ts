import { describe, expect, test } from "vitest";
import { rows, withSession } from "./helpers/channel.ts";
import { useFields } from "./helpers/field-cases.ts";

// Without GTIDs a channel goes by file and position, and servers allow what GTID consistency forbids.
const WITHOUT_GTIDS = ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"];
const fields = useFields(
  { "mysql-9.7": ["mysql-9.7"], "mysql-5.6": ["mysql-9.7"] },
  { sourceOptions: WITHOUT_GTIDS, targetOptions: WITHOUT_GTIDS, engine: { relayFileBytesMax: 8 * 1024 } },
);

describe.each(fields)("from $name without GTIDs", (from) => {
  test.each(["ROW", "STATEMENT", "MIXED"])(
    "of a transaction over both kinds of tables that is rolled back, the kind without transactions stays: %s",
    async (format) => {
      await from.replicate(
        `SET SESSION binlog_format=${format}`,
        `CREATE TABLE inno_${format}(id INT PRIMARY KEY) ENGINE=InnoDB`,
        `CREATE TABLE isam_${format}(id INT PRIMARY KEY) ENGINE=MyISAM`,
        "BEGIN",
        `INSERT INTO inno_${format} VALUES(8)`,
        `INSERT INTO isam_${format} VALUES(1)`,
        "ROLLBACK",
        "BEGIN",
        `INSERT INTO isam_${format} VALUES(2)`,
        `INSERT INTO inno_${format} VALUES(9)`,
        "SAVEPOINT s",
        `INSERT INTO isam_${format} SELECT id FROM inno_${format}`,
        `INSERT INTO inno_${format} VALUES(10)`,
        "ROLLBACK TO s",
        "COMMIT",
      );
      await from.expectRows(`SELECT id FROM isam_${format} ORDER BY id`, [["1"], ["2"], ["9"]]);
      await from.expectRows(`SELECT id FROM inno_${format}`, [["9"]]);
    },
  );

  test.each(["ROW", "STATEMENT", "MIXED"])("CREATE TABLE … SELECT arrives with its rows: %s", async (format) => {
    await from.replicate(
      `SET SESSION binlog_format=${format}`,
      `CREATE TABLE of_${format}(id INT PRIMARY KEY, v VARCHAR(20))`,
      `INSERT INTO of_${format} VALUES(1,'a'),(2,'b'),(3,'c')`,
      `CREATE TABLE ctas_${format} AS SELECT * FROM of_${format} ORDER BY id LIMIT 2`,
      "SET sql_mode='ANSI'",
      `CREATE TABLE "ctas2_${format}" (PRIMARY KEY("id")) AS SELECT "id", "v" FROM "of_${format}"`,
      `CREATE TABLE ctas3_${format} (PRIMARY KEY(id)) ENGINE=MyISAM AS SELECT * FROM of_${format}`,
    );
    await from.expectRows(`SELECT v FROM ctas_${format} ORDER BY id`, [["a"], ["b"]]);
    await from.expectRows(`SELECT COUNT(*) FROM ctas2_${format}`, [["3"]]);
    await from.expectRows(`SELECT COUNT(*) FROM ctas3_${format}`, [["3"]]);
  });

  test("temporary tables that come and go inside transactions do what they did on the source", async () => {
    await from.replicate(
      "CREATE TABLE kept(id INT PRIMARY KEY, v INT)",
      "SET SESSION binlog_format=STATEMENT",
      "BEGIN",
      "INSERT INTO kept VALUES(1,1)",
      "CREATE TEMPORARY TABLE scratch(id INT PRIMARY KEY, v INT)",
      "INSERT INTO scratch VALUES(2,2),(3,3)",
      "INSERT INTO kept SELECT * FROM scratch",
      "DROP TEMPORARY TABLE scratch",
      "COMMIT",
      "BEGIN",
      "CREATE TEMPORARY TABLE scratch(id INT PRIMARY KEY)",
      "INSERT INTO kept VALUES(4,4)",
      "ROLLBACK",
      "INSERT INTO scratch VALUES(7)",
      "INSERT INTO kept SELECT id, 7 FROM scratch",
      "DROP TEMPORARY TABLE scratch",
    );
    await from.expectRows("SELECT id FROM kept ORDER BY id", [["1"], ["2"], ["3"], ["7"]]);
  });

  test("the engine goes on by file and position, over new files and restarts", async () => {
    await from.replicate("CREATE TABLE counted(id INT PRIMARY KEY, n INT)", "INSERT INTO counted VALUES(1,0)");
    for (let round = 1; round <= 5; round++) {
      await from.run([
        ...Array.from({ length: 20 }, () => "UPDATE counted SET n=n+1"),
        ...(round % 2 === 0 ? ["FLUSH LOGS"] : []),
      ]);
      if (round === 3) for (const link of from.links) await link.settle();
      for (const link of from.links) await link.restart();
    }
    await from.replicate("FLUSH LOGS", "INSERT INTO counted VALUES(2,0)");
    await from.expectRows("SELECT n FROM counted ORDER BY id", [["100"], ["0"]]);
    for (const link of from.links) {
      const [first] = await rows(
        link.target(),
        `SELECT gtids FROM abreast.checkpoint WHERE channel='${link.options.channel}'`,
      );
      expect(first).toEqual([""]);
    }
  });

  test("an XA transaction outlives a restart of the engine", async () => {
    await from.replicate("CREATE TABLE xa(id INT PRIMARY KEY)");
    await withSession(from.source(), async (session) => {
      await session.execute(`USE ${from.schema}`);
      await session.execute("XA START 'x'; INSERT INTO xa VALUES(1); XA END 'x'; XA PREPARE 'x'");
      await from.run(["INSERT INTO xa VALUES(2)"]);
      for (const link of from.links) await link.settle();
      for (const link of from.links) await link.restart();
      await session.execute("XA COMMIT 'x'");
    });
    await from.replicate();
    await from.expectRows("SELECT id FROM xa ORDER BY id", [["1"], ["2"]]);
  });
});
