import { ReplicationError } from "../../base/error.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { eventType } from "../../binlog/event.ts";
import { BinlogFileSplitter } from "../../binlog/file-reader.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import { eventFact } from "../../binlog/grammar.ts";
import { Assembler } from "../../transaction/assembler.ts";
import type { Transaction } from "../../transaction/transaction.ts";
import type { BinlogInput, Fault } from "./input.ts";
import { type Bound, type Range, RangeFilter } from "./range.ts";

export interface TransactionsOptions {
  range?: Range;
  onFault: (fault: Fault) => void;
  /** The bound of the range that names something which never came. */
  onMissing?: (bound: Bound) => void;
  /** Uncompressed bytes read since the last call. */
  onBytes?: (bytes: number) => void;
  /** A transaction whose events take more has a `range` for its body instead: number of the input, from 0, and offsets in it. */
  bytesInMemoryMax?: number;
  /** Check each event's CRC. Default false: it would cost more than the reading. */
  verifyChecksums?: boolean;
}

const BYTES_IN_MEMORY_MAX = 64 << 20;
/** Of one file: then it is no binlog that anybody can use. */
const FAULTS_MAX = 100;
const FIRST_EVENT = 4;

/**
 * All transactions of these files, in order. What cannot be read is told to `onFault`, and reading goes on behind it: at the next transaction where the events themselves
 * can still be told apart, else at the next file. Never throws for what is in a file.
 * @throws ReplicationError CONFIG: the range ends before it begins
 */
export async function* transactionsOf(
  inputs: readonly BinlogInput[],
  options: TransactionsOptions,
): AsyncGenerator<Transaction> {
  const filter = new RangeFilter(
    options.range ?? { from: undefined, to: undefined },
    inputs.map(({ name }) => name),
  );
  let ordinal = 0;
  for (const [number, input] of inputs.entries()) {
    if (filter.isOver) break;
    if (filter.skipsFile(input.name)) continue;
    const file = new FileTransactions(number, input, ordinal, options);
    for await (const transaction of file.all()) {
      const place = filter.take(transaction);
      if (place === "inside") yield transaction;
      if (place === "past" || filter.isOver) break;
    }
    ordinal = file.ordinal;
  }
  const { missing } = filter;
  if (missing !== undefined) options.onMissing?.(missing);
}

/** The transactions of one file. Table maps, positions and what is open begin anew with it, as in the server's applier. */
class FileTransactions {
  ordinal: number;
  readonly #number: number;
  readonly #input: BinlogInput;
  readonly #options: TransactionsOptions;
  #assembler: Assembler;
  /** The last format description: an assembler that begins in the middle needs it. */
  #description: Buffer | undefined;
  /** Looking for the next transaction behind a fault. */
  #isLost = false;
  /** A transaction ended before its end: the event that showed it is to be looked at again. */
  #isBrokenOff = false;
  #faults = 0;

  constructor(number: number, input: BinlogInput, ordinal: number, options: TransactionsOptions) {
    this.#number = number;
    this.#input = input;
    this.#options = options;
    this.ordinal = ordinal;
    this.#assembler = this.#newAssembler(FIRST_EVENT);
  }

  async *all(): AsyncGenerator<Transaction> {
    const splitter = new BinlogFileSplitter({ verify: this.#options.verifyChecksums ?? false });
    try {
      for await (const chunk of this.#input.chunks()) {
        this.#options.onBytes?.(chunk.length);
        splitter.feed(chunk);
        for (let event = splitter.next(); event !== undefined; event = splitter.next()) {
          const transaction = this.#take(event, splitter) ?? this.#takeAgain(event, splitter);
          if (transaction !== undefined) yield transaction;
          if (this.#faults >= FAULTS_MAX) return;
        }
      }
      splitter.finish();
    } catch (error) {
      if (!(error instanceof ReplicationError)) throw error;
      this.#fault(error, error.where.position ?? splitter.endOffset);
    }
  }

  #take(event: Buffer, splitter: BinlogFileSplitter): Transaction | undefined {
    const type = eventType(event);
    const isDescription = type === EVENT_TYPE.FORMAT_DESCRIPTION || type === EVENT_TYPE.START_V3;
    const at = splitter.eventOffset;
    try {
      if (this.#isLost && !isDescription && !begins(event, splitter.format)) return undefined;
      const transaction = this.#assembler.push(
        event,
        { file: this.#number, offset: at },
        { file: this.#number, offset: splitter.endOffset },
      );
      if (isDescription) this.#description = Buffer.from(event);
      else this.#isLost = false;
      if (transaction !== undefined) this.ordinal = transaction.ordinal;
      return transaction;
    } catch (error) {
      if (!(error instanceof ReplicationError)) throw error;
      // Lost already, and this was no beginning: one fault is told once.
      if (!this.#isLost) this.#fault(error, at);
      this.#isBrokenOff = error.code === "GRAMMAR" && !this.#isLost;
      this.#isLost = true;
      this.#assembler = this.#newAssembler(at);
      return undefined;
    }
  }

  /** What does not belong to the transaction before it may be the first event of the next one. */
  #takeAgain(event: Buffer, splitter: BinlogFileSplitter): Transaction | undefined {
    if (!this.#isBrokenOff) return undefined;
    this.#isBrokenOff = false;
    return this.#take(event, splitter);
  }

  #newAssembler(position: number): Assembler {
    const bytesInMemoryMax = this.#options.bytesInMemoryMax ?? BYTES_IN_MEMORY_MAX;
    const assembler = new Assembler(
      { bytesInMemoryMax },
      { source: { file: this.#input.name, position }, ordinal: this.ordinal },
    );
    if (this.#description !== undefined) {
      const nowhere = { file: this.#number, offset: 0 };
      assembler.push(this.#description, nowhere, nowhere);
    }
    return assembler;
  }

  #fault(error: ReplicationError, offset: number): void {
    this.#faults++;
    this.#options.onFault({ file: this.#input.name, offset, reason: error.message });
  }
}

/** Whether a transaction begins here whatever came before: with a GTID, or with BEGIN where there are none. */
export function begins(event: Buffer, format: BinlogFormat): boolean {
  switch (eventType(event)) {
    case EVENT_TYPE.GTID:
    case EVENT_TYPE.ANONYMOUS_GTID:
    case EVENT_TYPE.GTID_TAGGED:
    case EVENT_TYPE.MARIADB_GTID:
      return true;
    case EVENT_TYPE.QUERY:
      return eventFact(event, format) === "begin";
    default:
      return false;
  }
}
