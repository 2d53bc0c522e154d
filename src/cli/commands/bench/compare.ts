import { Command } from "commander";
import { compareResults, formatComparison } from "../../../bench/scenario/compare.ts";
import { readResult } from "../../../bench/scenario/result.ts";

interface CompareFlags {
  json?: true;
}

export function compareCommand(): Command {
  return new Command("compare")
    .description("two results of one scenario side by side")
    .argument("<A.json>", "as `bench run` wrote it")
    .argument("<B.json>")
    .option("--json", "one JSON document on standard output")
    .addHelpText("after", "\nExit code: 1 when B is slower than A beyond the spread of their runs, 0 when not.")
    .action(async (fileA: string, fileB: string, flags: CompareFlags) => {
      const comparison = compareResults(await readResult(fileA), await readResult(fileB));
      const text = flags.json === true ? JSON.stringify(comparison, undefined, 2) : formatComparison(comparison);
      process.stdout.write(`${text}\n`);
      if (comparison.slower.length > 0) process.exitCode = 1;
    });
}
