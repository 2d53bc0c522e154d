import { Command } from "commander";
import { appliedText } from "../render/summary.ts";
import { addEngineFlags, runningEngine } from "../running-engine.ts";

export function resumeCommand(): Command {
  return addEngineFlags(new Command("resume").description("go on applying after a pause")).action(
    async (flags: object) => {
      const { client, json } = runningEngine(flags);
      const status = await client.resume();
      process.stdout.write(`${json ? JSON.stringify(status) : `applying again, ${appliedText(status)}`}\n`);
    },
  );
}
