import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { exampleStatus, exampleWorker } from "../../../test/helpers/example-status.ts";
import type { CopyProgress } from "../../copy/report.ts";
import { renderCopyLine } from "./copy.ts";
import { renderLiveLine, renderPlainLine } from "./line.ts";
import { ratesBetween } from "./rates.ts";
import { renderStatus } from "./status.ts";
import { renderSummary } from "./summary.ts";
import { renderWorkers } from "./workers.ts";
import { cut, formatBytes, formatCount, formatDuration, formatPercent, formatShortDuration } from "./units.ts";

const RATES = { transactionsPerS: 12_345.4, rowsPerS: 49_380, caughtUpInMs: 95_000 };
const LARGE = exampleWorker({ rowsDone: 345_678, rowsTotal: 1_000_000, transactionsInRun: 1 });

describe("units", () => {
  test.each([
    [0, "0 B"],
    [999, "999 B"],
    [1000, "1.0 KiB"],
    [1536, "1.5 KiB"],
    [102_400, "100 KiB"],
    [1023 * 1024, "1.0 MiB"],
    [5_242_880, "5.0 MiB"],
    [9e15, "8.0 PiB"],
  ])("%d bytes are %s", (bytes, text) => expect(formatBytes(bytes)).toBe(text));

  test.each([
    [0, "0 s"],
    [49, "0 s"],
    [400, "0.4 s"],
    [9949, "9.9 s"],
    [9950, "10 s"],
    [59_499, "59 s"],
    [59_500, "1 min 00 s"],
    [200_000, "3 min 20 s"],
    [7_500_000, "2 h 05 min"],
    [86_399_999, "1 d 00 h"],
    [273_600_000, "3 d 04 h"],
  ])("%d ms are %s", (ms, text) => expect(formatDuration(ms)).toBe(text));

  test("counts have groups of three, and a share is never 100 % before it is whole", () => {
    expect([0, 999, 1000, 1_234_567.6].map(formatCount)).toEqual(["0", "999", "1,000", "1,234,568"]);
    expect(formatPercent(999_999, 1_000_000)).toBe("99 %");
    expect(formatPercent(3, 3)).toBe("100 %");
  });

  test("a cut text is as wide as asked and says that it is cut", () => {
    expect(cut("Waiting", 7)).toBe("Waiting");
    expect(cut("Waiting", 5)).toBe("Wait…");
    expect(cut("Waiting", 0)).toBe("");
  });
});

describe("rates", () => {
  const later = exampleStatus();
  const earlier = exampleStatus({
    atMs: later.atMs - 2000,
    backlogBytes: later.backlogBytes + 2_097_152,
    applied: { ...later.applied, transactions: 58_000, rows: 232_000 },
  });

  test("they are differences per second, and a shrinking backlog tells when it will be gone", () => {
    expect(ratesBetween(earlier, later)).toEqual({ transactionsPerS: 1000, rowsPerS: 4000, caughtUpInMs: 5000 });
  });

  test("a backlog that grows or stands has no end in sight", () => {
    expect(ratesBetween({ ...earlier, backlogBytes: later.backlogBytes }, later).caughtUpInMs).toBeUndefined();
    expect(ratesBetween({ ...earlier, backlogBytes: 0 }, later).caughtUpInMs).toBeUndefined();
  });

  test("two statuses of the same moment give no rate instead of an infinite one", () => {
    expect(ratesBetween(later, later)).toEqual({ transactionsPerS: 0, rowsPerS: 0, caughtUpInMs: undefined });
  });
});

describe("the live line", () => {
  test.each([200, 100, 72, 40, 20, 8])("at %d columns drops what matters least", (width) => {
    const line = renderLiveLine(exampleStatus({ workers: [exampleWorker(), LARGE] }), RATES, width);
    expect(line.length).toBeLessThanOrEqual(width);
    expect(line).toMatchSnapshot();
  });

  test("a caught-up replica shows lag 0 and no forecast", () => {
    const status = exampleStatus({ lagMs: 0, backlogBytes: 0, workers: [] });
    expect(renderLiveLine(status, { transactionsPerS: 40, rowsPerS: 160, caughtUpInMs: undefined }, 120)).toBe(
      "lag 0 s | 40 tx/s | 160 rows/s | backlog 0 B | binlog.000003:99614720 | 2 retries",
    );
  });

  test("with several workers it shows how many have something to do, and what had to be done again", () => {
    const idle = exampleWorker({ worker: 1, transactionsInRun: 0 });
    const status = exampleStatus({ lagMs: 0, workers: [exampleWorker(), idle, exampleWorker({ worker: 2 })] });
    status.applied = { ...status.applied, lockBreaks: 1, retries: 12 };
    const line = renderLiveLine(status, RATES, 200);
    expect(line).toContain(" | 2/3 workers | ");
    expect(line).toMatch(/ \| 1 lock break \| 12 retries$/);
    expect(renderLiveLine(status, RATES, 80)).toBe(
      "lag 0 s | 12,345 tx/s | backlog 5.0 MiB | 2/3 workers | binlog.000003:99614720",
    );
    status.applied = { ...status.applied, lockBreaks: 0, retries: 0 };
    expect(renderLiveLine(status, RATES, 200)).not.toMatch(/lock|retr/);
  });

  test("before anything is known it still is a line", () => {
    const status = exampleStatus({ state: "starting", lagMs: undefined, backlogBytes: 0, workers: [] });
    status.applied = { ...status.applied, position: undefined, retries: 0 };
    expect(renderLiveLine(status, { transactionsPerS: 0, rowsPerS: 0, caughtUpInMs: undefined }, 120)).toBe(
      "starting | lag unknown | 0 tx/s | 0 rows/s | backlog 0 B",
    );
  });

  test("what keeps it from running comes first", () => {
    expect(renderLiveLine(exampleStatus({ state: "paused" }), RATES, 30)).toBe("paused | lag 12 s");
    const status = exampleStatus();
    status.receiver = {
      ...status.receiver,
      state: "Reconnecting after a failed source event read",
      lastError: "ECONNREFUSED",
    };
    expect(renderLiveLine(status, RATES, 50)).toBe("connecting to source: ECONNREFUSED | lag 12 s");
    expect(renderLiveLine(status, RATES, 30)).toBe("connecting to source: ECONNRE…");
    expect(renderStatus(status, 100)).toContain("Replica_IO_Running: Connecting");
  });

  test("it never exceeds the terminal, however narrow", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 250 }), (width) => {
        const line = renderLiveLine(exampleStatus({ workers: [LARGE] }), RATES, width);
        expect(line.length).toBeLessThanOrEqual(width);
      }),
    );
  });
});

test("a plain line has its time and channel, and all of it", () => {
  expect(renderPlainLine(exampleStatus({ channel: "east" }), RATES)).toBe(
    "2025-06-01T12:00:00.000Z east: lag 12 s, 12,345 tx/s, 49,380 rows/s, backlog 5.0 MiB, caught up in 1 min 35 s, binlog.000003:99614720, 2 retries",
  );
});

describe("the status", () => {
  test.each([160, 100, 60])("at %d columns reads like SHOW REPLICA STATUS and a process list", (width) => {
    const idle = exampleWorker({
      worker: 1,
      state: "Waiting for an event from Coordinator",
      gtid: undefined,
      transactionsInRun: 0,
      rowsDone: 0,
      rowsTotal: 0,
    });
    expect(renderStatus(exampleStatus({ workers: [LARGE, idle] }), width)).toMatchSnapshot();
  });

  test("without any session on the target it says that it connects, and why, with the workers' states whole", () => {
    const state = "Connecting to target";
    const workers = [0, 1].map((worker) => exampleWorker({ worker, state, gtid: undefined, rowsTotal: 0 }));
    const status = exampleStatus({ workers });
    status.applied.lastError = "worker 1 cannot reach the target: ECONNREFUSED";
    const text = renderStatus(status, 80);
    expect(text).toContain("Replica_SQL_Running: Connecting\n");
    expect(text).toContain("Last_SQL_Error: worker 1 cannot reach the target: ECONNREFUSED\n");
    expect(text.split("\n").filter((line) => line.includes("| Connecting to target "))).toHaveLength(2);
    expect(renderLiveLine(status, RATES, 60)).toMatch(/^connecting to target: worker 1 cannot reach/);
    expect(renderStatus(exampleStatus({ workers: [...workers, exampleWorker()] }), 80)).toMatch(/SQL_Running: Yes/);
  });

  const AT_MS = exampleStatus().atMs;
  const crew = Array.from({ length: 256 }, (_, worker) => {
    const at = { worker, sinceMs: AT_MS - 7_999 };
    if (worker % 64 === 5) return exampleWorker(at);
    const state = worker < 200 ? "Waiting for dependent transaction to commit" : "Connecting to target";
    return exampleWorker({ ...at, state, gtid: undefined, transactionsInRun: 0, rowsDone: 0, rowsTotal: 0 });
  });

  test("fits 80 columns, with the state of each told apart, whole seconds, and every kind of time", () => {
    const text = renderStatus(exampleStatus({ workers: crew.slice(0, 8) }), 80);
    const tables = text.slice(text.indexOf("+--"));
    expect(Math.max(...tables.split("\n").map((line) => line.length))).toBe(80);
    expect(tables).toMatchSnapshot();
  });

  test("of many workers the busiest are shown, the others counted by what they do, and the shares are those of all", () => {
    const text = renderStatus(exampleStatus({ workers: crew }), 120);
    expect(text.match(/^\| worker \d+/gm)).toHaveLength(16);
    for (const worker of [5, 69, 133, 197]) expect(text).toMatch(new RegExp(`worker ${worker} .*Executing event`));
    expect(text).toContain(
      "240 more workers (--all shows them):\n  184 Waiting for dependent transaction to commit\n  56 Connecting to target\n",
    );
    expect(text).toMatch(/\| +all \| +50 % \|/);
    const whole = renderStatus(exampleStatus({ workers: crew }), 120, Number.POSITIVE_INFINITY);
    expect(whole.match(/^\| worker \d+/gm)).toHaveLength(256);
    expect(whole).not.toContain("more worker");
  });

  test("time that is little and not nothing is not shown as nothing, and no time at all is blank", () => {
    const times = {
      event: 999_000,
      dependency: 0,
      executing: 900,
      precedingCommit: 0,
      committing: 100,
      retry: 0,
      connection: 0,
    };
    const text = renderStatus(exampleStatus({ workers: [exampleWorker({ times })] }), 100);
    expect(text).toMatch(/\| +0 \| +<1 % \| +<1 % \| +100 % \| +\| +\| +\| +\|/);
    expect(text).toMatch(/\| time \| +0.9s \| +0.1s \| +16m39s \|/);
    const none = Object.fromEntries(Object.keys(times).map((time) => [time, 0])) as typeof times;
    expect(renderStatus(exampleStatus({ workers: [exampleWorker({ times: none })] }), 100)).not.toMatch(/NaN|Infinity/);
  });

  test("tells the policy and why, and workers that are on their way out", () => {
    const text = renderStatus(exampleStatus({ workers: crew.slice(0, 8), wantedWorkers: 2 }), 120);
    expect(text).toContain("Policy: logical-clock, dependency graph, commit order preserve\n");
    expect(text).toContain("Policy_Reason: the logical clock of MySQL 8.4.5 counts writesets already.\n");
    expect(text).toContain("Workers: 2 wanted, 6 finishing what they have, 1.0 at work at a time on average\n");
  });

  test("what was settled, passed over or broken is told, and not a word of it otherwise", () => {
    const status = exampleStatus();
    const quiet = renderStatus(status, 120) + renderSummary(status, { lastMs: 0, maxMs: 0 });
    expect(quiet).not.toMatch(/conflict|pass|lock break/i);
    status.applied = { ...status.applied, lockBreaks: 7, conflictsSkipped: 1, conflictsOverwritten: 2, passedOver: 3 };
    const text = renderStatus(status, 120);
    expect(text).toContain("Commits: 150, 2 retries, 7 lock breaks\n");
    expect(text).toContain("Conflicts: 1 row skipped, 2 rows overwritten\n");
    expect(text).toContain("Passed_Over: 3 transactions named by --skip\n");
    const summary = renderSummary(status, { lastMs: 0, maxMs: 0 });
    expect(summary).toContain("2 retries, 7 lock breaks\n");
    expect(summary).toContain("  conflicts: 1 row skipped, 2 rows overwritten\n  3 transactions passed over\n");
  });

  test("an error is shown with where and what to do", () => {
    const status = exampleStatus({
      state: "failed",
      error: {
        code: "CONFLICT",
        message: "a row to delete is missing",
        where: { table: "shop.orders", worker: 0 },
        hint: "compare the table with: abreast verify",
      },
    });
    const text = renderStatus(status, 120);
    expect(text).toContain("Last_Error: CONFLICT: a row to delete is missing at table shop.orders, worker 0");
    expect(text).toContain("Try: compare the table with: abreast verify");
  });

  test("a long GTID set breaks behind its commas and is whole when joined", () => {
    const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
    const gtids = Array.from({ length: 6 }, (_, i) => `${uuid.slice(0, -1)}${i}:1-${i + 5}`).join(",");
    const status = exampleStatus();
    status.applied.position = { file: "binlog.000003", position: 4, gtids };
    const text = renderStatus(status, 90);
    expect(Math.max(...text.split("\n").map((line) => line.length))).toBeLessThanOrEqual(140);
    expect(text.replaceAll(/\n +(?=3e11)/g, "")).toContain(`Executed_Gtid_Set: ${gtids}`);
  });
});

const COPY: CopyProgress = {
  phase: "rows",
  tablesDone: 3,
  tablesTotal: 12,
  rowsDone: 1_234_567,
  rowsTotal: 4_000_000,
  bytesDone: 312_000_000,
  rowsPerSecond: 98_765.4,
  etaSeconds: 28.2,
  table: "shop.orders",
};

describe("the line of an initial copy", () => {
  const progress = COPY;

  test.each([120, 80, 40, 16])("at %d columns drops what matters least", (width) => {
    const line = renderCopyLine(progress, width);
    expect(line.length).toBeLessThanOrEqual(width);
    expect(line).toMatchSnapshot();
  });

  test("before and behind the rows it says what is done", () => {
    expect(renderCopyLine({ ...progress, phase: "definitions" }, 80)).toBe("copying: reading the definitions");
    expect(renderCopyLine({ ...progress, phase: "objects" }, 80)).toBe("copying: views, routines, triggers and events");
  });
});

test("where the source has told no file yet, GTIDs alone say how far the target is", () => {
  const status = exampleStatus({ workers: [] });
  status.applied.position = { file: "", position: 0, gtids: "0-1-100" };
  expect(renderSummary(status, { lastMs: 0, maxMs: 0 })).toContain("applied everything up to 0-1-100\n");
  expect(renderLiveLine(status, RATES, 200)).not.toContain("binlog");
  expect(renderStatus(status, 100)).toContain("Exec_Source_Log_Pos:\n");
});

test("one is not many", () => {
  const status = exampleStatus({ state: "stopped", workers: [] });
  status.applied = { ...status.applied, transactions: 1, rows: 1, runs: 1, retries: 1, skipped: 1 };
  status.coordinator.queuedTransactions = 1;
  status.relayLog.files = 1;
  const texts = [
    renderSummary(status, { lastMs: 0, maxMs: 0 }),
    renderStatus(status, 200),
    renderCopyLine({ ...COPY, tablesDone: 0, tablesTotal: 1, rowsDone: 1 }, 200),
  ].join("\n");
  expect(texts).toContain("1 transaction, 1 row in 1 commit (0 tx/s), 1 retry\n");
  expect(texts).not.toMatch(/\b1 (transactions|rows|commits|retries|files|tables)\b/);
});

test("the summary says how far the target is and what was done", () => {
  expect(renderSummary(exampleStatus({ state: "stopped" }), { lastMs: 0, maxMs: 45_000 })).toMatchSnapshot();
  const unused = exampleStatus({ state: "failed", lagMs: undefined });
  unused.applied = { ...unused.applied, position: undefined, transactions: 0, rows: 0, runs: 0, retries: 0 };
  expect(renderSummary(unused, { lastMs: undefined, maxMs: undefined })).toMatchSnapshot();
});

test("the answer to abreast workers is how many are wanted and all of them, also while there is no engine yet", () => {
  const workers = Array.from({ length: 20 }, (_, worker) => exampleWorker({ worker }));
  const text = renderWorkers(exampleStatus({ workers, wantedWorkers: 18 }), 100);
  expect(text).toMatch(/^18 wanted, 2 finishing what they have, 1\.0 at work at a time on average\n\+-/);
  expect(text.match(/^\| worker \d+/gm)).toHaveLength(20);
  expect(renderWorkers(exampleStatus({ workers: [], wantedWorkers: 4 }), 100)).toMatch(/^4 wanted, /);
});

test("a short duration has no spaces", () => {
  expect([7, 400, 12_000, 200_000, 7_500_000, 273_600_000].map(formatShortDuration)).toEqual([
    "7ms",
    "0.4s",
    "12s",
    "3m20s",
    "2h05m",
    "3d04h",
  ]);
});
