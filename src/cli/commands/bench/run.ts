import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { Command, Option } from "commander";
import { findScenario } from "../../../bench/scenario/registry.ts";
import { formatResult, resultPage } from "../../../bench/scenario/report.ts";
import { runScenario } from "../../../bench/scenario/run.ts";
import { SCALES, type Scale } from "../../../bench/scenario/scenario.ts";
import { exitOnSignals } from "../../../bench/temporary-folder.ts";
import {
  type ContestFlags,
  contestOptions,
  engineTask,
  EXIT_CODE_HELP,
  list,
  positive,
  tellProgress,
} from "./values.ts";

interface RunFlags extends ContestFlags {
  scale: Scale;
  repeat: number;
  cells?: string[];
  out: string;
}

export function runCommand(): Command {
  const command = new Command("run")
    .description("measure one scenario on fresh servers: a table, a JSON file, a page with charts")
    .argument("<name>", "see `bench list`")
    .addOption(
      new Option(
        "--scale <size>",
        "small: all scenarios in 20 minutes on 2 cores; full: as in the articles; tiny: a trial",
      )
        .choices(SCALES)
        .default("small"),
    )
    .option("--repeat <number>", "measure every cell so often, forwards and backwards in turn", positive, 1)
    .option("--cells <list>", "only these cells of its grid, such as native-6,abreast-6", list)
    .option("--out <folder>", "NAME.json and NAME.html go there", "bench-results")
    .addHelpText("after", EXIT_CODE_HELP)
    .action(async (name: string, flags: RunFlags) => {
      exitOnSignals();
      const scenario = findScenario(name);
      await mkdir(flags.out, { recursive: true });
      const result = await runScenario(scenario, {
        server: flags.server,
        durability: flags.durability,
        scale: flags.scale,
        seed: flags.seed,
        repeat: flags.repeat,
        ...(flags.cells === undefined ? {} : { only: flags.cells }),
        keep: flags.keep === true,
        engineTask,
        onProgress: tellProgress,
      });
      const json = JSON.stringify(result, undefined, 2);
      const files = [join(flags.out, `${name}.json`), join(flags.out, `${name}.html`)] as const;
      await writeFile(files[0], `${json}\n`);
      await writeFile(files[1], resultPage(result, scenario));
      process.stdout.write(`${flags.json === true ? json : formatResult(result)}\n`);
      tellProgress(`written: ${files.join(", ")}`);
      if (!result.cells.every((cell) => cell.runs.every((run) => run.identical))) process.exitCode = 1;
    });
  for (const option of contestOptions("durable")) command.addOption(option);
  return command;
}
