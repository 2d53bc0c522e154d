import { Command, CommanderError } from "commander";
import { describeError, ReplicationError, type ErrorCode } from "../base/error.ts";
import { hidePasswords } from "../observe/secrets.ts";
import { outputSettled, surviveClosedOutput } from "./screen.ts";
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
    await (await program(args[0])).parseAsync([...args], { from: "user" });
    await outputSettled();
    process.exit(process.exitCode ?? 0);
  } catch (error) {
    const code = report(error, args);
    await outputSettled();
    process.exit(code);
  }
}

/** In the order of the help. Each is loaded when it is asked for: `inspect` of a small file is done before all of them would be there. */
const COMMANDS: Readonly<Record<string, () => Promise<Command>>> = {
  preflight: async () => (await import("./commands/preflight.ts")).preflightCommand(),
  replicate: async () => (await import("./commands/replicate.ts")).replicateCommand(),
  status: async () => (await import("./commands/status.ts")).statusCommand(),
  pause: async () => (await import("./commands/pause.ts")).pauseCommand(),
  resume: async () => (await import("./commands/resume.ts")).resumeCommand(),
  stop: async () => (await import("./commands/stop.ts")).stopCommand(),
  workers: async () => (await import("./commands/workers.ts")).workersCommand(),
  verify: async () => (await import("./commands/verify.ts")).verifyCommand(),
  inspect: async () => (await import("./commands/inspect.ts")).inspectCommand(),
  simulate: async () => (await import("./commands/simulate.ts")).simulateCommand(),
  demo: async () => (await import("./commands/demo.ts")).demoCommand(),
  bench: async () => (await import("./commands/bench.ts")).benchCommand(),
  sandbox: async () => (await import("./commands/sandbox.ts")).sandboxCommand(),
};

/** With the command that is named first; with all of them when that is none, for help and for the nearest name. */
async function program(name: string | undefined): Promise<Command> {
  const abreast = new Command("abreast")
    .description("Keeps MySQL and MariaDB replicas abreast of their source.")
    .version(VERSION, "-V, --version", "print the version")
    .helpOption("-h, --help", "print help")
    .addHelpText("after", "\nExit codes: 0 done; 1 the answer is no; 2 usage or configuration; 3 runtime failure.");
  const one = name === undefined || !Object.hasOwn(COMMANDS, name) ? undefined : COMMANDS[name];
  for (const load of one === undefined ? Object.values(COMMANDS) : [one]) abreast.addCommand(await load());
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
