import { areMany, firstCommon, type KeyHashes } from "./key-hashes.ts";
import type { SimulatedTransaction } from "./simulated-transaction.ts";

/** What a stretch of the path is: the feed brings a transaction, a run is executed, or committed. */
export type PathKind = "feed" | "execute" | "commit";

/** A stretch of time in which one thing was done, and the thing that had to end before it could begin. */
export interface PathNode {
  kind: PathKind;
  cause: PathNode | undefined;
  transactions: readonly SimulatedTransaction[];
  beginUs: number;
  /** 0: not ended. */
  endUs: number;
}

/** What holds everybody up, by its part of the whole time. */
export interface PathPart {
  name: string;
  seconds: number;
  share: number;
}

export interface CriticalPathReport {
  seconds: number;
  /** Where the time went, along the path. */
  kinds: Readonly<Record<PathKind, number>>;
  /** Stretches that began when another run was committed on which they depended, and how many seconds those that they waited for took. */
  dependencies: { waits: number; seconds: number };
  /** A run has the name of its first transaction, `transactions` are how many it has. */
  transactions: readonly (PathPart & { transactions: number })[];
  /** Of execution, in proportion to the bytes of each table. */
  tables: readonly PathPart[];
  /** Hashes of keys that one run had changed and the next one waited for. */
  keys: readonly (PathPart & { table: string; hash: number })[];
}

/** Stretches whose transactions lie so far back are counted and forgotten; looked at whenever half as many have come. What is at work lies closer together, but for the oddest cases. */
const REMEMBERED_MAX = 10_000;
/** In memory a large transaction is its keys: so many of them count as one transaction more. */
const HASHES_OF_ONE = 100;
/** Nor is anything remembered for longer than it takes to look so many times: where transactions are small it lies further back by then. */
const LOOKS_MAX = 8;
/** Transactions of a run whose keys are told. */
const SMALL_RUN = 16;
/** Names that are told, and that are kept meanwhile. */
const TOLD_MAX = 10;
const KEPT_MAX = 2_000;

interface Tally {
  seconds: number;
  transactions: number;
  table: string;
}

/**
 * The chain of things that had to happen one after the other, from the last commit back: each stretch has the one whose end let it begin. Shortening anything that is not on it changes
 * nothing. Bounded: what lies far back is common to all that may come, so it is counted and forgotten.
 */
export class CriticalPath {
  #last: PathNode | undefined;
  /** Transactions, since the path was last looked at; large ones count for more. */
  #added = 0;
  /** The ordinals at hand when it was. */
  readonly #looks: number[] = [];
  /** Up to this moment the path's time is counted, each of it once, whichever path it was then. */
  #countedUs = 0;
  /** What others may have as their cause. */
  #remembered: PathNode[] = [];
  readonly #kinds = { feed: 0, execute: 0, commit: 0 };
  readonly #dependencies = { waits: 0, seconds: 0 };
  readonly #transactions = new Map<string, Tally>();
  readonly #tables = new Map<string, Tally>();
  readonly #keys = new Map<string, Tally>();

  add(
    kind: PathKind,
    cause: PathNode | undefined,
    transactions: readonly SimulatedTransaction[],
    beginUs: number,
  ): PathNode {
    for (const { scheduler } of transactions) {
      this.#added += 1 + Math.floor((scheduler.writeset?.writes.length ?? 0) / HASHES_OF_ONE);
    }
    if (this.#added >= REMEMBERED_MAX / 2) {
      const ordinal = transactions[0]?.scheduler.ordinal ?? 0;
      const longAgo = this.#looks.length < LOOKS_MAX ? 0 : (this.#looks.shift() ?? 0);
      this.#looks.push(ordinal);
      this.#forget(Math.max(ordinal - REMEMBERED_MAX, longAgo));
    }
    const node = { kind, cause, transactions, beginUs, endUs: 0 };
    this.#remembered.push(node);
    return node;
  }

  committed(node: PathNode): void {
    this.#last = node;
  }

  report(): CriticalPathReport {
    this.#countFrom(this.#last);
    const seconds = this.#kinds.feed + this.#kinds.execute + this.#kinds.commit;
    const told = (tallies: Map<string, Tally>): (PathPart & Tally)[] =>
      heaviest(tallies, TOLD_MAX).map(([name, tally]) => ({
        name,
        share: seconds === 0 ? 0 : tally.seconds / seconds,
        ...tally,
      }));
    return {
      seconds,
      kinds: this.#kinds,
      dependencies: this.#dependencies,
      transactions: told(this.#transactions).map(({ name, seconds, share, transactions }) => ({
        name,
        seconds,
        share,
        transactions,
      })),
      tables: told(this.#tables).map(({ name, seconds, share }) => ({ name, seconds, share })),
      keys: told(this.#keys).map(({ name, seconds, share, table }) => ({
        name: `${table}, hash ${name}`,
        seconds,
        share,
        table,
        hash: Number(name),
      })),
    };
  }

  /** Counts what lies before this ordinal, as seen from the last commit. */
  #forget(before: number): void {
    this.#added = 0;
    let node = this.#last;
    while (node !== undefined && (node.transactions[0]?.scheduler.ordinal ?? 0) >= before) node = node.cause;
    this.#countFrom(node);
    // Other paths may never meet this one: two workers that are never idle.
    this.#remembered = this.#remembered.filter((old) => {
      const isCounted = old.endUs > 0 && old.endUs <= this.#countedUs;
      if (isCounted) old.cause = undefined;
      return !isCounted;
    });
  }

  #countFrom(node: PathNode | undefined): void {
    for (let old = node; old !== undefined && old.endUs > this.#countedUs; old = old.cause) this.#count(old);
    this.#countedUs = Math.max(this.#countedUs, node?.endUs ?? 0);
  }

  #count(node: PathNode): void {
    const { kind, cause, transactions } = node;
    const us = Math.max(0, node.endUs - Math.max(cause?.endUs ?? 0, this.#countedUs));
    this.#kinds[kind] += us / 1e6;
    const [first] = transactions;
    if (first === undefined || kind === "feed") return;
    const others = transactions.length - 1;
    count(this.#transactions, others === 0 ? first.name : `${first.name} and ${others} more`, us, transactions.length);
    if (kind !== "execute") return;
    this.#countTables(transactions, us);
    if (cause !== undefined && cause.kind === "commit") this.#countKey(cause, node, us);
  }

  #countTables(transactions: readonly SimulatedTransaction[], us: number): void {
    let bytes = 0;
    for (const { rows } of transactions) for (const table of rows) bytes += table.bytes;
    if (bytes === 0) return;
    for (const { rows } of transactions) {
      for (const table of rows) count(this.#tables, table.table, (us * table.bytes) / bytes);
    }
  }

  /** The first key of `after` that `before` has too. In large runs there nearly always is one, and it says little. */
  #countKey(before: PathNode, after: PathNode, us: number): void {
    const writers = new Writers(before.transactions);
    for (const { scheduler, rows } of after.transactions) {
      const found = writers.first(scheduler.writeset?.writes ?? []);
      if (found === undefined) continue;
      const { hash, writer } = found;
      this.#dependencies.waits++;
      this.#dependencies.seconds += us / 1e6;
      if (Math.max(before.transactions.length, after.transactions.length) > SMALL_RUN) return;
      const tables = new Set(writer.rows.map(({ table }) => table));
      const common = rows.map(({ table }) => table).filter((table) => tables.has(table));
      count(this.#keys, String(hash), us, 1, common.join(" or "));
      return;
    }
  }
}

/** Which of some transactions changed a key. */
class Writers {
  readonly #transactions: readonly SimulatedTransaction[];
  /** Those that are not large: by hash. */
  readonly #byHash = new Map<number, SimulatedTransaction>();
  readonly #large: SimulatedTransaction[] = [];

  constructor(transactions: readonly SimulatedTransaction[]) {
    this.#transactions = transactions;
    for (const transaction of transactions) {
      const writes = transaction.scheduler.writeset?.writes ?? [];
      if (areMany(writes)) this.#large.push(transaction);
      else for (const hash of writes) this.#byHash.set(hash, transaction);
    }
  }

  /** The first of these keys that one of them changed, and the last of those who did. */
  first(hashes: KeyHashes): { hash: number; writer: SimulatedTransaction } | undefined {
    let place = Infinity;
    let writer: SimulatedTransaction | undefined;
    if (!areMany(hashes)) {
      const own = hashes.findIndex((hash) => this.#byHash.has(hash));
      if (own >= 0) {
        place = own;
        writer = this.#byHash.get(hashes[own] ?? -1);
      }
    }
    const rest = areMany(hashes) ? this.#transactions : this.#large;
    for (const transaction of rest) {
      const its = firstCommon(transaction.scheduler.writeset?.writes ?? [], hashes);
      if (its < 0 || its > place) continue;
      place = its;
      writer = transaction;
    }
    const hash = hashes[place];
    return hash === undefined || writer === undefined ? undefined : { hash, writer };
  }
}

function count(tallies: Map<string, Tally>, name: string, us: number, transactions = 1, table = ""): void {
  const tally = tallies.get(name);
  if (tally !== undefined) {
    tally.seconds += us / 1e6;
    return;
  }
  if (tallies.size >= KEPT_MAX) {
    const kept = heaviest(tallies, KEPT_MAX / 2);
    tallies.clear();
    for (const [name, tally] of kept) tallies.set(name, tally);
  }
  tallies.set(name, { seconds: us / 1e6, transactions, table });
}

const heaviest = (tallies: Map<string, Tally>, max: number): [string, Tally][] =>
  [...tallies].sort(([, a], [, b]) => b.seconds - a.seconds).slice(0, max);
