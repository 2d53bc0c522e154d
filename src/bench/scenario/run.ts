import { ReplicationError } from "../../base/error.ts";
import { Contest, type ContestOptions } from "../contest/contest.ts";
import { inTurn } from "../predict/measure.ts";
import { round } from "../units.ts";
import { environmentNow, MachineWatch } from "./machine.ts";
import { FORMAT, type ScenarioResult } from "./result.ts";
import type { Cell, CellResult, Group, Measurement, Plan, Scale, Scenario } from "./scenario.ts";
import { summaryOf, warningsOf } from "./summary.ts";

export interface RunOptions extends Omit<ContestOptions, "serverOptions"> {
  scale: Scale;
  seed: number;
  /** How often each cell is measured. */
  repeat: number;
  /** Names of the only cells that are measured; all when not given. */
  only?: readonly string[];
}

/** Measures every cell of a scenario, on fresh servers that are gone afterwards. */
export function runScenario(scenario: Scenario, options: RunOptions): Promise<ScenarioResult> {
  const { server, durability, scale, seed, repeat, onProgress } = options;
  const { serverOptions = [] } = scenario;
  const startedAt = new Date();
  const startMs = performance.now();
  const plan = select(scenario.plan({ scale, server, seed }), options.only);
  const total = plan.groups.reduce((sum, group) => sum + group.cells.length * repeat, 0);
  const cells = new Map(
    plan.groups.flatMap((group) => group.cells.map((cell): [Cell, CellResult] => [cell, emptyResult(cell)])),
  );
  let serverVersion = "";
  const settings: Measurement["settings"][] = [];
  let done = 0;
  return Contest.hold({ ...options, serverOptions }, async (contest) => {
    for (const group of plan.groups) {
      await group.play(contest, async (measure) => {
        for (const cell of inTurn(group.cells, repeat)) {
          onProgress(`${++done} of ${total}: ${cell.name}`);
          const watch = new MachineWatch();
          let machineBusy = 1;
          const measurement = await measure(cell).finally(() => {
            machineBusy = watch.end();
          });
          ({ serverVersion } = measurement);
          settings.push(measurement.settings);
          const result = cells.get(cell);
          if (result !== undefined) addRun(result, measurement, machineBusy);
        }
      });
    }
    const results = [...cells.values()];
    for (const result of results) result.summary = summaryOf(scenario.metrics, result.runs);
    return {
      format: FORMAT,
      scenario: scenario.name,
      describe: scenario.describe,
      scale,
      server,
      serverVersion,
      durability,
      repeat,
      seed,
      startedAt: startedAt.toISOString(),
      seconds: round((performance.now() - startMs) / 1000, 1),
      environment: environmentNow(),
      load: { ...plan.load },
      settings: {
        source: joined(settings.map((each) => each.source)),
        target: joined(settings.map((each) => each.target)),
      },
      metrics: [...scenario.metrics],
      cells: results,
      warnings: warningsOf(scenario.metrics, results),
    };
  });
}

/** @throws ReplicationError CONFIG when a name is no cell's */
function select(plan: Plan, only: readonly string[] | undefined): Plan {
  if (only === undefined) return plan;
  const names = plan.groups.flatMap((group) => group.cells.map((cell) => cell.name));
  const unknown = only.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    throw new ReplicationError("CONFIG", `there is no cell called ${unknown}`, {
      hint: `choose from ${names.join(", ")}`,
    });
  }
  const groups = plan.groups.map((group): Group => ({
    cells: group.cells.filter((cell) => only.includes(cell.name)),
    play: (contest, measureAll) => group.play(contest, measureAll),
  }));
  return { ...plan, groups: groups.filter((group) => group.cells.length > 0) };
}

/** A setting that cells do not have in common has all its values: `1 or 25000`. */
function joined(settings: readonly Readonly<Record<string, string>>[]): Record<string, string> {
  const names = [...new Set(settings.flatMap((each) => Object.keys(each)))];
  return Object.fromEntries(
    names.map((name) => [name, [...new Set(settings.flatMap((each) => each[name] ?? []))].join(" or ")]),
  );
}

const emptyResult = ({ name, settings }: Cell): CellResult => ({
  name,
  settings: { ...settings },
  runs: [],
  summary: {},
  curves: {},
  marks: [],
});

function addRun(result: CellResult, measurement: Measurement, machineBusy: number): void {
  const { values, identical, isSourceLimit = false, curves = {}, marks = [] } = measurement;
  const rounded = Object.entries(values).map(([key, value]) => [key, value === null ? null : round(value, 3)]);
  result.runs.push({ values: Object.fromEntries(rounded), identical, isSourceLimit, machineBusy });
  result.curves = { ...curves };
  result.marks = [...marks];
}
