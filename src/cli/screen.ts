import { fstatSync, writeSync } from "node:fs";
import type { WriteStream } from "node:tty";
import { ReplicationError } from "../base/error.ts";
import { systemReason } from "../base/system-error.ts";
import { hidePasswords } from "../observe/secrets.ts";

const COLUMNS_DEFAULT = 80;
const CLEAR_LINE = "\r\u001B[2K";

type Output = NodeJS.WriteStream & Partial<Pick<WriteStream, "columns">>;

/**
 * Standard output and standard error of one command, with a live line at the bottom of a terminal.
 *
 * Invariant: while a live line stands, nothing is written around this: a line printed elsewhere would be mixed with it. Every other line clears it, is
 * written whole, and the live line follows again.
 */
export class Screen {
  readonly #output: Output;
  readonly #errors: Output;
  #live = "";

  constructor(output: Output, errors: Output) {
    this.#output = output;
    this.#errors = errors;
  }

  /** A terminal that can redraw a line. */
  get isTerminal(): boolean {
    return this.#output.isTTY && process.env["TERM"] !== "dumb";
  }

  get width(): number {
    return this.#output.columns ?? COLUMNS_DEFAULT;
  }

  /** A result, on standard output. */
  readonly print = (text: string): void => this.#write(this.#output, text);

  /** A message or a log line, on standard error. */
  readonly note = (text: string): void => this.#write(this.#errors, hidePasswords(text));

  /** Replaces the live line; the empty text removes it. It must be narrower than the terminal. */
  live(text: string): void {
    if (!this.isTerminal) return;
    if (this.#live !== "" || text !== "") this.#output.write(`${CLEAR_LINE}${text}`);
    this.#live = text;
  }

  #write(stream: Output, text: string): void {
    const live = this.#live;
    this.live("");
    stream.write(`${text}\n`);
    if (live !== "") this.live(live);
  }
}

/**
 * A reader that went away (`abreast status | head -1`, a closed terminal) ends the output, not the command. Standard output that cannot be written ends the command: a lost report must
 * not look like one that was given. Messages that cannot be written end nothing: what they are about goes on.
 */
export function surviveClosedOutput(): void {
  writeWhole(process.stdout);
  process.stderr.on("error", () => {});
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code === "EPIPE" || error.code === "EIO") return;
    throw new ReplicationError("OUTPUT", `standard output cannot be written: ${systemReason(error)}`, { cause: error });
  });
}

/** When what was printed has been written, or its failure was told. */
export async function outputSettled(): Promise<void> {
  await new Promise((resolve) => setImmediate(resolve));
}

/** Node writes a file with one call and does not look at how much of it was taken: on a full disk the rest is lost without an error. */
function writeWhole(stream: NodeJS.WriteStream & { fd: number }): void {
  const { fd } = stream;
  if (!isFile(fd)) return;
  const write = (chunk: Buffer | string, encoding: BufferEncoding, done: (error?: Error) => void): void => {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk;
    try {
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
    } catch (error) {
      done(error as Error);
      return;
    }
    done();
  };
  Object.defineProperty(stream, "_write", { value: write });
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}
