import { Command, InvalidArgumentError, Option } from "commander";
import type { EngineTask } from "../../bench/apply/abreast.ts";
import { benchApply, type EnginePlace } from "../../bench/apply/apply.ts";
import { contendersFor, selectContenders } from "../../bench/apply/contenders.ts";
import { type Durability, formatReport } from "../../bench/apply/report.ts";
import { exitOnSignals } from "../../bench/temporary-folder.ts";
import { type DistributionName, DISTRIBUTIONS } from "../../bench/workload/distribution.ts";
import { FLAVOUR_NAMES, type ServerFlavour } from "../../sandbox/flavours.ts";
import { localEngineSettings } from "../local-engine.ts";

interface ApplyFlags {
  server: ServerFlavour;
  transactions: number;
  threads: number;
  durability: Durability;
  workers: number[];
  runs?: string[];
  tables: number;
  tableSize: number;
  distribution: DistributionName;
  seed: number;
  keep?: true;
  json?: true;
}

/** `bench`: measures the engine against the server's own replica on local servers. */
export function benchCommand(): Command {
  return new Command("bench")
    .description("measure the server's own replica and Abreast side by side, on local servers")
    .addCommand(applyCommand());
}

function applyCommand(): Command {
  return new Command("apply")
    .description("how long does a backlog take to apply: the server's own replica, and Abreast")
    .addOption(
      new Option("--server <flavour>", "source and target are both this").choices(FLAVOUR_NAMES).default("mysql-9.7"),
    )
    .option("--transactions <number>", "transactions in the backlog", positive, 60_000)
    .option("--threads <number>", "threads that write the backlog on the source", positive, 16)
    .addOption(
      new Option(
        "--durability <kind>",
        "of the target: durable flushes redo log and binlog at every commit, relaxed leaves that to the system",
      )
        .choices(["durable", "relaxed"])
        .default("durable"),
    )
    .option("--workers <list>", "workers of the server's own replica, one run each", positiveList, [1, 4, 16])
    .option("--runs <list>", "only these runs, in this order, such as native-16,abreast-own", list)
    .option("--tables <number>", "tables sbtest1 … of sysbench's oltp_write_only", positive, 8)
    .option("--table-size <number>", "rows in each table", positive, 10_000)
    .addOption(
      new Option("--distribution <name>", "which rows are changed; special is sysbench 1.0's default")
        .choices(Object.keys(DISTRIBUTIONS))
        .default("special"),
    )
    .option("--seed <number>", "of the random numbers", positive, 1)
    .option("--keep", "leave data folders and relay logs where they are")
    .option("--json", "one JSON document on standard output")
    .addHelpText("after", "\nExit code: 0 when every target is identical to the source, 1 when not.")
    .action(async (flags: ApplyFlags) => {
      exitOnSignals();
      const { server, tables, tableSize, distribution, seed } = flags;
      const all = contendersFor(server, flags.workers);
      const report = await benchApply({
        server,
        transactions: flags.transactions,
        threads: flags.threads,
        durability: flags.durability,
        data: { tables, tableSize, distribution, seed },
        contenders: flags.runs === undefined ? all : selectContenders(all, flags.runs),
        keep: flags.keep === true,
        engineTask,
        onProgress: (text) => process.stderr.write(`${text}\n`),
      });
      process.stdout.write(`${flags.json === true ? JSON.stringify(report, undefined, 2) : formatReport(report)}\n`);
      if (!report.runs.every((run) => run.identical)) process.exitCode = 1;
    });
}

function engineTask({ contender, ...place }: EnginePlace): EngineTask {
  const { workers, commitOrder, gtid } = contender;
  return { ...localEngineSettings(), ...place, workers, commitOrder, gtid };
}

function positive(text: string): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number === 0) throw new InvalidArgumentError("Give a whole number above 0.");
  return number;
}

function list(text: string): string[] {
  return text.split(",").map((part) => part.trim());
}

function positiveList(text: string): number[] {
  return list(text).map(positive);
}
