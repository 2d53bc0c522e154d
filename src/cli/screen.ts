import type { WriteStream } from "node:tty";
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

/** A reader that went away (`abreast status | head -1`, a closed terminal) ends the output, not the command. */
export function surviveClosedOutput(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && error.code !== "EIO") throw error;
    });
  }
}
