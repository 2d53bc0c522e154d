import { InvalidArgumentError, Option } from "commander";
import type { EngineTask } from "../../../bench/contest/abreast.ts";
import type { Durability, EnginePlace } from "../../../bench/contest/contest.ts";
import { FLAVOUR_NAMES, type ServerFlavour } from "../../../sandbox/flavours.ts";
import { localEngineSettings } from "../../local-engine.ts";

/** Flags that every bench has. */
export interface ContestFlags {
  server: ServerFlavour;
  durability: Durability;
  seed: number;
  keep?: true;
  json?: true;
}

export function contestOptions(durability: Durability): Option[] {
  return [
    new Option("--server <flavour>", "source and target are both this").choices(FLAVOUR_NAMES).default("mysql-9.7"),
    new Option(
      "--durability <kind>",
      "of the target: durable flushes redo log and binlog at every commit, relaxed leaves that to the system",
    )
      .choices(["durable", "relaxed"])
      .default(durability),
    new Option("--seed <number>", "of the random numbers").argParser(positive).default(1),
    new Option("--keep", "leave data folders and relay logs where they are"),
    new Option("--json", "one JSON document on standard output"),
  ];
}

export const EXIT_CODE_HELP = "\nExit code: 0 when every target is identical to the source, 1 when not.";

export const tellProgress = (text: string): void => void process.stderr.write(`${text}\n`);

/** Prints the document or its text; the exit code says whether every target is identical. */
export function answer<Report extends { runs: readonly { identical: boolean }[] }>(
  report: Report,
  flags: ContestFlags,
  format: (report: Report) => string,
): void {
  process.stdout.write(`${flags.json === true ? JSON.stringify(report, undefined, 2) : format(report)}\n`);
  if (!report.runs.every((run) => run.identical)) process.exitCode = 1;
}

export function engineTask({ contender, ...place }: EnginePlace): EngineTask {
  const { workers, policy, commitOrder, gtid, engine } = contender;
  return { ...localEngineSettings(), ...place, workers, policy, commitOrder, gtid, ...engine };
}

export function positive(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number === 0) throw new InvalidArgumentError("Give a whole number above 0.");
  return number;
}

export function positiveDecimal(text: string): number {
  const number = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || number === 0) throw new InvalidArgumentError("Give a number above 0.");
  return number;
}

export function list(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

export function positiveList(text: string): number[] {
  return list(text).map(positive);
}
