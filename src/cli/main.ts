import { Command, CommanderError } from "commander";
import { describeError, ReplicationError, type ErrorCode } from "../base/error.ts";
import { hidePasswords } from "../observe/secrets.ts";
import { benchCommand } from "./commands/bench.ts";
import { demoCommand } from "./commands/demo.ts";
import { pauseCommand } from "./commands/pause.ts";
import { preflightCommand } from "./commands/preflight.ts";
import { replicateCommand } from "./commands/replicate.ts";
import { resumeCommand } from "./commands/resume.ts";
import { sandboxCommand } from "./commands/sandbox.ts";
import { statusCommand } from "./commands/status.ts";
import { stopCommand } from "./commands/stop.ts";
import { verifyCommand } from "./commands/verify.ts";
import { workersCommand } from "./commands/workers.ts";
import { surviveClosedOutput } from "./screen.ts";
import { VERSION } from "../version.ts";

/** Exit codes of every command: 0 done, 1 the answer is "no" (differs, lagging, unsafe), 2 usage or configuration, 3 runtime failure. */
const EXIT_CODES: Partial<Record<ErrorCode, number>> = { CONFIG: 2, PREFLIGHT: 1 };
const EXIT_USAGE = 2;
const EXIT_FAILURE = 3;

/** Runs one command and ends the process. `args` are those behind `abreast`. */
export async function main(args: readonly string[]): Promise<void> {
  // Takes a password in a URL off the process list, where every user of the machine could read it.
  process.title = `abreast ${args[0] ?? ""}`.trim();
  surviveClosedOutput();
  process.on("uncaughtException", (error) => process.exit(report(error, args)));
  try {
    await program().parseAsync([...args], { from: "user" });
    process.exit(process.exitCode ?? 0);
  } catch (error) {
    process.exit(report(error, args));
  }
}

function program(): Command {
  const abreast = new Command("abreast")
    .description("Keeps MySQL and MariaDB replicas abreast of their source.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .addCommand(preflightCommand())
    .addCommand(replicateCommand())
    .addCommand(statusCommand())
    .addCommand(pauseCommand())
    .addCommand(resumeCommand())
    .addCommand(stopCommand())
    .addCommand(workersCommand())
    .addCommand(verifyCommand())
    .addCommand(demoCommand())
    .addCommand(benchCommand())
    .addCommand(sandboxCommand())
    .addHelpText("after", "\nExit codes: 0 done; 1 the answer is no; 2 usage or configuration; 3 runtime failure.");
  throwInsteadOfExit(abreast);
  return abreast;
}

function throwInsteadOfExit(command: Command): void {
  // What commander says of a mistake is said by `report`, in our own form and with our own exit code.
  command.exitOverride().configureOutput({ outputError: () => {} });
  for (const child of command.commands) throwInsteadOfExit(child);
}

/** Says what went wrong, in up to three lines, and answers the exit code. */
function report(error: unknown, args: readonly string[]): number {
  if (error instanceof CommanderError) return reportUsage(error, args);
  const known = error instanceof ReplicationError ? error : defect(error);
  process.stderr.write(`${hidePasswords(describeError(known))}\n`);
  return EXIT_CODES[known.code] ?? EXIT_FAILURE;
}

function reportUsage({ code, message }: CommanderError, args: readonly string[]): number {
  // Help and version were asked for and printed.
  if (code === "commander.helpDisplayed" || code === "commander.version") return 0;
  if (code === "commander.help") return EXIT_USAGE;
  const [what = "", nearest] = message.replace(/^error: /, "").split("\n");
  const meant = /\(Did you mean (.*)\?\)/.exec(nearest ?? "")?.[1];
  const command = args[0] === undefined || args[0].startsWith("-") ? "" : ` ${args[0]}`;
  const hint = meant === undefined ? `abreast${command} --help` : `did you mean ${meant}?`;
  process.stderr.write(`${hidePasswords(describeError(new ReplicationError("CONFIG", what, { hint })))}\n`);
  return EXIT_USAGE;
}

function defect(error: unknown): ReplicationError {
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return new ReplicationError("DEFECT", what, { hint: "report this, with what led to it", cause: error });
}
