import { writeFile } from "node:fs/promises";
import { Command, InvalidArgumentError } from "commander";
import { abreastCells, type CellSettings, nativeCells } from "../../../bench/predict/cells.ts";
import { LOAD_NAMES, type LoadName } from "../../../bench/predict/loads.ts";
import { measure } from "../../../bench/predict/measure.ts";
import { type Measured, readMeasured } from "../../../bench/predict/measured.ts";
import { predict } from "../../../bench/predict/predict.ts";
import { compare, formatPredict, formatPredictMarkdown } from "../../../bench/predict/report.ts";
import { exitOnSignals, TemporaryFolder } from "../../../bench/temporary-folder.ts";
import { POLICY_NAMES, type PolicyName } from "../../../schedule/policies/policies.ts";
import { localEngineSettings } from "../../local-engine.ts";
import { readCosts } from "../../simulate-options.ts";
import {
  answer,
  type ContestFlags,
  contestOptions,
  engineTask,
  EXIT_CODE_HELP,
  list,
  positive,
  positiveList,
  tellProgress,
} from "./values.ts";

interface PredictFlags extends ContestFlags {
  loads: LoadName[];
  policies: PolicyName[];
  workers: number[];
  commitOrder: ("preserve" | "relaxed")[];
  packTransactions: number;
  transactions: number;
  repeat: number;
  native?: number[];
  packed?: number[];
  save?: string;
  measured?: string;
  markdown?: string;
  costs?: string;
  saveCosts?: string;
}

export function predictCommand(): Command {
  const command = new Command("predict")
    .description(
      "how long policies and workers take, measured with the engine and predicted by the simulator from the same binlog",
    )
    .option("--loads <list>", `of ${LOAD_NAMES.join(", ")}`, oneOfEach(LOAD_NAMES), [...LOAD_NAMES])
    .option("--policies <list>", "policies of Abreast", oneOfEach(POLICY_NAMES), [
      "database",
      "logical-clock",
      "writeset",
      "writeset-session",
    ])
    .option("--workers <list>", "workers of Abreast", positiveList, [1, 2, 4, 8, 16])
    .option("--commit-order <list>", "preserve, relaxed", oneOfEach(["preserve", "relaxed"] as const), ["preserve"])
    .option("--pack-transactions <number>", "most source transactions in one commit", positive, 1)
    .option(
      "--packed <list>",
      "also with packing as `replicate` has it, policy writeset, with so many workers",
      positiveList,
    )
    .option("--native <list>", "also the server's own replica, with so many workers", positiveList)
    .option("--transactions <number>", "of each load that does not end by itself", positive, 6_000)
    .option("--repeat <number>", "run everything so often, forwards and backwards in turn", positive, 2)
    .option("--save <folder>", "keep what was measured, and the binlogs, there")
    .option("--measured <folder>", "measure nothing: compare with what `--save` kept there")
    .option("--markdown <file>", "write the tables there, too")
    .option("--costs <file>", "predict with these costs, as `simulate` does: calibrate on no cell")
    .option("--save-costs <file>", "write the costs there that were predicted with")
    .addHelpText("after", EXIT_CODE_HELP)
    .action(async (flags: PredictFlags) => {
      exitOnSignals();
      const files = flags.save === undefined ? new TemporaryFolder("predict", flags.keep === true) : undefined;
      try {
        const measured =
          flags.measured === undefined
            ? await measureCells(flags, files?.path ?? flags.save ?? "")
            : await readMeasured(flags.measured);
        const given = flags.costs === undefined ? undefined : readCosts(flags.costs);
        const { predictions, calibratedOn, costs } = await predict(measured, given);
        if (flags.saveCosts !== undefined) await writeFile(flags.saveCosts, `${JSON.stringify(costs, undefined, 2)}\n`);
        const report = compare(measured, predictions, calibratedOn);
        if (flags.markdown !== undefined) await writeFile(flags.markdown, formatPredictMarkdown(report));
        answer(report, flags, formatPredict);
      } finally {
        files?.remove();
      }
    });
  for (const option of contestOptions("durable")) command.addOption(option);
  return command;
}

function measureCells(flags: PredictFlags, filesFolder: string): Promise<Measured> {
  const { server, durability, loads, transactions, seed, repeat } = flags;
  return measure({
    server,
    durability,
    loads,
    cells: cellsOf(flags),
    transactions,
    seed,
    repeat,
    filesFolder,
    keep: flags.keep === true,
    engineTask,
    onProgress: tellProgress,
  });
}

function cellsOf({
  server,
  policies,
  workers,
  commitOrder,
  packTransactions,
  packed,
  native,
}: PredictFlags): CellSettings[] {
  return [
    ...abreastCells({ policies, workers, commitOrders: commitOrder, packTransactionsMax: packTransactions }),
    ...abreastCells({
      policies: ["writeset"],
      workers: packed ?? [],
      commitOrders: ["preserve"],
      packTransactionsMax: localEngineSettings().packTransactionsMax,
    }),
    ...nativeCells(server, native ?? []),
  ];
}

function oneOfEach<Name extends string>(names: readonly Name[]): (text: string) => Name[] {
  return (text) =>
    list(text).map((name) => {
      const known = names.find((each) => each === name);
      if (known === undefined) throw new InvalidArgumentError(`Choose from ${names.join(", ")}.`);
      return known;
    });
}
