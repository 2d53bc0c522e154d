import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { rows, run, withSession } from "./helpers/channel.ts";
import { CliProcess } from "./helpers/engine-process.ts";
import { type Link, useFields } from "./helpers/field-cases.ts";

// The full sizes (an update of 400,000 and a delete of 1,000,000 rows) take minutes; what breaks tools begins far below them.
const MIB = 1024 * 1024;
const LARGE_ROWS = 90_000;
const RSS_BYTES_MAX = 300 * MIB;

const fields = useFields(
  { "mysql-9.7": ["mysql-9.7"], "mariadb-10.11": ["mariadb-10.11", "mysql-9.7"] },
  { engine: { transactionBytesInMemoryMax: MIB, relayFileBytesMax: 4 * MIB } },
);

function replicate(link: Link, ...more: string[]): CliProcess {
  const { channel, folder } = link.options;
  return new CliProcess([
    "replicate",
    `--source=${link.source().url}`,
    `--target=${link.target().url}`,
    `--folder=${folder}`,
    `--channel=${channel}`,
    "--skip-preflight",
    ...more,
  ]);
}

/** The most memory that a process ever had in use. */
const rssBytesMax = (pid: number): number =>
  1024 * Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);

describe.each(fields)("from $name", (from) => {
  test("rows of 20 MB and 40 MB, whose packets the protocol splits, arrive intact", async () => {
    await from.replicate(
      "CREATE TABLE huge(id INT PRIMARY KEY, t LONGTEXT, b LONGBLOB)",
      "INSERT INTO huge VALUES(1, REPEAT('twenty MB ', 2000000), NULL)",
      "INSERT INTO huge VALUES(2, REPEAT('forty MB! ', 4000000), 'x')",
      "BEGIN",
      "INSERT INTO huge VALUES(3, NULL, REPEAT(X'00FF', 8388607))",
      // A packet of exactly the greatest length is followed by an empty one: lengths about it.
      `INSERT INTO huge VALUES(10, REPEAT('x', ${16 * MIB - 20}), '')`,
      "COMMIT",
      "UPDATE huge SET b='changed' WHERE id=1",
      "DELETE FROM huge WHERE id=10",
      "SET SESSION binlog_format=STATEMENT",
      `INSERT INTO huge VALUES(20, '${"statement ".repeat(1_800_000)}', NULL)`,
    );
    await from.expectRows("SELECT id, LENGTH(t), LENGTH(b) FROM huge ORDER BY id", [
      ["1", "20000000", "7"],
      ["2", "40000000", "1"],
      ["3", null, "16777214"],
      ["20", "18000000", null],
    ]);
    await from.run(["DROP TABLE huge"]);
  });

  test("an XA transaction with a large row and many rows is kept in parts", async () => {
    await from.replicate("CREATE TABLE xa_large(id INT AUTO_INCREMENT PRIMARY KEY, t LONGTEXT)");
    await withSession(from.source(), async (session) => {
      await session.execute(`USE ${from.schema}`);
      await session.execute("XA START 'large'");
      await session.execute("INSERT INTO xa_large(t) VALUES(REPEAT('x', 5000000)),(''),(REPEAT('y', 1048576))");
      for (let n = 0; n < 5; n++) {
        await session.execute(`INSERT INTO xa_large(t) VALUES ${"(REPEAT('z', 999)),".repeat(999)}('end')`);
      }
      await session.execute("XA END 'large'; XA PREPARE 'large'");
      for (const link of from.links) await link.settle();
      for (const link of from.links) {
        const [first] = await rows(
          link.target(),
          `SELECT COUNT(*), MAX(LENGTH(events)) FROM abreast.xa_prepared WHERE channel='${link.options.channel}'`,
        );
        expect(Number(first?.[0])).toBeGreaterThan(5);
        expect(Number(first?.[1])).toBeLessThanOrEqual(MIB);
        await link.restart();
      }
      await session.execute("XA COMMIT 'large'");
    });
    await from.replicate();
    await from.expectRows("SELECT COUNT(*) FROM xa_large", [["5003"]]);
  });

  test.each(["plain", "compressed"])(
    "progress is seen inside a large transaction, and nobody's patience ends while it waits: %s",
    async (how) => {
      const table = `progress_${how}`;
      const compress =
        from.flavour === "mysql-9.7" ? "SET SESSION binlog_transaction_compression" : "SET GLOBAL log_bin_compress";
      await from.replicate(
        `CREATE TABLE ${table}(id INT PRIMARY KEY, v INT, pad CHAR(100))`,
        `INSERT INTO ${table} ${numbers(20_000, "n, n, REPEAT('p', 100)")}`,
      );
      for (const link of from.links) {
        await withSession(link.target(), async (blocker) => {
          await blocker.execute(`BEGIN; SELECT * FROM ${from.schema}.${table} WHERE id=15000 FOR UPDATE`);
          await from.run([`${compress}=${how === "plain" ? 0 : 1}`, `UPDATE ${table} SET v=v+1`, `${compress}=0`]);
          const worker = () => link.engine.status().workers[0];
          // Until it stands still, which is at the row in its way.
          for (let before = -1; worker()?.rowsDone !== before || before <= 0; await sleep(200)) {
            before = worker()?.rowsDone ?? 0;
          }
          expect(worker()?.rowsTotal).toBe(20_000);
          expect(worker()?.rowsDone).toBeGreaterThan(5_000);
          expect(worker()?.rowsDone).toBeLessThan(20_000);
          expect(worker()?.state).toBe("Executing event");
          await blocker.execute("ROLLBACK");
        });
      }
      await from.replicate();
      await from.expectRows(`SELECT SUM(v=id+${from.links.length}) FROM ${table}`, [["20000"]]);
    },
  );

  test(`inserts, an update and a delete of ${LARGE_ROWS} rows in one transaction each take bounded memory`, async () => {
    const link = from.links[0] as Link;
    await from.replicate("CREATE TABLE many(id INT PRIMARY KEY, v INT, pad CHAR(100))");
    await link.stop();
    await run(
      from.source(),
      `USE ${from.schema}`,
      `INSERT INTO many ${numbers(LARGE_ROWS, "n, n, REPEAT('p', 100)")}`,
      "UPDATE many SET v=v+1",
      "DELETE FROM many WHERE id % 10 <> 0",
    );
    const engine = replicate(link);
    const done = `SELECT COUNT(*) FROM ${from.schema}.many HAVING COUNT(*)=${LARGE_ROWS / 10}`;
    while ((await rows(link.target(), done)).length === 0) {
      expect(engine.end, engine.errors).toBeUndefined();
      await sleep(100);
    }
    const rssBytes = rssBytesMax(engine.pid);
    expect(await engine.interrupt(), engine.errors).toBe(0);
    expect(rssBytes).toBeLessThanOrEqual(RSS_BYTES_MAX);
    await link.start();
    await from.replicate("UPDATE many SET pad='' WHERE id=10");
    await from.expectRows("SELECT COUNT(*), SUM(v=id+1) FROM many", [[LARGE_ROWS / 10, LARGE_ROWS / 10].map(String)]);
  }, 120_000);
});

/** SELECT of so many rows, n from 1. */
function numbers(count: number, columns: string): string {
  const digits = Array.from({ length: 10 }, (_, digit) => `SELECT ${digit} d`).join(" UNION ALL ");
  const places = ["a", "b", "c", "d", "e", "f"];
  const n = places.map((place, power) => `${10 ** power}*${place}.d`).join("+");
  const from = places.map((place) => `(${digits}) ${place}`).join(", ");
  return `SELECT ${columns} FROM (SELECT 1+${n} AS n FROM ${from}) all_numbers WHERE n<=${count}`;
}
