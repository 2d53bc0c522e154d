import { expect, it } from "vitest";
import type { ApplyReport } from "../src/bench/apply/report.ts";
import { CliProcess } from "./helpers/engine-process.ts";

it("bench apply --json prints one document: native and Abreast, both identical to the source", async () => {
  const bench = new CliProcess([
    "bench",
    "apply",
    "--server=mysql-9.7",
    "--transactions=3000",
    "--durability=relaxed",
    "--workers=4",
    "--tables=2",
    "--table-size=1000",
    "--json",
  ]);
  expect(await bench.ended, bench.errors).toBe(0);
  const report = JSON.parse(bench.output) as ApplyReport;
  expect(report).toMatchObject({ server: "mysql-9.7", durability: "relaxed", transactions: 3000 });
  expect(
    report.runs.map(({ who, workers, policy, commitOrder, gtid, identical }) => ({
      who,
      workers,
      policy,
      commitOrder,
      gtid,
      identical,
    })),
  ).toEqual([
    { who: "native", workers: 4, policy: "writeset", commitOrder: "preserve", gtid: "preserve", identical: true },
    { who: "abreast", workers: 1, policy: "single", commitOrder: "preserve", gtid: "own", identical: true },
    { who: "abreast", workers: 1, policy: "single", commitOrder: "preserve", gtid: "preserve", identical: true },
  ]);
  for (const run of report.runs) expect(run.seconds).toBeGreaterThan(0);
  const [native, ours] = report.runs;
  expect([native?.engineCpuSeconds, native?.rssBytesMax]).toEqual([null, null]);
  expect(ours?.engineCpuSeconds).toBeGreaterThan(0);
  expect(ours?.rssBytesMax).toBeGreaterThan(10e6);
  const abreast = Math.min(...report.runs.filter((run) => run.who === "abreast").map((run) => run.seconds));
  expect(report.best).toMatchObject({ native: native?.seconds, abreast });
}, 240_000);
