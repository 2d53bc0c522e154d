import { GtidSet } from "../gtid/mysql.ts";
import type { Transaction } from "../transaction/transaction.ts";

/** A transaction and its number since the channel began. */
export interface Numbered {
  number: bigint;
  transaction: Transaction;
}

interface Range {
  from: bigint;
  to: bigint;
}

/**
 * Transactions that are applied although some before them are not: what workers in relaxed order leave behind when the engine is killed.
 * GTIDs name them where there are any, for another source may bring them in another order. Without GTIDs their numbers since the channel began do.
 *
 * As text, joined by commas: `uuid:1-3`, as in a GTID set; `0-1-5..9`, sequence numbers of one server in one domain; `#12..14`, numbers.
 */
export class AppliedAhead {
  #gtids = GtidSet.parse("");
  /** By `domain-server`, and the numbers as "". */
  readonly #ranges = new Map<string, Range[]>();

  static parse(texts: readonly string[]): AppliedAhead {
    const ahead = new AppliedAhead();
    for (const part of texts.flatMap((text) => text.split(",")).filter((part) => part !== "")) {
      const match = /^(?:#|(\d+-\d+)-)(\d+)(?:\.\.(\d+))?$/.exec(part);
      if (match === null) {
        ahead.#gtids = ahead.#gtids.union(GtidSet.parse(part));
        continue;
      }
      const [, series = "", from = "0", to = from] = match;
      ahead.#put(series, { from: BigInt(from), to: BigInt(to) });
    }
    return ahead;
  }

  static of(transactions: Iterable<Numbered>): AppliedAhead {
    const ahead = new AppliedAhead();
    for (const one of transactions) ahead.add(one);
    return ahead;
  }

  add({ number, transaction: { id } }: Numbered): void {
    if (id.kind === "mysql") this.#gtids.add(id.uuid, id.tag, id.gno);
    else if (id.kind === "mariadb") this.#put(`${id.domainId}-${id.serverId}`, { from: id.sequence, to: id.sequence });
    else this.#put("", { from: number, to: number });
  }

  has({ number, transaction: { id } }: Numbered): boolean {
    if (id.kind === "mysql") return this.#gtids.contains(id.uuid, id.tag, id.gno);
    const [series, value] = id.kind === "mariadb" ? [`${id.domainId}-${id.serverId}`, id.sequence] : ["", number];
    return this.#ranges.get(series)?.some(({ from, to }) => from <= value && value <= to) ?? false;
  }

  toString(): string {
    const parts = [this.#gtids.toString()];
    for (const [series, ranges] of this.#ranges) {
      for (const { from, to } of ranges) {
        parts.push(`${series === "" ? "#" : `${series}-`}${from}${to === from ? "" : `..${to}`}`);
      }
    }
    return parts.filter((part) => part !== "").join(",");
  }

  /** Mostly behind the last one: ranges grow at their end. */
  #put(series: string, range: Range): void {
    let ranges = this.#ranges.get(series);
    if (ranges === undefined) this.#ranges.set(series, (ranges = []));
    const last = ranges.at(-1);
    if (last !== undefined && range.from === last.to + 1n) last.to = range.to;
    else ranges.push({ ...range });
  }
}
