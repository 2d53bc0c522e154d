import { Command } from "commander";
import { systemClock } from "../../base/clock.ts";
import { ReplicationError } from "../../base/error.ts";
import type { EngineStatus } from "../../engine/status.ts";
import { readLastStatus } from "../last-status.ts";
import { renderStatus, WORKERS_SHOWN } from "../render/status.ts";
import { formatDuration, formatLag } from "../render/units.ts";
import { addEngineFlags, runningEngine } from "../running-engine.ts";
import { Screen } from "../screen.ts";
import { duration } from "../values.ts";

const LAG_MS_MAX = 365 * 86_400_000;

const HELP = `
What the states and columns mean: docs/parallel.md. Of an engine that has ended the last status is shown: when and why it ended.

Exit codes: 0 it runs (or is paused on request); 1 it failed, or lags more than --lag-max; 3 no engine runs there: it was stopped, or nothing is
known of it.

Examples:
  abreast status
  abreast status --channel east --lag-max 30s
  abreast status --json | jq .lagMs`;

export function statusCommand(): Command {
  return addEngineFlags(
    new Command("status").description("what a running engine does, in the words of SHOW REPLICA STATUS"),
  )
    .option("--lag-max <TIME>", "exit with 1 when the lag is above this, or unknown")
    .option("--all", `every worker; otherwise of more than ${WORKERS_SHOWN} the busiest are shown`)
    .addHelpText("after", HELP)
    .action(async (flags: { lagMax?: string; all?: true }) => {
      const lagMsMax = readLagMax(flags.lagMax);
      const screen = new Screen(process.stdout, process.stderr);
      const { client, folder, json } = runningEngine(flags);
      const show = (status: EngineStatus): void =>
        screen.print(
          json
            ? JSON.stringify(status, undefined, 2)
            : renderStatus(status, screen.width, flags.all === true ? Number.POSITIVE_INFINITY : WORKERS_SHOWN),
        );
      let status: EngineStatus;
      try {
        status = await client.status();
      } catch (error) {
        const last = isNotRunning(error) ? readLastStatus(folder) : undefined;
        if (last === undefined) throw error;
        show(last);
        if (last.state !== "failed") throw error;
        screen.note(`the engine failed ${formatDuration(systemClock.nowMs() - last.atMs)} ago`);
        process.exitCode = 1;
        return;
      }
      show(status);
      const complaint = complaintOf(status, lagMsMax);
      if (complaint === undefined) return;
      screen.note(complaint);
      process.exitCode = 1;
    });
}

function isNotRunning(error: unknown): boolean {
  return error instanceof ReplicationError && error.code === "NOT_RUNNING";
}

/** Why the answer to "is all well" is no. */
function complaintOf(status: EngineStatus, lagMsMax: number | undefined): string | undefined {
  if (status.state === "failed") return "the engine failed";
  if (lagMsMax === undefined) return undefined;
  if (status.lagMs !== undefined && status.lagMs <= lagMsMax) return undefined;
  return `the lag is ${formatLag(status.lagMs)}, more than ${formatDuration(lagMsMax)}`;
}

function readLagMax(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const result = duration(0, LAG_MS_MAX).safeParse(text);
  if (result.success) return result.data;
  throw new ReplicationError("CONFIG", `--lag-max is ${JSON.stringify(text)}`, {
    hint: result.error.issues[0]?.message ?? "give a time like 30s",
  });
}
