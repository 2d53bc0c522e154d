import { Command } from "commander";
import { preflight } from "../../preflight/preflight.ts";
import { readConfig, serverAddress } from "../config.ts";
import { addFlags } from "../flags.ts";
import { OPTIONS, type OptionName } from "../options.ts";
import { preflightOptions } from "../preparations.ts";
import { renderPreflight } from "../render/preflight.ts";
import { Screen } from "../screen.ts";

const SHOWN = [
  "source",
  "sourcePassword",
  "sourcePasswordFile",
  "target",
  "targetPassword",
  "targetPasswordFile",
  "channel",
  "startFrom",
  "init",
  "serverId",
  "gtid",
  "semiSync",
  "json",
] as const;
/** All that `replicate` takes: the same command line works for both. */
const ALL: readonly OptionName[] = [...OPTIONS.keys()];

const HELP = `
Looks at both servers and changes nothing. Give it the options that replicate will get, all of them: what is needed depends on some.

Exit codes: 0 safe to start, perhaps with warnings; 1 not safe; 2 configuration; 3 the checks could not be made.

Examples:
  abreast preflight --source mysql://repl@db1 --target mysql://abreast@db2 --init
  abreast preflight --all
  abreast preflight --json | jq -r '.checks[] | select(.level == "error") | .remedy'`;

export function preflightCommand(): Command {
  return addFlags(new Command("preflight").description("name what is unsafe before a replication starts"), SHOWN, ALL)
    .option("--all", "also list the checks that are ok")
    .addHelpText("after", HELP)
    .action(async (flags: { all?: true }) => {
      const config = readConfig(ALL, { flags: { ...flags }, environment: process.env, folder: process.cwd() });
      const { json } = config.values;
      const screen = new Screen(process.stdout, process.stderr);
      const report = await preflight({
        source: serverAddress(config, "source"),
        target: serverAddress(config, "target"),
        options: preflightOptions(config.values),
      });
      screen.print(json ? JSON.stringify(report, undefined, 2) : renderPreflight(report, flags.all === true));
      if (!report.ok) process.exitCode = 1;
    });
}
