import { Command } from "commander";
import { appliedText } from "../render/summary.ts";
import { addEngineFlags, runningEngine } from "../running-engine.ts";

const HELP = `
Transactions at work are finished or rolled back, and the checkpoint on the target is true: replicate goes on from there.`;

export function stopCommand(): Command {
  return addEngineFlags(new Command("stop").description("end a running engine cleanly, and wait until it has ended"))
    .addHelpText("after", HELP)
    .action(async (flags: object) => {
      const { client, json } = runningEngine(flags);
      const status = await client.stop();
      await client.ended();
      process.stdout.write(`${json ? JSON.stringify(status) : `stopped, ${appliedText(status)}`}\n`);
    });
}
