import { type Command, Option } from "commander";
import { OPTIONS, type OptionFacts, type OptionName } from "./options.ts";

/** Adds the flags of these options, and `--config`, with help from the option table. Values stay text: config.ts reads them. */
export function addFlags(command: Command, names: readonly OptionName[]): Command {
  for (const name of names) {
    const option = OPTIONS.get(name);
    if (option !== undefined && option.noFlag !== true) addFlag(command, option);
  }
  const config = new Option(
    "--config <FILE>",
    "the options file (default: abreast.yaml in the current folder, if it is there)",
  );
  command.addHelpOption(new Option("-h, --help", "print help").helpGroup("Run:"));
  return command.addOption(config.helpGroup("Run:"));
}

function addFlag(command: Command, option: OptionFacts): void {
  const group = `${option.group}:`;
  if (option.isSwitch) {
    const special = option.placeholder === "" ? "" : ` [${option.placeholder}]`;
    command.addOption(new Option(`--${option.key}${special}`, option.what).helpGroup(group));
    // Takes back what the environment or the options file switched on.
    command.addOption(new Option(`--no-${option.key}`, `not --${option.key}`).hideHelp());
    return;
  }
  const described = option.defaultText === undefined ? option.what : `${option.what} (default: ${option.defaultText})`;
  command.addOption(new Option(`--${option.key} <${option.placeholder}>`, described).helpGroup(group));
}
