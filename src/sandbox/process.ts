import { spawn } from "node:child_process";
import { accessSync, closeSync, constants, existsSync, openSync, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

/** A program ready for `spawn(file, args, { env })`. */
export interface Command {
  file: string;
  args: string[];
  env: NodeJS.ProcessEnv;
}

/** Which process a pid meant when it was written down: pids are used again, pairs of pid and start time are not. */
export interface ProcessIdentity {
  pid: number;
  /** Boot id and clock ticks between boot and the start of the process (proc(5), /proc/pid/stat field 22). */
  startedAt: string;
}

/**
 * Undefined when no such process exists, or when it has ended and only waits for its parent to look. A zombie with threads
 * is still ending: its ports and files are in use until the last thread is gone.
 */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  let stat: string;
  try {
    stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  } catch {
    return undefined;
  }
  // The program's name, field 2, is in parentheses and may hold spaces and parentheses itself.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const state = fields[0];
  const threads = Number(fields[17]);
  const ticks = fields[19];
  if (ticks === undefined || state === "X" || (state === "Z" && threads <= 1)) return undefined;
  return { pid, startedAt: `${bootId()}:${ticks}` };
}

export function isRunning(identity: ProcessIdentity): boolean {
  return identifyProcess(identity.pid)?.startedAt === identity.startedAt;
}

/** Signals the process if it is still the one that was written down. Returns whether it was. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isRunning(identity)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** Waits until the process has ended. Returns false when it has not within `timeoutMs`. */
export function waitForEnd(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  return waitUntil(() => !isRunning(identity), timeoutMs);
}

/** Returns false when the condition has not come true within `timeoutMs`. Keeps the process alive meanwhile. */
export async function waitUntil(condition: () => boolean, timeoutMs: number): Promise<boolean> {
  const pollMs = 10;
  for (let waitedMs = 0; waitedMs <= timeoutMs; waitedMs += pollMs) {
    if (condition()) return true;
    await sleep(pollMs);
  }
  return condition();
}

let knownBootId: string | undefined;

function bootId(): string {
  knownBootId ??= readFileSync("/proc/sys/kernel/random/boot_id", "latin1").trim();
  return knownBootId;
}

/**
 * The same command, ended by the kernel when this process ends in whatever way (PR_SET_PDEATHSIG, set by util-linux's
 * setpriv where it is installed). Whether the program exists shows only in its exit code then.
 */
export function boundToUs(command: Command): Command {
  const setpriv = ["/usr/bin/setpriv", "/bin/setpriv"].find((path) => existsSync(path));
  if (setpriv === undefined) return command;
  return { ...command, file: setpriv, args: ["--pdeathsig", "TERM", command.file, ...command.args] };
}

/** The program's path; undefined when no folder of PATH has it. */
export function programOnPath(name: string): string | undefined {
  for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
    const file = join(folder, name);
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      // The next folder may have it.
    }
  }
  return undefined;
}

export interface RunResult {
  /** Undefined when a signal ended the program. */
  exitCode: number | undefined;
  output: string;
  /** What it wrote to standard error; at most its end. */
  errors: string;
}

export interface RunOptions {
  cwd?: string;
  env?: NodeJS.ProcessEnv;
  /** A file given to the program as its standard input. */
  inputFile?: string;
  /** Called with every whole line of standard output. */
  onLine?: (line: string) => void;
}

const ERRORS_LENGTH_MAX = 16_384;

/** Runs a program to its end; it ends early when we do. */
export async function runProgram(file: string, args: readonly string[], options: RunOptions = {}): Promise<RunResult> {
  const input = options.inputFile === undefined ? "ignore" : openSync(options.inputFile, "r");
  try {
    return await new Promise<RunResult>((resolve, reject) => {
      const bound = boundToUs({ file, args: [...args], env: options.env ?? process.env });
      const child = spawn(bound.file, bound.args, {
        stdio: [input, "pipe", "pipe"],
        env: bound.env,
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      });
      let output = "";
      let errors = "";
      let lineStart = 0;
      child.stdout?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
        if (options.onLine === undefined) return;
        for (let end = output.indexOf("\n", lineStart); end >= 0; end = output.indexOf("\n", lineStart)) {
          options.onLine(output.slice(lineStart, end));
          lineStart = end + 1;
        }
      });
      child.stderr?.setEncoding("utf8").on("data", (text: string) => {
        errors = (errors + text).slice(-ERRORS_LENGTH_MAX);
      });
      child.once("error", reject);
      child.once("close", (code) => resolve({ exitCode: code ?? undefined, output, errors }));
    });
  } finally {
    if (typeof input === "number") closeSync(input);
  }
}
