import type { RowDataPacket } from "mysql2";
import { beforeAll, describe, expect, it, test } from "vitest";
import { query, useServer } from "../../../test/helpers/servers.ts";
import { cleanUpData, prepareData } from "./data.ts";
import { type LoadOptions, startLoad } from "./load.ts";
import { oltpWriteOnly } from "./oltp-write-only.ts";
import { prepared } from "./statement.ts";
import type { Workload } from "./workload.ts";

const workload = oltpWriteOnly({ tables: 2, tableSize: 1000, distribution: "special" });
const seed = 4;
const server = useServer("mysql-9.7", { options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0"] });

const loadOptions = (more: Partial<LoadOptions>): LoadOptions => ({
  address: server().address,
  schema: "sbtest",
  workload,
  seed,
  threads: 4,
  ...more,
});

/** How often the server has run each kind of statement. */
async function statementCounts(): Promise<Record<string, number>> {
  const rows = await query<RowDataPacket[]>(server(), "SHOW GLOBAL STATUS LIKE 'Com\\_%'");
  return Object.fromEntries(rows.map((row) => [String(row["Variable_name"]), Number(row["Value"])]));
}

describe("a load", () => {
  beforeAll(() => prepareData(server().address, "sbtest", workload, seed));

  test.each(["together", "one-by-one"] as const)(
    "%s, runs exactly the transactions it was told to, counts what the server has counted, and leaves the number of rows",
    async (statements) => {
      const before = await statementCounts();
      const summary = await startLoad(loadOptions({ statements, transactions: 500, seed: statements.length })).done;
      const after = await statementCounts();
      const made = (kind: string): number => (after[`Com_${kind}`] ?? 0) - (before[`Com_${kind}`] ?? 0);

      // A transaction that met a deadlock was begun, and perhaps half run, once more.
      const { errors, writes, others, reads } = summary;
      expect(summary.transactions).toBe(500);
      expect(made("commit")).toBe(500);
      expect(made("begin")).toBe(500 + errors);
      expect(made("rollback")).toBe(errors);
      expect(made("update") + made("delete") + made("insert")).toBeGreaterThanOrEqual(writes);
      expect(made("update") + made("delete") + made("insert")).toBeLessThanOrEqual(writes + errors);
      expect(writes).toBeGreaterThanOrEqual(2000);
      expect(others).toBe(1000 + 2 * errors);
      expect(reads).toBe(0);
      expect(made("stmt_execute")).toBe(statements === "together" ? 0 : writes + 500 + errors);
      const rows = await query<RowDataPacket[]>(
        server(),
        "SELECT (SELECT COUNT(*) FROM sbtest.sbtest1) a, (SELECT COUNT(*) FROM sbtest.sbtest2) b",
      );
      expect(rows[0]).toEqual({ a: 1000, b: 1000 });
    },
  );

  it("counts selects as reads, and updates that change nothing as others", async () => {
    const reading: Workload = {
      name: "reading",
      preparation: () => [],
      thread: () => () => [
        prepared("SELECT id, c, pad FROM sbtest1 WHERE id BETWEEN ? AND ?", 1, 40),
        prepared("SELECT id FROM sbtest1 WHERE id=?", -1),
        "SELECT 1; SELECT 2",
        prepared("UPDATE sbtest1 SET k=k WHERE id=?", 7),
        prepared("UPDATE sbtest1 SET k=k+? WHERE id<=?", 1, 2),
      ],
    };
    const counts = { transactions: 5, reads: 20, others: 5, writes: 5 };
    expect(
      await startLoad(loadOptions({ workload: reading, statements: "one-by-one", transactions: 5 })).done,
    ).toMatchObject(counts);
    expect(await startLoad(loadOptions({ workload: reading, transactions: 5 })).done).toMatchObject(counts);
  });

  it("gives prepared statements their values, whatever they are", async () => {
    await query(server(), "CREATE TABLE sbtest.v (id INT AUTO_INCREMENT PRIMARY KEY, n BIGINT, t MEDIUMTEXT)");
    const values: [number, string][] = [
      [0, ""],
      [-1, "it's ? \\ \" \0 é 😀"],
      [2 ** 31, "x".repeat(250)],
      [-(2 ** 31) - 1, "é".repeat(126)],
      [Number.MAX_SAFE_INTEGER, "x".repeat(70_000)],
      [Number.MIN_SAFE_INTEGER, "y".repeat(251)],
    ];
    const inserting: Workload = {
      name: "inserting",
      preparation: () => [],
      thread: () => {
        let at = 0;
        return () => {
          const pair = values[at++];
          return pair === undefined ? undefined : [prepared("INSERT INTO v (n, t) VALUES (?, ?)", ...pair)];
        };
      },
    };
    await startLoad(loadOptions({ workload: inserting, statements: "one-by-one", threads: 1 })).done;
    const rows = await query<RowDataPacket[]>(server(), "SELECT n, t FROM sbtest.v ORDER BY id");
    expect(rows.map((row) => [Number(row["n"]), row["t"]])).toEqual(values);
  });

  it("puts each thread into a schema of its own, in turn", async () => {
    const schemas = ["many1", "many2", "many3"];
    const small = oltpWriteOnly({ tables: 1, tableSize: 100, distribution: "uniform" });
    await prepareData(server().address, schemas, small, seed);
    const here: Workload = {
      name: "here",
      preparation: () => [],
      thread: () => () => ["INSERT INTO sbtest1 (k) VALUES (1)"],
    };
    await startLoad(loadOptions({ schema: schemas, workload: here, threads: 6, seconds: 0.5 })).done;
    for (const schema of schemas) {
      const rows = await query<RowDataPacket[]>(server(), `SELECT COUNT(*) n, MAX(c) c FROM ${schema}.sbtest1`);
      expect(Number(rows[0]?.["n"])).toBeGreaterThan(100);
    }
    await cleanUpData(server().address, [...schemas, "never_made"], ["sbtest1"]);
    expect(await query(server(), "SHOW TABLES FROM many2")).toEqual([]);
  });

  it("connects again when it is told to, and else ends, when its session is killed", async () => {
    const kill = async (): Promise<void> => {
      const [row] = await query<RowDataPacket[]>(
        server(),
        "SELECT MAX(ID) id FROM information_schema.PROCESSLIST WHERE DB='sbtest'",
      );
      await query(server(), `KILL ${row?.["id"]}`);
    };
    const load = startLoad(loadOptions({ statements: "one-by-one", reconnect: true }));
    await expect.poll(() => load.counts().transactions).toBeGreaterThan(5);
    await kill();
    await expect.poll(() => load.counts().reconnects).toBe(1);
    const { transactions } = load.counts();
    await expect.poll(() => load.counts().transactions).toBeGreaterThan(transactions);
    load.stop();
    expect((await load.done).reconnects).toBe(1);

    const mortal = startLoad(loadOptions({ statements: "one-by-one" }));
    const failed = expect(mortal.done).rejects.toMatchObject({ code: "CONNECTION_LOST" });
    await expect.poll(() => mortal.counts().transactions).toBeGreaterThan(5);
    await kill();
    await failed;
  });

  it("is never faster than its rate, and tells its progress", async () => {
    const told: number[] = [];
    const summary = await startLoad(
      loadOptions({
        transactions: 60,
        ratePerSecond: 100,
        intervalMs: 100,
        onInterval: (each) => told.push(each.total.transactions),
      }),
    ).done;
    expect(summary.elapsedMs).toBeGreaterThanOrEqual(590);
    expect(told.length).toBeGreaterThan(1);
    expect(told).toEqual([...told].sort((a, b) => a - b));
  });

  it("ends when it is stopped, with every transaction whole", async () => {
    const load = startLoad(loadOptions({}));
    await new Promise((resolve) => setTimeout(resolve, 200));
    load.stop();
    const summary = await load.done;
    expect(summary.transactions).toBeGreaterThan(0);
    const { errors, writes, others } = summary;
    expect(writes + others).toBeGreaterThanOrEqual(6 * summary.transactions);
    expect(writes + others).toBeLessThanOrEqual(6 * (summary.transactions + errors));
  });

  it("rolls a deadlock back and makes the transaction anew until it commits", async () => {
    await query(
      server(),
      "CREATE TABLE sbtest.d (id INT PRIMARY KEY, n INT); INSERT INTO sbtest.d VALUES (1, 0), (2, 0)",
    );
    // Two threads lock the same two rows in opposite orders.
    const crossing: Workload = {
      name: "crossing",
      preparation: () => [],
      thread: (_prng, thread) => () => {
        const [first, second] = thread === 0 ? [1, 2] : [2, 1];
        return [
          "BEGIN",
          `UPDATE d SET n=n+1 WHERE id=${first}`,
          "DO SLEEP(0.02)",
          `UPDATE d SET n=n+1 WHERE id=${second}`,
          "COMMIT",
        ];
      },
    };
    const summary = await startLoad(loadOptions({ workload: crossing, threads: 2, transactions: 20 })).done;
    expect(summary.errors).toBeGreaterThan(0);
    expect(await query<RowDataPacket[]>(server(), "SELECT n FROM sbtest.d")).toEqual([{ n: 20 }, { n: 20 }]);
  });

  it("ends when no thread has a transaction left, whatever the others do", async () => {
    const counted: Workload = {
      name: "counted",
      preparation: () => [],
      thread: (_prng, thread) => {
        let left = thread === 0 ? 3 : 1;
        return () => (left-- > 0 ? ["DO 1"] : undefined);
      },
    };
    const summary = await startLoad(loadOptions({ workload: counted, threads: 2 })).done;
    expect(summary.transactions).toBe(4);
  });

  it("fails with the server's error when a statement is wrong", async () => {
    const wrong: Workload = { name: "wrong", preparation: () => [], thread: () => () => ["UPDATE nowhere SET n=1"] };
    await expect(startLoad(loadOptions({ workload: wrong, transactions: 5 })).done).rejects.toMatchObject({
      sqlCode: 1146,
      hint: expect.stringContaining("prepare"),
    });
  });
});
