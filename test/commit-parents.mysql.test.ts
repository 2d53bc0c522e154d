import { afterAll, beforeAll, expect, test } from "vitest";
import { makeBacklog } from "../src/bench/contest/backlog.ts";
import { TemporaryFolder } from "../src/bench/temporary-folder.ts";
import { oltpWriteOnly } from "../src/bench/workload/oltp-write-only.ts";
import type { SandboxServer } from "../src/sandbox/start.ts";
import { type CommitParentReport, compareCommitParents, type TableKeys } from "./helpers/commit-parents.ts";
import { writeConflicts } from "./helpers/conflicting-load.ts";
import { useServer } from "./helpers/servers.ts";

/** The long form: 60,000. */
const TRANSACTIONS = Number(process.env["ABREAST_COMPARE_TRANSACTIONS"] ?? 3_000);
const TIMEOUT_MS = 60_000 + 40 * TRANSACTIONS;

const folder = new TemporaryFolder("commit-parents");
let sysbench: SandboxServer | undefined;
const conflicting = useServer("mysql-9.7", {
  options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2", "--max-binlog-size=256K"],
});

beforeAll(async () => {
  const backlog = await makeBacklog({
    server: "mysql-9.7",
    folder,
    // Several files: clocks start anew in each.
    serverOptions: ["--max-binlog-size=2M"],
    workload: oltpWriteOnly({ tables: 8, tableSize: 2_000, distribution: "uniform" }),
    seed: 9,
    transactions: TRANSACTIONS,
    threads: 16,
    onProgress: () => {},
  });
  sysbench = backlog.source;
}, TIMEOUT_MS);

afterAll(async () => {
  await sysbench?.stop({ keepData: true });
  folder.remove();
});

test(
  `${TRANSACTIONS} transactions of sysbench: logical-clock is the server's clock; writeset is never later than it, and keeps every two that share a row in order`,
  async () => {
    const report = await compareCommitParents(sysbench as SandboxServer, (_, table) =>
      table.startsWith("sbtest") ? { unique: [[0]] } : undefined,
    );
    expectRight(report, TRANSACTIONS);
  },
  TIMEOUT_MS,
);

const FIRST_COLUMN: TableKeys = { unique: [[0]] };
/** As utf8mb4_general_ci sees the names of the load. */
const FOLDED: Record<string, string> = { é: "e", ß: "s" };
const KEYS: Record<string, TableKeys> = {
  "shop.hot": FIRST_COLUMN,
  "shop.taken": {
    unique: [[0], [1, 2], [3]],
    fold: { column: 3, to: (text) => FOLDED[text] ?? text.toLowerCase().trimEnd() },
  },
  "shop.parent": FIRST_COLUMN,
  "shop.child": { ...FIRST_COLUMN, parent: { column: 1, table: "shop.parent", key: 0, primary: true } },
  "shop.strict": { ...FIRST_COLUMN, parent: { column: 1, table: "shop.parent", key: 0, primary: true } },
  "shop.code": { unique: [[0], [1]] },
  "shop.coded": { ...FIRST_COLUMN, parent: { column: 1, table: "shop.code", key: 1, primary: false } },
  "crm.notes": FIRST_COLUMN,
  "crm.big": FIRST_COLUMN,
};

test(
  "hot rows, unique keys, collations and foreign keys: the same",
  async () => {
    await writeConflicts(conflicting(), { transactions: 3_000, threads: 8, seed: 3, defines: false });
    const report = await compareCommitParents(conflicting(), (schema, table) => KEYS[`${schema}.${table}`]);
    expectRight(report, 1_500);
  },
  TIMEOUT_MS,
);

function expectRight(report: CommitParentReport, transactionsMin: number): void {
  const { transactions, same, earlier, pairs, clockFaults, later, unordered } = report;
  process.stderr.write(
    `commit parents: ${transactions} transactions, writeset ${same} as the server, ${earlier} earlier, ${later.length} later; ` +
      `${pairs} pairs, ${unordered.length} unordered; ${clockFaults.length} clock faults\n`,
  );
  expect(transactions).toBeGreaterThanOrEqual(transactionsMin);
  expect(pairs).toBeGreaterThan(transactions / 2);
  expect(same).toBeGreaterThan(0);
  expect({ clockFaults: clockFaults.slice(0, 5), later: later.slice(0, 5), unordered: unordered.slice(0, 5) }).toEqual({
    clockFaults: [],
    later: [],
    unordered: [],
  });
}
