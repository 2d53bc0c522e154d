import { Command } from "commander";
import type { PausePosition } from "../../engine/status.ts";
import { ReplicationError } from "../../base/error.ts";
import { appliedText } from "../render/summary.ts";
import { addEngineFlags, runningEngine } from "../running-engine.ts";

const HELP = `
The receiver goes on: what the source writes is kept in the relay log. The pause lasts until abreast resume.

Examples:
  abreast pause
  abreast pause --at binlog.000003:4711`;

export function pauseCommand(): Command {
  return addEngineFlags(new Command("pause").description("stop applying, between two transactions"))
    .option("--at <FILE:POSITION>", "go on up to exactly this place of the source's binlog, then pause")
    .addHelpText("after", HELP)
    .action(async (flags: { at?: string }) => {
      const position = readPosition(flags.at);
      const { client, json } = runningEngine(flags);
      const status = await client.pause(position);
      process.stdout.write(`${json ? JSON.stringify(status) : `paused, ${appliedText(status)}`}\n`);
    });
}

function readPosition(text: string | undefined): PausePosition | undefined {
  if (text === undefined) return undefined;
  const match = /^(.+):(\d+)$/.exec(text);
  if (match?.[1] !== undefined && match[2] !== undefined) return { file: match[1], position: Number(match[2]) };
  throw new ReplicationError("CONFIG", `--at is ${JSON.stringify(text)}`, {
    hint: "give a file and a position, like binlog.000003:4711",
  });
}
