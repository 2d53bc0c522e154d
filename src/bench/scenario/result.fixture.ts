import type { ScenarioResult } from "./result.ts";
import type { Metric, RunResult } from "./scenario.ts";
import { summaryOf } from "./summary.ts";

export const METRICS: Metric[] = [
  { key: "lag", title: "lag", unit: "seconds", better: "lower", resolution: 0.2 },
  { key: "speed", title: "speed", unit: "per second", better: "higher" },
  { key: "cpu", title: "CPU", unit: "cores" },
];

export const run = (values: RunResult["values"], more: Partial<RunResult> = {}): RunResult => ({
  values,
  identical: true,
  isSourceLimit: false,
  machineBusy: 0.5,
  ...more,
});

/** A result with these runs, by the cell's name. */
export function result(cells: Record<string, RunResult[]>, more: Partial<ScenarioResult> = {}): ScenarioResult {
  return {
    format: "abreast-bench-1",
    scenario: "sample",
    describe: "for tests",
    scale: "tiny",
    server: "mysql-9.7",
    serverVersion: "9.7.4",
    durability: "durable",
    repeat: 1,
    seed: 1,
    startedAt: "2026-11-30T18:00:00.000Z",
    seconds: 12,
    environment: {
      abreast: "0.2.0",
      commit: "0123456789ab",
      node: "v20.20.2",
      cpu: "a processor",
      cores: 2,
      memoryBytes: 2 ** 34,
      kernel: "6.18",
    },
    load: { threads: 4 },
    settings: { source: { sync_binlog: "1" }, target: { sync_binlog: "1" } },
    metrics: METRICS,
    cells: Object.entries(cells).map(([name, runs]) => ({
      name,
      settings: { who: name, workers: 4 },
      runs,
      summary: summaryOf(METRICS, runs),
      curves: { lag: { stepSeconds: 1, values: [0, 1, 2] } },
      marks: [],
    })),
    warnings: [],
    ...more,
  };
}
