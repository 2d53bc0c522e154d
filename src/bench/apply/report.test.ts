import { describe, expect, it } from "vitest";
import { bestOf, preservedOf, roundTripOf, summaryOf } from "./comparison.ts";
import { type ApplyRun, formatReport, reportOf } from "./report.ts";

function run(name: string, seconds: number, more: Partial<ApplyRun> = {}): ApplyRun {
  const who = name.startsWith("native") ? "native" : "abreast";
  return {
    name,
    who,
    workers: 1,
    policy: "single",
    commitOrder: "preserve",
    gtid: who === "native" ? "preserve" : "own",
    roundTripMs: null,
    seconds,
    engineCpuSeconds: who === "native" ? null : 3,
    rssBytesMax: who === "native" ? null : 120e6,
    targetCpuSeconds: 5,
    identical: true,
    ...more,
  };
}

describe("bestOf", () => {
  it("compares only runs that keep the commit order", () => {
    const runs = [
      run("native-1", 40),
      run("native-4", 20, { commitOrder: "relaxed" }),
      run("native-16", 30),
      run("abreast-own", 8),
      run("abreast-preserve-1", 10),
    ];
    expect(bestOf(runs)).toEqual({ native: 30, abreast: 8, ratio: 3.75 });
  });

  it("goes by the median of a contender's runs, so that one lucky run wins nothing", () => {
    const runs = [run("native-1", 30), run("abreast-own", 2), run("abreast-own", 10), run("abreast-own", 12)];
    expect(bestOf(runs)).toEqual({ native: 30, abreast: 10, ratio: 3 });
    expect(summaryOf(runs)).toEqual([
      { name: "native-1", runs: 1, secondsMin: 30, secondsMedian: 30 },
      { name: "abreast-own", runs: 3, secondsMin: 2, secondsMedian: 10 },
    ]);
  });

  it("has no ratio when one side did not run", () => {
    expect(bestOf([run("abreast-own", 8)])).toEqual({ native: null, abreast: 8, ratio: null });
    expect(bestOf([run("native-4", 8, { commitOrder: "relaxed" }), run("abreast-own", 8)])).toMatchObject({
      native: null,
      ratio: null,
    });
  });
});

describe("preservedOf", () => {
  it("compares both sides with as many workers, each with the source's GTIDs and order", () => {
    const runs = [
      run("native-1", 40),
      run("native-4", 30, { workers: 4 }),
      run("abreast-own", 1, { workers: 4 }),
      run("abreast-preserve-1", 20, { gtid: "preserve" }),
      run("abreast-preserve-4", 25, { workers: 4, gtid: "preserve" }),
      run("abreast-preserve-16", 5, { workers: 16, gtid: "preserve" }),
    ];
    expect(preservedOf(runs)).toEqual([
      { workers: 1, native: 40, abreast: 20, ratio: 2 },
      { workers: 4, native: 30, abreast: 25, ratio: 1.2 },
    ]);
  });
});

describe("roundTripOf", () => {
  it("tells which share of the speed is left, and such a run is never the best", () => {
    const runs = [run("native-1", 40), run("abreast-own", 8), run("abreast-own-2ms", 10, { roundTripMs: 2.31 })];
    expect(roundTripOf(runs)).toEqual({ ms: 2.31, seconds: 10, secondsWithout: 8, speed: 0.8 });
    expect(bestOf([run("native-1", 40), run("abreast-own-2ms", 10, { roundTripMs: 2.31 })]).abreast).toBeNull();
  });

  it("is nothing without a run to compare with", () => {
    expect(roundTripOf([run("abreast-own-2ms", 10, { roundTripMs: 2 })])).toBeNull();
    expect(roundTripOf([run("abreast-own", 10)])).toBeNull();
  });
});

describe("formatReport", () => {
  it("shows each run against the best native one, marks a difference, and ends with what follows", () => {
    const report = reportOf({
      server: "mysql-9.7",
      serverVersion: "9.7.4",
      durability: "durable",
      transactions: 60_000,
      workload: {
        name: "oltp_write_only",
        tables: 8,
        tableSize: 10_000,
        distribution: "special",
        threads: 16,
        seed: 1,
      },
      binlogBytes: 104e6,
      runs: [
        run("native-1", 30),
        run("abreast-own", 10, { identical: false }),
        run("abreast-own-2ms", 12.5, { roundTripMs: 2.1 }),
        run("abreast-preserve-1", 15, { gtid: "preserve" }),
      ],
    });
    const lines = formatReport(report).split("\n");
    expect(lines.find((line) => line.startsWith("native-1 "))).toMatch(/ 30\.0 +2000 +1\.00 +5\.0 +yes$/);
    expect(lines.find((line) => line.startsWith("abreast-own "))).toMatch(/ 10\.0 +6000 +3\.00 +50 +120 +5\.0 +NO$/);
    expect(lines.slice(-3)).toEqual([
      "Source's GTIDs and commit order preserved, workers 1: native 30.0 s, Abreast 15.0 s: 2.00 times as fast.",
      "Round trip of 2.1 ms to the target: 12.5 s instead of 10.0 s: 80 % of the speed.",
      "Commit order preserved: native 30.0 s, Abreast 10.0 s: 3.00 times as fast.",
    ]);
  });
});
