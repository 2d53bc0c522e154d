import { type Command, Option } from "commander";
import { OPTIONS, type OptionFacts, type OptionName } from "./options.ts";

/**
 * Adds the flags of these options, and `--config`, with help from the option table. Values stay text: config.ts reads them. `others` are taken too, so that another
 * command's line can be given, and not shown.
 */
export function addFlags(command: Command, names: readonly OptionName[], others: readonly OptionName[] = []): Command {
  for (const option of OPTIONS.values()) {
    const isShown = names.includes(option.name);
    if ((isShown || others.includes(option.name)) && option.noFlag !== true) addFlag(command, option, isShown);
  }
  const config = new Option(
    "--config <FILE>",
    "the options file (default: abreast.yaml in the current folder, if it is there)",
  );
  command.addHelpOption(new Option("-h, --help", "print help").helpGroup("Run:"));
  return command.addOption(config.helpGroup("Run:"));
}

function addFlag(command: Command, option: OptionFacts, isShown: boolean): void {
  const group = `${option.group}:`;
  const add = (flag: Option): Command => command.addOption(isShown ? flag.helpGroup(group) : flag.hideHelp());
  if (option.isSwitch) {
    const special = option.placeholder === "" ? "" : ` [${option.placeholder}]`;
    add(new Option(`--${option.key}${special}`, option.what));
    // Takes back what the environment or the options file switched on.
    command.addOption(new Option(`--no-${option.key}`, `not --${option.key}`).hideHelp());
    return;
  }
  const described = option.defaultText === undefined ? option.what : `${option.what} (default: ${option.defaultText})`;
  add(new Option(`--${option.key} <${option.placeholder}>`, described));
}
