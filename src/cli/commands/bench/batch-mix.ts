import { Command } from "commander";
import { batchMixContenders, benchBatchMix } from "../../../bench/batch-mix/batch-mix.ts";
import { formatBatchMix } from "../../../bench/batch-mix/report.ts";
import { selectContenders } from "../../../bench/contest/contender.ts";
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

interface BatchMixFlags extends ContestFlags {
  batches: number;
  batchRowsMin: number;
  batchRowsMax: number;
  workers: number;
  runs?: string[];
}

export function batchMixCommand(): Command {
  const command = new Command("batch-mix")
    .description("large batches among small transactions: how many run together, by the server's rule and by a graph")
    .option("--batches <number>", "batch transactions of all sessions together", positive, 60)
    .option("--batch-rows-min <number>", "rows of the smallest batch", positive, 1_000)
    .option("--batch-rows-max <number>", "rows of the largest batch", positive, 10_000)
    .option("--workers <number>", "of everybody", positive, 8)
    .option("--runs <list>", "only these runs, in this order: native, abreast-low-water-mark, abreast-graph", list)
    .addHelpText("after", EXIT_CODE_HELP)
    .action(async (flags: BatchMixFlags) => {
      exitOnSignals();
      const { server, durability, seed, batches, batchRowsMin, batchRowsMax } = flags;
      const all = batchMixContenders(server, flags.workers);
      const report = await benchBatchMix({
        server,
        durability,
        seed,
        load: { batches, batchRowsMin, batchRowsMax: Math.max(batchRowsMin, batchRowsMax) },
        contenders: flags.runs === undefined ? all : selectContenders(all, flags.runs),
        keep: flags.keep === true,
        engineTask,
        onProgress: tellProgress,
      });
      answer(report, flags, formatBatchMix);
    });
  for (const option of contestOptions("durable")) command.addOption(option);
  return command;
}
