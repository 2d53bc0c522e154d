import { expect, test } from "vitest";
import type { LoadReport } from "../src/bench/workload/load-report.ts";
import { CliProcess } from "./helpers/engine-process.ts";
import { query, useServer } from "./helpers/servers.ts";

const TIMEOUT_MS = 120_000;
const server = useServer("mysql-9.7", { options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0"] });

interface Ended {
  exitCode: unknown;
  output: string;
  errors: string;
}

async function benchLoad(environment: Record<string, string>, ...args: string[]): Promise<Ended> {
  const cli = new CliProcess(["bench", "load", "--server", server().url, ...args], environment);
  return { exitCode: await cli.ended, output: cli.output, errors: cli.errors };
}

test(
  "a load is prepared in several schemas, run by several threads with one common count, and cleaned up",
  async () => {
    const tables = ["--schemas", "2", "--tables", "2", "--table-size", "500"];
    const missing = await benchLoad({}, ...tables, "--client-threads", "2", "--threads", "4", "run");
    expect(missing).toMatchObject({ exitCode: 3, errors: expect.stringContaining("Try: make the tables first") });

    expect(await benchLoad({}, ...tables, "prepare")).toMatchObject({ exitCode: 0 });
    expect(await benchLoad({}, ...tables, "prepare")).toMatchObject({
      exitCode: 3,
      errors: expect.stringContaining("Try: remove the tables of an earlier load first"),
    });

    const run = await benchLoad(
      {},
      ...tables,
      "--client-threads",
      "3",
      "--threads",
      "6",
      "--events",
      "300",
      "--json",
      "run",
    );
    expect(run.exitCode).toBe(0);
    const report = JSON.parse(run.output) as LoadReport;
    expect(report).toMatchObject({
      driver: expect.stringMatching(/^abreast /),
      workload: "oltp_write_only",
      options: { tables: 2, tableSize: 500, distribution: "special" },
      schemas: ["sbtest1", "sbtest2"],
      threads: 6,
      transactions: 300,
      seconds: null,
      statements: "one-by-one",
      summary: { transactions: 300, reads: 0, fairness: { transactions: { mean: 50 } } },
    });
    expect(report.summary.writes + report.summary.others).toBeGreaterThanOrEqual(1800);

    expect(await benchLoad({}, ...tables, "cleanup")).toMatchObject({ exitCode: 0 });
    expect(await query(server(), "SHOW TABLES FROM sbtest2")).toEqual([]);
  },
  TIMEOUT_MS,
);

test(
  "what a workload or sysbench has no use for is refused with what it takes",
  async () => {
    expect(await benchLoad({}, "--workload", "ddl", "--tables", "3", "run")).toMatchObject({
      exitCode: 2,
      errors: "CONFIG: ddl has no use for --tables\n  Try: it takes --rows, --repeat\n",
    });
    expect(await benchLoad({}, "--workload", "hot-rows", "--driver", "sysbench", "run")).toMatchObject({
      exitCode: 2,
      errors: expect.stringContaining("sysbench has no hot-rows"),
    });
    expect(await benchLoad({ PATH: "/nowhere" }, "--driver", "sysbench", "run")).toMatchObject({
      exitCode: 2,
      errors: expect.stringContaining("Try: apt install sysbench"),
    });
  },
  TIMEOUT_MS,
);
