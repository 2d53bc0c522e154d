import type { RowDataPacket } from "mysql2";
import { describe, expect, it } from "vitest";
import { query, useServer } from "../../../test/helpers/servers.ts";
import { type LoadOptions, prepareData, startLoad } from "./load.ts";
import { oltpWriteOnly } from "./oltp-write-only.ts";
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
  it("runs exactly the transactions it was told to, with oltp_write_only's statements, and leaves the number of rows", async () => {
    await prepareData(server().address, "sbtest", workload, seed);
    const before = await statementCounts();
    const summary = await startLoad(loadOptions({ transactions: 500 })).done;
    const after = await statementCounts();
    const made = (kind: string): number => (after[kind] ?? 0) - (before[kind] ?? 0);

    expect(summary.transactions).toBe(500);
    expect(summary.statements).toBe(3000);
    expect(made("Com_commit")).toBe(500);
    // A transaction that met a deadlock was begun, and perhaps half run, once more.
    const { errors } = summary;
    expect(made("Com_begin")).toBe(500 + errors);
    expect(made("Com_update")).toBeGreaterThanOrEqual(1000);
    expect(made("Com_update")).toBeLessThanOrEqual(1000 + 2 * errors);
    expect(made("Com_insert")).toBeGreaterThanOrEqual(500);
    expect(made("Com_insert")).toBeLessThanOrEqual(500 + errors);
    const rows = await query<RowDataPacket[]>(
      server(),
      "SELECT (SELECT COUNT(*) FROM sbtest.sbtest1) a, (SELECT COUNT(*) FROM sbtest.sbtest2) b",
    );
    expect(rows[0]).toEqual({ a: 1000, b: 1000 });
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
    expect(summary.statements).toBe(6 * summary.transactions);
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
    });
  });
});
