import { describe, expect, it } from "vitest";
import { contendersFor, selectContenders } from "./contenders.ts";
import { type ApplyReport, type ApplyRun, bestOf, formatReport } from "./report.ts";

function run(who: ApplyRun["who"], seconds: number, more: Partial<ApplyRun> = {}): ApplyRun {
  return {
    who,
    workers: 1,
    policy: "single",
    commitOrder: "preserve",
    gtid: "own",
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
      run("native", 40),
      run("native", 20, { commitOrder: "relaxed" }),
      run("native", 30),
      run("abreast", 8),
      run("abreast", 10),
    ];
    expect(bestOf(runs)).toEqual({ native: 30, abreast: 8, ratio: 3.75 });
  });

  it("has no ratio when one side did not run", () => {
    expect(bestOf([run("abreast", 8)])).toEqual({ native: null, abreast: 8, ratio: null });
    expect(bestOf([run("native", 8, { commitOrder: "relaxed" }), run("abreast", 8)])).toMatchObject({
      native: null,
      ratio: null,
    });
  });
});

describe("formatReport", () => {
  it("shows each run against the best native one, and marks a difference", () => {
    const runs = [run("native", 30), run("abreast", 10, { identical: false })];
    const report: ApplyReport = {
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
      runs,
      best: bestOf(runs),
    };
    const lines = formatReport(report).split("\n");
    expect(lines.find((line) => line.startsWith("native"))).toMatch(/ 30\.0 +2000 +1\.00 +5\.0 +yes$/);
    expect(lines.find((line) => line.startsWith("abreast"))).toMatch(/ 10\.0 +6000 +3\.00 +50 +120 +5\.0 +NO$/);
    expect(lines.at(-1)).toBe("Commit order preserved: native 30.0 s, Abreast 10.0 s: 3.00 times faster.");
  });
});

describe("contenders", () => {
  it("are natives and ours in turn", () => {
    expect(contendersFor("mysql-9.7", [1, 4, 16]).map((each) => each.name)).toEqual([
      "native-1",
      "abreast-own",
      "native-4",
      "abreast-preserve",
      "native-16",
    ]);
    expect(contendersFor("mariadb-10.11", [1, 4, 16]).map((each) => each.name)).toEqual([
      "native-1",
      "abreast-own",
      "native-4",
      "native-16",
      "native-16-conservative",
    ]);
  });

  it("on MySQL 5.6 keep the commit order only with one worker", () => {
    const natives = contendersFor("mysql-5.6", [1, 16]).filter((each) => each.who === "native");
    expect(natives.map((each) => each.commitOrder)).toEqual(["preserve", "relaxed"]);
  });

  it("can be chosen by name, and a wrong name is told with the right ones", () => {
    const all = contendersFor("mariadb-10.11", [1]);
    expect(selectContenders(all, ["abreast-own"])).toHaveLength(1);
    expect(() => selectContenders(all, ["abreast-preserve"])).toThrow("abreast-preserve");
  });
});
