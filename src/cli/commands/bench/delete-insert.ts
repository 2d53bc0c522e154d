import { Command } from "commander";
import { benchDeleteInsert } from "../../../bench/delete-insert/delete-insert.ts";
import { formatDeleteInsert } from "../../../bench/delete-insert/report.ts";
import { RUN_NAMES, selectRuns, selectVariants, VARIANTS } from "../../../bench/delete-insert/variants.ts";
import { exitOnSignals } from "../../../bench/temporary-folder.ts";
import {
  answer,
  type ContestFlags,
  contestOptions,
  engineTask,
  EXIT_CODE_HELP,
  list,
  positive,
  tellProgress,
} from "./values.ts";

interface DeleteInsertFlags extends ContestFlags {
  rounds: number;
  variants: string[];
  runs: string[];
}

export function deleteInsertCommand(): Command {
  const command = new Command("delete-insert")
    .description("eight workers slower than one: rows deleted and inserted again under a unique index, and variants")
    .option("--rounds <number>", "deletes and inserts of each of the 8 sessions", positive, 600)
    .option(
      "--variants <list>",
      "only these variants",
      list,
      VARIANTS.map((each) => each.name),
    )
    .option("--runs <list>", "only these runs, in this order", list, [...RUN_NAMES])
    .addHelpText("after", EXIT_CODE_HELP)
    .action(async (flags: DeleteInsertFlags) => {
      exitOnSignals();
      const { server, durability, rounds, seed } = flags;
      const report = await benchDeleteInsert({
        server,
        durability,
        rounds,
        seed,
        variants: selectVariants(flags.variants),
        runs: selectRuns(flags.runs),
        keep: flags.keep === true,
        engineTask,
        onProgress: tellProgress,
      });
      answer(report, flags, formatDeleteInsert);
    });
  for (const option of contestOptions("durable")) command.addOption(option);
  return command;
}
