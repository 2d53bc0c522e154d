import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const CLI = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../bin/abreast.mjs");

/** Where util-linux is: the kernel ends the process when a test runner is ended without time for anything. */
const SETPRIV = ["/usr/bin/setpriv", "/bin/setpriv"].find((place) => existsSync(place));
const BOUND_TO_US = SETPRIV === undefined ? [] : [SETPRIV, "--pdeathsig", "KILL"];

/** How a process ended: an exit code, or the signal that ended it. */
export type ProcessEnd = number | NodeJS.Signals;

/** `abreast …` in a process of its own, as a user would run it: what a kill leaves behind is then what it would leave to a user. */
export class CliProcess {
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcess;
  #output = "";
  #errors = "";
  #end: ProcessEnd | undefined;

  constructor(args: readonly string[], environment: Record<string, string> = {}) {
    const [file, ...rest] = [...BOUND_TO_US, process.execPath, CLI, ...args] as [string, ...string[]];
    this.#child = spawn(file, rest, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...environment },
    });
    this.#child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#output = (this.#output + text).slice(-OUTPUT_LENGTH_MAX);
    });
    this.#child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#errors = (this.#errors + text).slice(-OUTPUT_LENGTH_MAX);
    });
    const killAtExit = (): boolean => this.#child.kill("SIGKILL");
    process.on("exit", killAtExit);
    this.ended = new Promise((resolve, reject) => {
      this.#child.once("error", reject);
      this.#child.once("close", (code, signal) => {
        process.off("exit", killAtExit);
        this.#end = code ?? signal ?? "SIGKILL";
        resolve(this.#end);
      });
    });
  }

  /** Undefined while it runs. */
  get end(): ProcessEnd | undefined {
    return this.#end;
  }

  /** The last part of standard output. */
  get output(): string {
    return this.#output;
  }

  /** The last part of standard error. */
  get errors(): string {
    return this.#errors;
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  /** Nobody reads what it prints any more, as with `| head -1`. */
  closeOutput(): void {
    this.#child.stdout?.destroy();
  }

  /** kill -9. */
  async kill(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.ended;
  }

  /** Ctrl-C. */
  async interrupt(): Promise<ProcessEnd> {
    this.#child.kill("SIGINT");
    return this.ended;
  }
}

const OUTPUT_LENGTH_MAX = 200_000;
