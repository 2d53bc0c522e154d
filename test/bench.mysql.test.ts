import { describe, expect, it } from "vitest";
import type { ApplyReport } from "../src/bench/apply/report.ts";
import type { BatchMixReport } from "../src/bench/batch-mix/report.ts";
import type { DeleteInsertReport } from "../src/bench/delete-insert/report.ts";
import type { PredictReport } from "../src/bench/predict/report.ts";
import { CliProcess } from "./helpers/engine-process.ts";

async function bench<Report>(...args: string[]): Promise<Report> {
  const process = new CliProcess(["bench", ...args, "--json"]);
  expect(await process.ended, process.errors).toBe(0);
  return JSON.parse(process.output) as Report;
}

describe("bench apply --json", () => {
  it("prints one document: native and Abreast, near and far, all identical to the source", async () => {
    const report = await bench<ApplyReport>(
      "apply",
      "--server=mysql-9.7",
      "--transactions=2000",
      "--durability=relaxed",
      "--workers=4",
      "--round-trip=2",
      "--tables=2",
      "--table-size=1000",
    );
    expect(report).toMatchObject({ server: "mysql-9.7", durability: "relaxed", transactions: 2000 });
    expect(
      report.runs.map(({ name, who, workers, commitOrder, gtid, identical }) => ({
        name,
        who,
        workers,
        commitOrder,
        gtid,
        identical,
      })),
    ).toEqual([
      { name: "native-4", who: "native", workers: 4, commitOrder: "preserve", gtid: "preserve", identical: true },
      { name: "abreast-own", who: "abreast", workers: 4, commitOrder: "preserve", gtid: "own", identical: true },
      { name: "abreast-own-2ms", who: "abreast", workers: 4, commitOrder: "preserve", gtid: "own", identical: true },
      {
        name: "abreast-preserve-4",
        who: "abreast",
        workers: 4,
        commitOrder: "preserve",
        gtid: "preserve",
        identical: true,
      },
      { name: "abreast-relaxed", who: "abreast", workers: 4, commitOrder: "relaxed", gtid: "own", identical: true },
    ]);
    const [native, own, far, preserve] = report.runs;
    expect([native?.engineCpuSeconds, native?.rssBytesMax]).toEqual([null, null]);
    expect(own?.engineCpuSeconds).toBeGreaterThan(0);
    expect(own?.rssBytesMax).toBeGreaterThan(10e6);
    expect(report.preserve).toMatchObject([{ workers: 4, native: native?.seconds, abreast: preserve?.seconds }]);
    expect(report.roundTrip).toMatchObject({ seconds: far?.seconds, secondsWithout: own?.seconds });
    // A timer may be late, never early.
    expect(report.roundTrip?.ms).toBeGreaterThanOrEqual(1.9);
    expect(report.best.native).toBe(native?.seconds);
  }, 300_000);

  it("runs everything as often as it is told, in turn, and says how much that differs", async () => {
    const report = await bench<ApplyReport>(
      "apply",
      "--transactions=300",
      "--durability=relaxed",
      "--workers=1",
      "--runs=native-1,abreast-own",
      "--repeat=2",
      "--tables=1",
      "--table-size=500",
    );
    expect(report.runs.map((run) => run.name)).toEqual(["native-1", "abreast-own", "native-1", "abreast-own"]);
    expect(report.contenders.map(({ name, runs }) => ({ name, runs }))).toEqual([
      { name: "native-1", runs: 2 },
      { name: "abreast-own", runs: 2 },
    ]);
    for (const { secondsMin, secondsMedian } of report.contenders) {
      expect(secondsMin).toBeLessThanOrEqual(secondsMedian);
    }
  }, 300_000);
});

it("bench delete-insert --json tells of each run what its locks cost, and that its target is identical", async () => {
  const report = await bench<DeleteInsertReport>(
    "delete-insert",
    "--rounds=20",
    "--durability=relaxed",
    "--variants=unique index,order off",
    "--runs=native-8,abreast-8",
  );
  expect(report).toMatchObject({ server: "mysql-9.7", isolation: "READ-COMMITTED", workload: { rounds: 20 } });
  expect(report.runs).toHaveLength(4);
  for (const [index, run] of report.runs.entries()) {
    expect(run).toMatchObject({
      variant: index < 2 ? "unique index" : "order off",
      who: index % 2 === 0 ? "native" : "abreast",
      workers: 8,
      commitOrder: index < 2 ? "preserve" : "relaxed",
      identical: true,
    });
    expect(run.transactions).toBeGreaterThan(300);
    for (const count of [run.retries, run.lockWaits, run.lockWaitTimeouts]) {
      expect(Number.isInteger(count) && count >= 0).toBe(true);
    }
    expect(run.lockBreaks === null).toBe(run.who === "native");
  }
}, 300_000);

it("bench batch-mix --json tells how many transactions run together, by the server's rule and by the graph", async () => {
  const report = await bench<BatchMixReport>(
    "batch-mix",
    "--batches=8",
    "--batch-rows-max=2000",
    "--durability=relaxed",
  );
  expect(report.workload).toMatchObject({ batches: 8, batchRowsMin: 1000, batchRowsMax: 2000 });
  expect(
    report.runs.map(({ who, dependency, workers, commitOrder, identical }) => ({
      who,
      dependency,
      workers,
      commitOrder,
      identical,
    })),
  ).toEqual([
    { who: "native", dependency: "low-water-mark", workers: 8, commitOrder: "relaxed", identical: true },
    { who: "abreast", dependency: "low-water-mark", workers: 8, commitOrder: "relaxed", identical: true },
    { who: "abreast", dependency: "graph", workers: 8, commitOrder: "relaxed", identical: true },
  ]);
  for (const run of report.runs) {
    for (const mean of [run.meanConcurrency, run.engineConcurrency]) {
      expect(mean === null || mean === 0 || (mean >= 1 && mean <= 8)).toBe(true);
    }
  }
  expect(report.graphRatio).not.toBeNull();
}, 300_000);

it("bench predict --json measures cells and predicts the same ones from their binlog", async () => {
  const report = await bench<PredictReport>(
    "predict",
    "--loads=uniform",
    "--policies=database,writeset",
    "--workers=1,4",
    "--packed=4",
    "--native=1,4",
    "--transactions=300",
    "--repeat=1",
    "--durability=relaxed",
  );
  expect(report.loads).toMatchObject([{ name: "uniform", transactions: 300 }]);
  expect(report.calibratedOn).toBe("uniform writeset-4");
  expect(
    report.runs.map(({ who, policy, workers, packTransactionsMax }) => [who, policy, workers, packTransactionsMax]),
  ).toEqual([
    ["abreast", "database", 1, 1],
    ["abreast", "database", 4, 1],
    ["abreast", "writeset", 1, 1],
    ["abreast", "writeset", 4, 1],
    ["abreast", "writeset", 4, 500],
    ["native", "single", 1, 1],
    ["native", "writeset", 4, 1],
  ]);
  for (const run of report.runs) {
    expect(run.secondsMedian).toBeGreaterThan(0);
    expect(run.predictedSeconds).toBeGreaterThan(0);
    expect(run.identical).toBe(true);
  }
  const { abreast, abreastPacked, native } = report.errors;
  expect([abreast.cells, abreastPacked.cells, native.cells]).toEqual([4, 1, 2]);
  expect(report.nativeOrder).toMatchObject([{ load: "uniform" }]);
}, 300_000);
