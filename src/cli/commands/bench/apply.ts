import { Command, Option } from "commander";
import { benchApply } from "../../../bench/apply/apply.ts";
import { contendersFor } from "../../../bench/apply/contenders.ts";
import { formatReport } from "../../../bench/apply/report.ts";
import { selectContenders } from "../../../bench/contest/contender.ts";
import { exitOnSignals } from "../../../bench/temporary-folder.ts";
import { type DistributionName, DISTRIBUTIONS } from "../../../bench/workload/distribution.ts";
import {
  answer,
  type ContestFlags,
  contestOptions,
  engineTask,
  EXIT_CODE_HELP,
  list,
  positive,
  positiveDecimal,
  positiveList,
  tellProgress,
} from "./values.ts";

interface ApplyFlags extends ContestFlags {
  transactions: number;
  threads: number;
  workers: number[];
  runs?: string[];
  repeat: number;
  roundTrip?: number;
  tables: number;
  tableSize: number;
  distribution: DistributionName;
}

export function applyCommand(): Command {
  const command = new Command("apply")
    .description("how long does a backlog take to apply: the server's own replica, and Abreast")
    .option("--transactions <number>", "transactions in the backlog", positive, 60_000)
    .option("--threads <number>", "threads that write the backlog on the source", positive, 16)
    .option(
      "--workers <list>",
      "workers of the server's own replica, and of Abreast with the source's GTIDs, one run each",
      positiveList,
      [1, 4, 16],
    )
    .option("--runs <list>", "only these runs, in this order, such as native-16,abreast-own", list)
    .option("--repeat <number>", "run everything so often, in turn", positive, 1)
    .option(
      "--round-trip <ms>",
      "one run more, abreast-own-…ms, in which the target is this far away from Abreast",
      positiveDecimal,
    )
    .option("--tables <number>", "tables sbtest1 … of sysbench's oltp_write_only", positive, 8)
    .option("--table-size <number>", "rows in each table", positive, 10_000)
    .addOption(
      new Option("--distribution <name>", "which rows are changed; special is sysbench 1.0's default")
        .choices(Object.keys(DISTRIBUTIONS))
        .default("special"),
    )
    .addHelpText("after", EXIT_CODE_HELP)
    .action(async (flags: ApplyFlags) => {
      exitOnSignals();
      const { server, tables, tableSize, distribution, seed } = flags;
      const all = contendersFor(server, flags.workers, flags.roundTrip);
      const report = await benchApply({
        server,
        transactions: flags.transactions,
        threads: flags.threads,
        durability: flags.durability,
        data: { tables, tableSize, distribution },
        seed,
        contenders: flags.runs === undefined ? all : selectContenders(all, flags.runs),
        repeat: flags.repeat,
        keep: flags.keep === true,
        engineTask,
        onProgress: tellProgress,
      });
      answer(report, flags, formatReport);
    });
  for (const option of contestOptions("durable")) command.addOption(option);
  return command;
}
