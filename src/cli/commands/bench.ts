import { Command } from "commander";
import { applyCommand } from "./bench/apply.ts";
import { batchMixCommand } from "./bench/batch-mix.ts";
import { compareCommand } from "./bench/compare.ts";
import { deleteInsertCommand } from "./bench/delete-insert.ts";
import { listCommand } from "./bench/list.ts";
import { loadCommand } from "./bench/load.ts";
import { predictCommand } from "./bench/predict.ts";
import { runCommand } from "./bench/run.ts";

/** `bench`: measures the engine against the server's own replica on local servers. */
export function benchCommand(): Command {
  return new Command("bench")
    .description("measure the server's own replica and Abreast side by side, on local servers")
    .addCommand(listCommand())
    .addCommand(runCommand())
    .addCommand(compareCommand())
    .addCommand(applyCommand())
    .addCommand(deleteInsertCommand())
    .addCommand(batchMixCommand())
    .addCommand(predictCommand())
    .addCommand(loadCommand());
}
