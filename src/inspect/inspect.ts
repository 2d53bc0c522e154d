import { closeSync, fstatSync, openSync } from "node:fs";
import { systemReason } from "../base/system-error.ts";
import type { Schema } from "../schema/dump.ts";
import type { BinlogInput } from "./input/input.ts";
import { type Bound, type Range, RangeFilter } from "./input/range.ts";
import type { InspectReport } from "./report.ts";
import { scanFile } from "./scan/file-scan.ts";
import { PartScan } from "./scan/part-scan.ts";
import { schemaKeys } from "./scan/schema-keys.ts";
import { Scanner } from "./scan/scanner.ts";
import type { ScanThreads, ThreadSetting } from "./scan/threads.ts";
import { unitsOf } from "./scan/units.ts";
import { LogSummary } from "./summary/log-summary.ts";

export interface InspectOptions {
  /** Only this part of the log. */
  range?: Range;
  /** Names and keys of tables that the log does not tell. */
  schema?: Schema;
  /** Check each event's CRC. Default false. */
  verifyChecksums?: boolean;
  /** Also what each policy would make of the log, which reads it once more; `small`: when it has few transactions. Default `no`. */
  parallelism?: "yes" | "small" | "no";
  /** Threads beside this one, for plain files. Default: as many as are worth it. The report is the same with any number. */
  threads?: number;
  /** Bytes scanned since the last call. */
  onBytes?: (bytes: number) => void;
  /** The bound of the range that names something which never came. */
  onMissing?: (bound: Bound) => void;
}

/** All that can be said of these files, read once. Never throws for what is in them: see `faults`. */
export async function inspect(inputs: readonly BinlogInput[], options: InspectOptions = {}): Promise<InspectReport> {
  const names = inputs.map(({ name }) => name);
  const range = options.range === undefined ? undefined : new RangeFilter(options.range, names);
  const log = new LogScan(inputs, options, range);
  try {
    await log.start();
    for (const [number, input] of inputs.entries()) {
      if (range?.isOver === true) break;
      if (range?.skipsFile(input.name) === true) continue;
      await log.scan(input, number);
    }
    await log.finish();
  } finally {
    await log.end();
  }
  if (range?.missing !== undefined) options.onMissing?.(range.missing);
  const { parallelism: wanted, schema } = options;
  const isWanted = wanted === "yes" || (wanted === "small" && log.summary.transactions <= SMALL_TRANSACTIONS);
  const parallelism =
    isWanted && inputs.every(({ bytes }) => bytes !== undefined)
      ? await (
          await import("./parallelism/log-parallelism.ts")
        ).parallelismOf(inputs, {
          range: options.range,
          schema,
          onBytes: options.onBytes ?? (() => {}),
        })
      : undefined;
  return log.summary.report(inputs, { parallelism, checksumsVerified: options.verifyChecksums ?? false });
}

/** Of a log whose parallelism is had in no time. */
const SMALL_TRANSACTIONS = 5000;

/** With less a thread has hardly begun when all is read. */
const THREADS_BYTES_MIN = 256 << 20;

class LogScan {
  readonly summary = new LogSummary();
  readonly #scanner: Scanner;
  readonly #setting: ThreadSetting;
  readonly #threadsWanted: number | undefined;
  #threads: ScanThreads | undefined;
  readonly #onBytes: (bytes: number) => void;

  constructor(inputs: readonly BinlogInput[], options: InspectOptions, range: RangeFilter | undefined) {
    const { verifyChecksums = false, onBytes = () => {} } = options;
    const schema = options.schema === undefined ? undefined : schemaKeys(options.schema);
    this.#setting = { schema, verifyChecksums };
    this.#scanner = new Scanner({ ...this.#setting, range });
    this.#onBytes = onBytes;
    const plain = inputs.filter(({ plainPath }) => plainPath !== undefined);
    const bytes = plain.reduce((sum, input) => sum + (input.bytes ?? 0), 0);
    const wanted = options.threads ?? (bytes < THREADS_BYTES_MIN ? 0 : undefined);
    // Where a range begins and ends is known only by who reads all before it.
    this.#threadsWanted = range === undefined ? wanted : 0;
  }

  /** What only some logs need is loaded for them only: a small one is read before it would be there. */
  async start(): Promise<void> {
    if (this.#threadsWanted === 0) return;
    const [{ ScanThreads: Threads, threadsWorthIt }, { UnitScan }] = await Promise.all([
      import("./scan/threads.ts"),
      import("./scan/unit-scan.ts"),
    ]);
    const count = this.#threadsWanted ?? threadsWorthIt();
    if (count === 0) return;
    this.#threads = new Threads(count, this.#setting, new UnitScan(this.#scanner), (part, unit) => {
      this.summary.add(part);
      this.#onBytes(unit.to - unit.from);
    });
  }

  async scan(input: BinlogInput, number: number): Promise<void> {
    const file = { number, name: input.name };
    if (input.plainPath !== undefined) return this.#plainFile(input.plainPath, file);
    // Parts are added up in their order.
    await this.finish();
    const { scanStream } = await import("./scan/stream-scan.ts");
    await scanStream(input, this.#partScan(file), this.#onBytes);
  }

  async finish(): Promise<void> {
    await this.#threads?.finish();
  }

  async end(): Promise<void> {
    await this.#threads?.end();
  }

  #partScan(file: { number: number; name: string }): PartScan {
    return new PartScan(this.#scanner, file, (part) => this.summary.add(part));
  }

  async #plainFile(path: string, file: { number: number; name: string }): Promise<void> {
    let descriptor: number;
    try {
      descriptor = openSync(path, "r");
    } catch (error) {
      this.summary.fault({ file: file.name, offset: 0, reason: `it cannot be opened: ${systemReason(error)}` });
      return;
    }
    const threads = this.#threads;
    try {
      if (threads === undefined) {
        scanFile(descriptor, fstatSync(descriptor).size, this.#partScan(file), this.#onBytes);
      } else {
        for (const unit of unitsOf(descriptor)) await threads.take({ file, path, unit }, descriptor);
      }
    } finally {
      closeSync(descriptor);
    }
  }
}
