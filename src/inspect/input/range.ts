import { ReplicationError } from "../../base/error.ts";
import { GtidSet } from "../../gtid/mysql.ts";
import { parseMariadbGtid } from "../../gtid/mariadb.ts";
import { describeId, type Transaction, type TransactionId } from "../../transaction/transaction.ts";

/**
 * An end of a range. `time`: microseconds since 1970. `position`: a byte offset in the binlog file of that name; without a name in the first file (`from`) or the
 * last one (`to`) that is read, as mysqlbinlog takes --start-position and --stop-position.
 */
export type Bound =
  | { kind: "time"; atUs: number }
  | { kind: "gtid"; id: TransactionId }
  | { kind: "position"; file: string | undefined; position: number };

/**
 * A part of a log, in its own order. It begins with the first transaction that is not before `from`. It ends with the transaction that `to` names, or before the first one
 * that starts at that time or position or later. undefined: no bound.
 */
export interface Range {
  from: Bound | undefined;
  to: Bound | undefined;
}

const DAY = /^(\d{4})-(\d{2})-(\d{2})$/;
const MOMENT = /^(\d{4}-\d{2}-\d{2})[ T](\d{2}:\d{2})(:\d{2}(?:\.\d{1,6})?)?\s*(Z|UTC|[+-]\d{2}:?\d{2})?$/i;
const POSITION = /^(?:(.+):)?(\d{1,15})$/;
const MARIADB_GTID = /^\d+-\d+-\d+$/;
const UUID_HEAD = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:/i;

const HINT =
  'write a time ("2026-11-30 03:12:00", UTC unless it ends in an offset), a GTID ("3e11fa47-71ca-11e1-9e33-c80aa9429562:23", "0-1-77"), or a position ("binlog.000003:1234")';

/**
 * Reads `2026-11-30`, `2026-11-30 03:12`, `2026-11-30T03:12:00.5+02:00`, `uuid:5`, `uuid:tag:5`, `0-1-77`, `binlog.000003:1234` or `1234`.
 * @throws ReplicationError CONFIG when it is none of these
 */
export function parseBound(text: string): Bound {
  const trimmed = text.trim();
  if (UUID_HEAD.test(trimmed)) return { kind: "gtid", id: mysqlId(trimmed) };
  if (DAY.test(trimmed)) return timeBound(`${trimmed}T00:00:00Z`, text);
  if (MARIADB_GTID.test(trimmed)) return { kind: "gtid", id: { kind: "mariadb", ...parseMariadbGtid(trimmed) } };
  const moment = MOMENT.exec(trimmed);
  if (moment !== null) {
    const [, day, clock, seconds = ":00", zone = "Z"] = moment;
    return timeBound(`${day}T${clock}${seconds}${zone.toUpperCase().replace("UTC", "Z")}`, text);
  }
  const position = POSITION.exec(trimmed);
  if (position === null) throw wrong(text, "it is no time, GTID or position");
  return { kind: "position", file: position[1], position: Number(position[2]) };
}

function mysqlId(text: string): TransactionId {
  let set: GtidSet;
  try {
    set = GtidSet.parse(text);
  } catch (error) {
    throw wrong(text, "it begins like a GTID, but is none", error);
  }
  const [only] = set.entries();
  const gno = only?.[2][0]?.first;
  if (only === undefined || gno === undefined || set.size !== 1n) {
    throw wrong(text, "an end of a range is one transaction, not a set of them");
  }
  return { kind: "mysql", uuid: only[0], tag: only[1], gno };
}

function timeBound(iso: string, text: string): Bound {
  const [whole = "", fraction = ""] = iso.split(/\.(?=\d)/);
  const digits = /^\d*/.exec(fraction)?.[0] ?? "";
  const ms = Date.parse(whole + fraction.slice(digits.length));
  // What no calendar has rolls over to another day in some runtimes.
  if (Number.isNaN(ms) || new Date(`${iso.slice(0, 10)}T00:00:00Z`).toISOString().slice(0, 10) !== iso.slice(0, 10)) {
    throw wrong(text, "there is no such time");
  }
  return { kind: "time", atUs: ms * 1000 + Number(digits.padEnd(6, "0")) };
}

function wrong(text: string, why: string, cause?: unknown): ReplicationError {
  return new ReplicationError("CONFIG", `"${text}" cannot be an end of a range: ${why}`, { hint: HINT, cause });
}

/** The bound as an operator writes it. */
export function describeBound(bound: Bound): string {
  switch (bound.kind) {
    case "time":
      return `${new Date(bound.atUs / 1000).toISOString().slice(0, 19).replace("T", " ")} UTC`;
    case "gtid":
      return describeId(bound.id);
    case "position":
      return bound.file === undefined ? `position ${bound.position}` : `${bound.file}:${bound.position}`;
  }
}

/** What a range looks at of a transaction. */
export type Placed = Pick<Transaction, "id" | "start" | "committedAtUs">;

/**
 * Says of each transaction, in the order of the log, whether it lies in the range.
 *
 * Invariant: the answers go from `before` over `inside` to `past` and never back, so the range is one piece of the log; a single transaction with an older clock (replicated from
 * elsewhere) inside it neither ends it nor is left out of it. `--undo` of a range with holes would take back what others built on.
 */
export class RangeFilter {
  readonly #range: Range;
  readonly #firstFile: string | undefined;
  readonly #lastFile: string | undefined;
  readonly #fileOrder: ReadonlyMap<string, number>;
  #answer: "before" | "inside" | "past" = "before";
  /** The transaction that `to` names has been: it was the last. */
  #lastTaken = false;
  /** The end came before the begin. */
  #isReversed = false;

  /**
   * `files`: names of the files that are read, in order, as far as they are known.
   * @throws ReplicationError CONFIG: the range ends before it begins, or a file that it names is several of them
   */
  constructor(range: Range, files: readonly string[] = []) {
    this.#range = range;
    this.#fileOrder = orderOf(files);
    this.#firstFile = files[0];
    this.#lastFile = files.at(-1);
    for (const bound of [range.from, range.to]) if (bound?.kind === "position") checkFile(bound, files);
    if (this.#endsBeforeItBegins()) throw reversed(range);
  }

  take(transaction: Placed): "before" | "inside" | "past" {
    if (this.#lastTaken) this.#answer = "past";
    if (this.#answer === "before") this.#enter(transaction);
    if (this.#answer === "inside" && this.#endsBefore(transaction)) this.#answer = "past";
    if (this.#answer === "inside") {
      const { to } = this.#range;
      this.#lastTaken = to?.kind === "gtid" && sameId(to.id, transaction.id);
    }
    return this.#answer;
  }

  /** Nothing that comes can be inside any more: the rest need not be read. */
  get isOver(): boolean {
    return this.#lastTaken || this.#answer === "past";
  }

  /** A file that need not be opened: all of it is before `from`, or behind `to`. */
  skipsFile(file: string): boolean {
    const { from, to } = this.#range;
    if (from?.kind === "position" && this.#compareFiles(file, from.file ?? this.#firstFile ?? file) < 0) return true;
    return to?.kind === "position" && this.#compareFiles(file, to.file ?? this.#lastFile ?? file) > 0;
  }

  /** The bound that names a transaction which never came, once all was read. @throws ReplicationError CONFIG: the end came before the begin */
  get missing(): Bound | undefined {
    const { from, to } = this.#range;
    if (this.#isReversed) throw reversed(this.#range);
    if (this.#answer === "before" && from !== undefined && from.kind !== "time") return from;
    return to?.kind === "gtid" && !this.#lastTaken ? to : undefined;
  }

  #enter(transaction: Placed): void {
    const { from, to } = this.#range;
    if (this.#begins(transaction)) {
      this.#answer = "inside";
      // The transaction itself was named: that nothing lies between is no accident.
      this.#isReversed = from?.kind === "gtid" && this.#endsBefore(transaction);
    } else if (to?.kind === "gtid" && sameId(to.id, transaction.id)) {
      this.#answer = "past";
      this.#isReversed = true;
    }
  }

  /** As far as the bounds alone tell. */
  #endsBeforeItBegins(): boolean {
    const { from, to } = this.#range;
    if (from?.kind === "time" && to?.kind === "time") return from.atUs > to.atUs;
    if (from?.kind !== "position" || to?.kind !== "position") return false;
    const [first, last] = [from.file ?? this.#firstFile, to.file ?? this.#lastFile];
    if (first === undefined || last === undefined) return false;
    const isKnown = this.#orderOf(first) !== undefined && this.#orderOf(last) !== undefined;
    if (!isKnown && seriesOf(first) !== seriesOf(last)) return false;
    return (this.#compareFiles(first, last) || from.position - to.position) > 0;
  }

  #begins({ id, start, committedAtUs }: Placed): boolean {
    const { from } = this.#range;
    switch (from?.kind) {
      case undefined:
        return true;
      case "time":
        return committedAtUs >= from.atUs;
      case "gtid":
        return sameId(from.id, id);
      case "position":
        return this.#compare(start, from, this.#firstFile) >= 0;
    }
  }

  #endsBefore({ start, committedAtUs }: Placed): boolean {
    const { to } = this.#range;
    if (to?.kind === "time") return committedAtUs >= to.atUs;
    return to?.kind === "position" && this.#compare(start, to, this.#lastFile) >= 0;
  }

  #compare(
    start: Placed["start"],
    bound: { file: string | undefined; position: number },
    file: string | undefined,
  ): number {
    return this.#compareFiles(start.file, bound.file ?? file ?? start.file) || start.position - bound.position;
  }

  #compareFiles(a: string, b: string): number {
    const [x, y] = [this.#orderOf(a), this.#orderOf(b)];
    return x !== undefined && y !== undefined ? x - y : fileNumber(a) - fileNumber(b);
  }

  #orderOf(file: string): number | undefined {
    return this.#fileOrder.get(file) ?? this.#fileOrder.get(baseName(file));
  }
}

const baseName = (file: string): string => file.slice(file.lastIndexOf("/") + 1).replace(/\.(?:gz|zst)$/, "");

/** Of `binlog.000012`, also when more digits came. */
const fileNumber = (file: string): number => Number(/\.(\d+)$/.exec(baseName(file))?.[1] ?? 0);

const seriesOf = (file: string): string => baseName(file).replace(/\.\d+$/, "");

/** By the name that each file has here, and by the one that its server gave it. */
function orderOf(files: readonly string[]): Map<string, number> {
  return new Map([...files.map(baseName), ...files].map((name, i) => [name, i % files.length]));
}

function checkFile({ file, position }: { file: string | undefined; position: number }, files: readonly string[]): void {
  if (file === undefined || files.includes(file)) return;
  const alike = files.filter((one) => baseName(one) === baseName(file));
  if (alike.length < 2) return;
  throw new ReplicationError("CONFIG", `${file} is ${alike.length} of these files`, {
    hint: `write ${alike.map((one) => `${one}:${position}`).join(" or ")}`,
  });
}

function reversed({ from, to }: Range): ReplicationError {
  const [begin, end] = [from, to].map((bound) => (bound === undefined ? "" : describeBound(bound)));
  return new ReplicationError(
    "CONFIG",
    `the end, ${end}, comes before the begin, ${begin}: nothing lies between them`,
    {
      hint: "exchange --from and --to",
    },
  );
}

function sameId(a: TransactionId, b: TransactionId): boolean {
  if (a.kind === "mysql") return b.kind === "mysql" && a.gno === b.gno && a.uuid === b.uuid && a.tag === b.tag;
  if (a.kind === "mariadb") {
    return b.kind === "mariadb" && a.sequence === b.sequence && a.domainId === b.domainId && a.serverId === b.serverId;
  }
  return false;
}
