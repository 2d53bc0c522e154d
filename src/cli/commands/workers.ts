import { Command } from "commander";
import { ReplicationError } from "../../base/error.ts";
import type { EngineStatus } from "../../engine/status.ts";
import { OPTIONS } from "../options.ts";
import { renderWorkers } from "../render/workers.ts";
import { addEngineFlags, runningEngine } from "../running-engine.ts";
import { Screen } from "../screen.ts";

const HELP = `
The stream goes on meanwhile: new workers join as soon as they are connected, those that are too many finish what they have. It lasts until the engine
ends; for the next start write --workers or workers: in abreast.yaml.

Examples:
  abreast workers
  abreast workers 8
  abreast workers 8 --json`;

export function workersCommand(): Command {
  return addEngineFlags(
    new Command("workers").description("show the workers of a running engine, or change how many there are"),
  )
    .argument("[count]", "how many apply from now on")
    .addHelpText("after", HELP)
    .action(async (text: string | undefined, flags: object) => {
      const count = text === undefined ? undefined : readCount(text);
      const screen = new Screen(process.stdout, process.stderr);
      const { client, json } = runningEngine(flags);
      const before = await client.status();
      const status = count === undefined ? before : await client.setWorkers(count);
      if (json) screen.print(JSON.stringify(report(status, before)));
      else screen.print(count === undefined ? renderWorkers(status, screen.width) : changeText(status, before));
    });
}

/** What `--json` prints. */
interface WorkersReport {
  wantedWorkers: number;
  /** Before this command. */
  formerlyWanted: number;
  workers: EngineStatus["workers"];
}

function report({ wantedWorkers, workers }: EngineStatus, before: EngineStatus): WorkersReport {
  return { wantedWorkers, formerlyWanted: before.wantedWorkers, workers };
}

function changeText({ wantedWorkers }: EngineStatus, { wantedWorkers: before }: EngineStatus): string {
  return `applying with ${wantedWorkers} ${wantedWorkers === 1 ? "worker" : "workers"} (was ${before})`;
}

/** @throws ReplicationError CONFIG */
function readCount(text: string): number {
  const result = OPTIONS.get("workers")?.schema.safeParse(text);
  if (result?.success === true) return result.data as number;
  throw new ReplicationError("CONFIG", `${JSON.stringify(text)} is no number of workers`, {
    hint: result?.error.issues[0]?.message ?? "abreast workers --help",
  });
}
