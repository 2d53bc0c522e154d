import type { RelayLog } from "../relay/relay-log.ts";
import type { RelayReader } from "../relay/relay-reader.ts";
import { Assembler } from "../transaction/assembler.ts";
import type { TableFilter } from "../transaction/body.ts";
import { EMPTY_BODY } from "../transaction/event-list.ts";
import { isPackable } from "../transaction/packable.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import type { AutoPolicy } from "../schedule/policies/auto.ts";
import type { Policy } from "../schedule/policy.ts";
import type { Writeset } from "../schedule/writeset.ts";
import { describeId, type RelayPosition, type SourcePosition, type Transaction } from "../transaction/transaction.ts";
import type { AppliedAhead } from "./ahead.ts";
import type { Coordinator, Offer } from "./coordinator.ts";
import { advance, comparePositions, copyProgress, type Goal, isApplied, isReached, type Progress } from "./progress.ts";
import type { Writesets } from "./writesets.ts";

export interface FeedOptions {
  relay: RelayLog;
  from: RelayPosition | undefined;
  start: SourcePosition;
  bytesInMemoryMax: number;
  tableFilter: TableFilter;
  coordinator: Coordinator;
  policy: Policy & Partial<Pick<AutoPolicy, "see">>;
  writesets: Writesets;
  /** Applied beyond the checkpoint, by a former engine. */
  ahead: AppliedAhead;
  /** Transactions that the operator wants to be passed over, by GTID or `file:position`. */
  skip: ReadonlySet<string>;
  /** A transaction that was found applied already: nothing is to be done, but the relay log before it is done with. */
  onSkipped: (transaction: Transaction) => void;
  /** `reached` moved on. */
  onReached: () => void;
}

/**
 * Reads the relay log, puts transactions together and offers them to the coordinator, in order and as fast as its queue has room. The one place where applying
 * can be held at an exact point of the source: what has not been offered is not applied.
 */
export class Feed {
  readonly #options: FeedOptions;
  readonly #assembler: Assembler;
  readonly #reader: RelayReader;
  readonly #base: Progress;
  /** Reached as soon as one of them is. */
  #hold: readonly Goal[] | "now" | undefined;
  #reached: SourcePosition;
  #waiting: Transaction | undefined;
  #wake: () => void = () => {};
  #closed = false;
  /** Everything up to here was offered or was there before. */
  readonly #offered: Progress;
  /** The server whose binlog is read, as the policy knows it. */
  #seen: BinlogFormat | undefined;
  /** Something was offered that may define a table anew. */
  #definesTables = false;
  #passedOver = 0;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#base = copyProgress(options.coordinator.progress);
    this.#offered = copyProgress(this.#base);
    this.#reached = options.start;
    this.#assembler = new Assembler(
      { bytesInMemoryMax: options.bytesInMemoryMax, tableFilter: options.tableFilter },
      { source: options.start },
    );
    this.#reader = options.relay.read(options.from);
  }

  get ignoredEvents(): number {
    return this.#assembler.ignoredEvents;
  }

  /** Transactions that `skip` names. */
  get passedOver(): number {
    return this.#passedOver;
  }

  /** The server whose binlog is applied, once there was a transaction. */
  get seen(): BinlogFormat | undefined {
    return this.#seen;
  }

  get offered(): Readonly<Progress> {
    return this.#offered;
  }

  /** The next one to be offered, held or without room in the queue. */
  get waiting(): Transaction | undefined {
    return this.#waiting;
  }

  /**
   * Everything of the source before here was offered, or is nothing to apply. Unlike `offered` it moves over what ends no transaction: a source that begins a new
   * binlog file, and is then idle, is caught up with.
   */
  get reached(): SourcePosition {
    return this.#reached;
  }

  /** Whether nothing that belongs before this goal is still to be offered. */
  isReached(goal: Goal): boolean {
    if ("source" in goal && comparePositions(this.#reached, goal.source) >= 0) return true;
    return isReached(goal, this.#offered);
  }

  /** Runs until `close`. @throws ReplicationError when the relay log holds what cannot be understood; all before it was offered */
  async run(): Promise<void> {
    for (;;) {
      const batch = await this.#reader.next();
      if (batch === undefined) return;
      const { file, events, offsets, ends } = batch;
      let relay = { file, offset: offsets[0] as number };
      for (let index = 0; index < events.length; index++) {
        const next = { file, offset: ends[index] as number };
        const transaction = this.#assembler.push(events[index] as Buffer, relay, next);
        relay = next;
        const taking = transaction === undefined ? undefined : this.#take(transaction);
        if (taking !== undefined) await taking;
        if (this.#closed) return;
        if (this.#assembler.atBoundary) this.#reached = this.#assembler.source;
      }
      this.#options.onReached();
    }
  }

  /** From now on offers nothing beyond the first of these that is reached, which may lie behind what was held before. */
  hold(goals: readonly Goal[] | "now"): void {
    this.#hold = goals;
    this.#wake();
  }

  release(): void {
    this.#hold = undefined;
    this.#wake();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#wake();
    await this.#reader.close();
  }

  /** At once, without a promise, where nothing is to be waited for: that is nearly always so. */
  #take(transaction: Transaction): Promise<void> | undefined {
    const { coordinator, onSkipped } = this.#options;
    if (isApplied(this.#base, transaction)) {
      onSkipped(transaction);
      return undefined;
    }
    this.#reached = transaction.start;
    this.#waiting = transaction;
    if (this.#isHeld() || !coordinator.hasRoom) return this.#takeLater(transaction);
    return this.#ask(transaction);
  }

  async #takeLater(transaction: Transaction): Promise<void> {
    if (this.#isHeld()) this.#options.onReached();
    while (!this.#closed && this.#isHeld()) await new Promise<void>((resolve) => (this.#wake = resolve));
    await this.#until(() => this.#options.coordinator.hasRoom);
    if (!this.#closed) await this.#ask(transaction);
  }

  /** Offers it once its writeset is known. */
  #ask(transaction: Transaction): Promise<void> | undefined {
    const number = this.#offered.transactions + 1n;
    const applied = this.#options.ahead.has({ number, transaction });
    const offered = this.#isToSkip(transaction) ? emptied(transaction) : transaction;
    const writeset = applied ? undefined : this.#writesetOf(offered);
    if (writeset instanceof Promise) {
      return writeset.then((known) => this.#offer(transaction, { transaction: offered, writeset: known, applied }));
    }
    this.#offer(transaction, { transaction: offered, writeset, applied });
    return undefined;
  }

  #offer(transaction: Transaction, offer: Offer): void {
    this.#waiting = undefined;
    if (this.#closed) return;
    if (mayDefineTables(transaction)) this.#definesTables = true;
    this.#options.coordinator.offer(offer);
    advance(this.#offered, transaction);
  }

  /** @returns undefined when the policy has no use for one */
  #writesetOf(transaction: Transaction): Promise<Writeset | undefined> | Writeset | undefined {
    const { policy, writesets } = this.#options;
    const { format } = transaction;
    if (this.#seen !== format) {
      this.#seen = format;
      policy.see?.(format.flavour, format.serverVersion);
    }
    if (!policy.needsWriteset || !isPackable(transaction)) return undefined;
    return this.#definesTables ? this.#writesetAfterDefinition(transaction) : writesets.of(transaction);
  }

  /** Keys are those of the target's tables, which are not the ones of this transaction before the definition is applied. */
  async #writesetAfterDefinition(transaction: Transaction): Promise<Writeset | undefined> {
    const { writesets, coordinator } = this.#options;
    await this.#until(() => coordinator.idle);
    if (this.#closed) return undefined;
    this.#definesTables = false;
    writesets.forget();
    return writesets.of(transaction);
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!this.#closed && !condition()) {
      await Promise.race([this.#options.coordinator.change(), new Promise<void>((resolve) => (this.#wake = resolve))]);
    }
  }

  #isToSkip({ id, start, end }: Transaction): boolean {
    const { skip } = this.#options;
    if (skip.size === 0) return false;
    const names = [describeId(id), ...[start, end].map(({ file, position }) => `${file}:${position}`)];
    if (!names.some((name) => skip.has(name))) return false;
    this.#passedOver++;
    return true;
  }

  #isHeld(): boolean {
    if (this.#hold === "now") return true;
    return this.#hold !== undefined && this.#hold.some((goal) => this.isReached(goal));
  }
}

/** A transaction with statements may begin with CREATE TABLE … SELECT; too much is asked for again when the word is only in a text. */
function mayDefineTables({ kind, body }: Transaction): boolean {
  if (kind !== "mixed") return kind === "ddl";
  return !("events" in body) || [...body.events].some((event) => /create/i.test(event.toString("latin1")));
}

/** Its identity counts; what it changes is left out. */
const emptied = (transaction: Transaction): Transaction => ({
  ...transaction,
  kind: "empty",
  body: EMPTY_BODY,
  rows: 0,
  eventBytes: 0,
  tables: new Set(),
  schemas: new Set(),
});
