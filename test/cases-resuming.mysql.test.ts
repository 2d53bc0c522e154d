import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, test } from "vitest";
import { expectedPlaces } from "./helpers/assemble.ts";
import { rows, run, withSession } from "./helpers/channel.ts";
import { CliProcess } from "./helpers/engine-process.ts";
import { type Field, Link, RELAXED, useFields } from "./helpers/field-cases.ts";
import { useServer } from "./helpers/servers.ts";

// Relay files of a few transactions each: places are looked for in many of them.
const SMALL_FILES = { relayFileBytesMax: 8 * 1024 };
const keeps = useServer("mysql-9.7", { options: RELAXED });
const fields = useFields(
  { "mysql-9.7": ["mysql-9.7"], "mysql-5.6": ["mysql-9.7"], "mariadb-10.11": ["mariadb-10.11", "mysql-9.7"] },
  { engine: SMALL_FILES },
);
const field = (flavour: Field["flavour"]): Field => fields.find((one) => one.flavour === flavour) as Field;
const mysql = field("mysql-9.7");
const mariadb = field("mariadb-10.11");
mysql.links.push(
  new Link("MySQL 9.7 to MySQL 9.7, GTIDs kept", mysql.source, keeps, {
    ...SMALL_FILES,
    gtid: "preserve",
    startFrom: undefined,
  }),
);

beforeAll(async () => {
  for (const from of fields) {
    const { source, schema } = from;
    await run(
      source(),
      `CREATE TABLE ${schema}.t(id INT PRIMARY KEY, v INT)`,
      `CREATE TABLE ${schema}.total(id INT PRIMARY KEY, n INT)`,
      `INSERT INTO ${schema}.total VALUES(1,0)`,
    );
    await settle(from);
  }
});

async function settle(from: Field): Promise<void> {
  for (const link of from.links) await link.settle();
}

/** Where transactions of the source end, as the source itself tells it. */
async function transactionEnds(from: Field): Promise<Set<string>> {
  const places = await expectedPlaces(from.source());
  return new Set(places.map((place) => place.replace(/^\S+ (\S+) \d+-(\d+)$/, "$1:$2")));
}

async function resumePoint(link: Link): Promise<string | null | undefined> {
  const [point] = await rows(
    link.target(),
    `SELECT CONCAT(source_file, ':', source_position) FROM abreast.checkpoint WHERE channel='${link.options.channel}'`,
  );
  return point?.[0];
}

function replicate(link: Link, ...more: string[]): CliProcess {
  const { channel, folder, gtid } = link.options;
  return new CliProcess([
    "replicate",
    `--source=${link.source().url}`,
    `--target=${link.target().url}`,
    `--folder=${folder}`,
    `--channel=${channel}`,
    `--gtid=${gtid}`,
    "--skip-preflight",
    ...more,
  ]);
}

describe("kill -9 in the middle of a transaction of 1,000 rows", () => {
  test.each(["mysql-9.7", "mysql-5.6", "mariadb-10.11"] as const)("from %s", async (flavour) => {
    const from = field(flavour);
    await from.replicate("CREATE TABLE thousand(id INT PRIMARY KEY, v VARCHAR(200))");
    for (const link of from.links) await link.stop();
    const table = `${from.schema}.thousand`;
    const hundreds = Array.from({ length: 10 }, (_, hundred) => {
      const values = Array.from({ length: 100 }, (_, i) => `(${hundred * 100 + i},REPEAT('x',200))`);
      return `INSERT INTO ${table} VALUES ${values.join(",")}`;
    });
    await run(from.source(), "BEGIN", ...hundreds, "COMMIT", `UPDATE ${table} SET v='after' WHERE id=999`);
    for (const link of from.links) {
      const before = await resumePoint(link);
      await withSession(link.target(), async (blocker) => {
        await blocker.execute(`BEGIN; INSERT INTO ${table} VALUES(500,'in the way')`);
        const engine = replicate(link);
        const waiting = "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_state='LOCK WAIT'";
        while ((await blocker.queryValue(waiting)) === "0") {
          expect(engine.end, engine.errors).toBeUndefined();
          // The server renews what it answers only when nobody has asked for 100 ms.
          await sleep(150);
        }
        await engine.kill();
        await blocker.execute("ROLLBACK");
      });
      expect(await resumePoint(link)).toBe(before);
      const last = replicate(link, "--until=now");
      expect(await last.ended, last.errors).toBe(0);
      expect(await rows(link.target(), `SELECT COUNT(*), SUM(v='after') FROM ${table}`)).toEqual([["1000", "1"]]);
      await link.expectIdentical(from.schema);
    }
  });
});

test.each(["mysql-9.7", "mysql-5.6", "mariadb-10.11"] as const)(
  "an engine that is stopped and started under load goes on at a transaction's start, and applies each once: %s",
  async (flavour) => {
    const from = field(flavour);
    await run(from.source(), "SET GLOBAL max_binlog_size=4096");
    await from.run([`UPDATE total SET n=0`]);
    const writing = { goesOn: true };
    let updates = 0;
    const write = async (thread: number): Promise<void> => {
      await withSession(from.source(), async (session) => {
        await session.execute(`USE ${from.schema}`);
        for (let n = 0; writing.goesOn || n < 20; n++) {
          await session.execute(
            `BEGIN; UPDATE total SET n=n+1 WHERE id=1; INSERT INTO t VALUES(${thread * 100_000 + n}, ${n}); SAVEPOINT s; UPDATE t SET v=v+1 WHERE id=${thread * 100_000 + n}; COMMIT`,
          );
          updates++;
          await sleep(3);
        }
      });
    };
    const writers = [1, 2, 3].map((thread) => write(thread));
    const points = new Set<string>();
    for (let round = 0; round < 6; round++) {
      await sleep(60);
      for (const link of from.links) {
        await link.stop();
        const point = await resumePoint(link);
        if (point) points.add(point);
        await link.start();
      }
    }
    writing.goesOn = false;
    await Promise.all(writers);
    await run(from.source(), "SET GLOBAL max_binlog_size=DEFAULT");
    await settle(from);
    await from.expectRows("SELECT n FROM total", [[String(updates)]]);
    for (const link of from.links) await link.expectIdentical(from.schema);
    const ends = await transactionEnds(from);
    for (const point of points) expect(ends).toContain(point);
    expect(points.size).toBeGreaterThan(1);
    expect((await rows(from.source(), "SHOW BINARY LOGS")).length).toBeGreaterThan(3);
  },
);

const byDomain = (a: string, b: string): number => Number.parseInt(a) - Number.parseInt(b);

describe("MariaDB's domains", () => {
  const write = (domain: number, server: number, sequence: number, sql: string): string[] => [
    `SET SESSION gtid_domain_id=${domain}, server_id=${server}, gtid_seq_no=${sequence}`,
    sql,
  ];

  test("after a failover to lower sequences there is one entry per domain, and nothing is lost or repeated", async () => {
    await mariadb.replicate(
      "CREATE TABLE failover(id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
      ...write(7, 963, 199, "INSERT INTO failover(v) VALUES(199)"),
      ...write(7, 963, 200, "INSERT INTO failover(v) VALUES(200)"),
    );
    for (const link of mariadb.links) await link.restart();
    await mariadb.replicate(...write(7, 1013, 100, "INSERT INTO failover(v) VALUES(100)"));
    for (const link of mariadb.links) {
      await link.restart();
      const gtids = link.engine.status().applied.position?.gtids;
      expect(gtids?.split(",").filter((gtid) => gtid.startsWith("7-"))).toEqual(["7-1013-100"]);
    }
    await mariadb.replicate(
      ...write(7, 1013, 101, "INSERT INTO failover(v) VALUES(101)"),
      ...write(7, 963, 201, "INSERT INTO failover(v) VALUES(201)"),
      ...write(7, 1013, 102, "UPDATE failover SET v=v+1000"),
    );
    for (const link of mariadb.links) await link.restart();
    await mariadb.replicate("INSERT INTO failover(v) VALUES(1)");
    await mariadb.expectRows("SELECT v FROM failover ORDER BY id", [
      ["1199"],
      ["1200"],
      ["1100"],
      ["1101"],
      ["1201"],
      ["1"],
    ]);
  });

  test("the relay log's place is found where the sequences of one domain go down", async () => {
    await mariadb.run(["CREATE TABLE down(id INT PRIMARY KEY AUTO_INCREMENT, v INT)"]);
    for (const [index, [server, sequence]] of (
      [
        [963, 1990],
        [963, 2000],
        [1013, 1000],
        [1013, 1010],
        [963, 2010],
      ] as const
    ).entries()) {
      await mariadb.replicate(...write(9, server, sequence, `INSERT INTO down(v) VALUES(${sequence})`));
      await mariadb.replicate(...write(10, 1, index + 1, `INSERT INTO down(v) VALUES(${index})`));
      // Received, and not applied before the engine ends.
      for (const link of mariadb.links) await link.engine.pauseAt();
      await mariadb.run(write(9, server, sequence + 1, `INSERT INTO down(v) VALUES(${sequence + 1})`));
      const position = await mariadb.value("SELECT @@gtid_binlog_pos");
      for (const link of mariadb.links) {
        while (link.engine.status().receiver.position?.gtids !== position?.split(",").sort(byDomain).join(",")) {
          await sleep(5);
        }
        await link.restart();
      }
    }
    await mariadb.replicate();
    await mariadb.expectRows("SELECT COUNT(*), COUNT(DISTINCT v) FROM down", [["15", "15"]]);
  });

  test("the goal of a run is not taken for reached by a higher sequence of another server", async () => {
    await mariadb.replicate(...write(8, 963, 500, "INSERT INTO failover(v) VALUES(8)"));
    for (const link of mariadb.links) await link.stop();
    await withSession(mariadb.source(), async (session) => {
      await session.execute(`USE ${mariadb.schema}`);
      for (let sequence = 1; sequence <= 50; sequence++) {
        for (const sql of write(8, 1013, sequence, `INSERT INTO failover(v) VALUES(${sequence})`)) {
          await session.execute(sql);
        }
      }
    });
    for (const link of mariadb.links) {
      const engine = replicate(link, "--until=now");
      expect(await engine.ended, engine.errors).toBe(0);
      await link.expectIdentical(mariadb.schema);
      await link.start();
    }
  });

  test("two domains that take turns are each applied once, wherever the engine stops", async () => {
    await mariadb.replicate(
      "CREATE TABLE domains(id INT PRIMARY KEY AUTO_INCREMENT, v INT)",
      "INSERT INTO domains(v) VALUES(0)",
    );
    let sequence = 1000;
    for (let round = 0; round < 8; round++) {
      await withSession(mariadb.source(), async (session) => {
        await session.execute(`USE ${mariadb.schema}`);
        for (let n = 0; n < 12; n++) {
          const domain = 1 + ((n + round) % 2);
          const sql = n % 4 === 3 ? "UPDATE domains SET v=v+1 WHERE id=1" : `INSERT INTO domains(v) VALUES(${n})`;
          for (const part of write(domain, 1, ++sequence, sql)) await session.execute(part);
        }
      });
      // Stopped in the middle of it now and then, and after all of it.
      if (round % 3 === 2) await settle(mariadb);
      for (const link of mariadb.links) await link.restart();
    }
    await mariadb.replicate();
    const gtids = await mariadb.value("SELECT @@gtid_binlog_pos");
    for (const link of mariadb.links) {
      const applied = link.engine.status().applied.position?.gtids ?? "";
      expect(applied.split(",").sort()).toEqual(gtids?.split(",").sort());
    }
  });
});
