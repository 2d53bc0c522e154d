import { Command } from "commander";
import { SCENARIOS } from "../../../bench/scenario/registry.ts";
import { formatTable } from "../../../bench/table.ts";

interface ListFlags {
  json?: true;
}

export function listCommand(): Command {
  return new Command("list")
    .description("the scenarios that `bench run` measures")
    .option("--json", "one JSON document on standard output")
    .action((flags: ListFlags) => {
      const all = SCENARIOS.map(({ name, describe, minutesSmall }) => ({ name, describe, minutesSmall }));
      const rows = all.map((each) => [each.name, `${each.minutesSmall} min`, each.describe]);
      const text = formatTable(["scenario", "small scale", "shows"], rows, new Set(["small scale"]));
      process.stdout.write(`${flags.json === true ? JSON.stringify(all, undefined, 2) : text}\n`);
    });
}
