import { readFile } from "node:fs/promises";
import { ReplicationError } from "../../base/error.ts";
import type { Durability } from "../contest/contest.ts";
import type { Environment } from "./machine.ts";
import type { CellResult, Metric, Scale } from "./scenario.ts";

/** The document that `bench run` writes and `bench compare` reads. */
export interface ScenarioResult {
  format: typeof FORMAT;
  scenario: string;
  describe: string;
  scale: Scale;
  server: string;
  serverVersion: string;
  durability: Durability;
  repeat: number;
  seed: number;
  /** UTC. */
  startedAt: string;
  seconds: number;
  environment: Environment;
  /** Sizes of data and load. */
  load: Record<string, string | number>;
  /** As the servers themselves had them; `1 or 25000` where cells differ. */
  settings: { source: Record<string, string>; target: Record<string, string> };
  metrics: Metric[];
  cells: CellResult[];
  /** What a reader must know before they believe the figures. */
  warnings: string[];
}

export const FORMAT = "abreast-bench-1";

/** @throws ReplicationError CONFIG when the file is none of ours */
export async function readResult(file: string): Promise<ScenarioResult> {
  try {
    const result = JSON.parse(await readFile(file, "utf8")) as Partial<ScenarioResult> | null;
    if (result?.format === FORMAT) return result as ScenarioResult;
  } catch (error) {
    throw new ReplicationError("CONFIG", `${file} cannot be read`, { cause: error, where: { file } });
  }
  throw new ReplicationError("CONFIG", `${file} is no result of a scenario`, {
    where: { file },
    hint: "give files that `abreast bench run` wrote",
  });
}
