import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { ScenarioResult } from "../src/bench/scenario/result.ts";
import { CliProcess } from "./helpers/engine-process.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), "abreast-scenarios-"));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function bench(...args: string[]): Promise<string> {
  const process = new CliProcess(["bench", ...args]);
  expect(await process.ended, process.errors).toBe(0);
  return process.output;
}

describe("bench run", () => {
  it("measures live replication of both sides: table, JSON and page, lag over time, tables identical", async () => {
    const cells = "native-1,abreast-6";
    const table = await bench("run", "workers", "--scale=tiny", `--cells=${cells}`, `--out=${folder}`);
    expect(table).toMatch(/^native +1 .* yes$/m);
    expect(table).toMatch(/^Abreast +6 .* yes$/m);
    expect(table).toContain("sync_binlog 1");

    const result = JSON.parse(readFileSync(path.join(folder, "workers.json"), "utf8")) as ScenarioResult;
    expect(result).toMatchObject({
      format: "abreast-bench-1",
      scenario: "workers",
      scale: "tiny",
      durability: "durable",
    });
    for (const cell of result.cells) {
      expect(cell.runs).toMatchObject([{ identical: true }]);
      // A heartbeat comes every 100 ms, and is looked at more often: its age cannot be 0 all the time.
      expect(cell.summary["lagMean"]?.median).toBeGreaterThan(0);
      expect(cell.curves["lag"]?.values.length).toBeGreaterThan(5);
      expect(cell.summary["tps"]?.median).toBeGreaterThan(1);
    }
    const page = readFileSync(path.join(folder, "workers.html"), "utf8");
    expect(page).toContain("Lag over time, by workers");
  }, 300_000);

  it("repeats forwards and backwards, and a result is as fast as itself", async () => {
    const cells = "native-2ms,abreast-at-the-source-2ms";
    await bench("run", "network", "--scale=tiny", `--cells=${cells}`, "--repeat=2", `--out=${folder}`);
    const file = path.join(folder, "network.json");
    const { cells: measured } = JSON.parse(readFileSync(file, "utf8")) as ScenarioResult;
    expect(measured.map((cell) => cell.runs.length)).toEqual([2, 2]);
    // A timer may be late, never early.
    for (const cell of measured) expect(cell.summary["roundTripMs"]?.min).toBeGreaterThanOrEqual(1.9);
    expect(await bench("compare", file, file)).toContain("B is not slower than A");
  }, 300_000);
});
