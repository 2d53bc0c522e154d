import { expect, it } from "vitest";
import type { DemoReport } from "../src/bench/demo/demo.ts";
import { CliProcess } from "./helpers/engine-process.ts";

it("demo replicates a load with a pause and a DDL, ends identical and with exit code 0", async () => {
  const demo = new CliProcess(["demo", "--seconds=10", "--rate=200", "--json"]);
  expect(await demo.ended, demo.errors).toBe(0);
  const report = JSON.parse(demo.output) as DemoReport;
  expect(report).toMatchObject({ server: "mariadb-10.11", identical: true, differences: [] });
  expect(report.transactions).toBeGreaterThan(100);
  // The load's transactions, and those that made the tables.
  expect(report.applied.transactions).toBeGreaterThan(report.transactions);
  expect(report.catchUp.transactions).toBeGreaterThan(0);
  expect(demo.errors).toContain("ALTER TABLE");
}, 180_000);
