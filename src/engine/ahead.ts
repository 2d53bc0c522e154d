import { difference, type GtidInterval, includes, insert } from "../gtid/interval.ts";
import { GtidSet } from "../gtid/mysql.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { Progress } from "./progress.ts";

/** A transaction and its number since the channel began. */
export interface Numbered {
  number: bigint;
  transaction: Transaction;
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
  readonly #ranges = new Map<string, GtidInterval[]>();

  static parse(texts: readonly string[]): AppliedAhead {
    const ahead = new AppliedAhead();
    for (const part of texts.flatMap((text) => text.split(",")).filter((part) => part !== "")) {
      const match = /^(?:#|(\d+-\d+)-)(\d+)(?:\.\.(\d+))?$/.exec(part);
      if (match === null) {
        ahead.#gtids = ahead.#gtids.union(GtidSet.parse(part));
        continue;
      }
      const [, series = "", first = "0", last = first] = match;
      insert(ahead.#rangesOf(series), BigInt(first), BigInt(last));
    }
    return ahead;
  }

  static of(transactions: Iterable<Numbered>): AppliedAhead {
    const ahead = new AppliedAhead();
    for (const one of transactions) ahead.add(one);
    return ahead;
  }

  /** How many. */
  get size(): bigint {
    let size = this.#gtids.size;
    for (const ranges of this.#ranges.values()) for (const { first, last } of ranges) size += last - first + 1n;
    return size;
  }

  add({ number, transaction: { id } }: Numbered): void {
    if (id.kind === "mysql") this.#gtids.add(id.uuid, id.tag, id.gno);
    else if (id.kind === "mariadb") {
      insert(this.#rangesOf(`${id.domainId}-${id.serverId}`), id.sequence, id.sequence);
    } else insert(this.#rangesOf(""), number, number);
  }

  has({ number, transaction: { id } }: Numbered): boolean {
    if (id.kind === "mysql") return this.#gtids.contains(id.uuid, id.tag, id.gno);
    const [series, value] = id.kind === "mariadb" ? [`${id.domainId}-${id.serverId}`, id.sequence] : ["", number];
    return includes(this.#ranges.get(series) ?? [], value);
  }

  /** Those that `progress` does not cover: without this, what every kill leaves would be carried along forever. */
  beyond({ gtids, transactions }: Progress): AppliedAhead {
    const rest = new AppliedAhead();
    rest.#gtids = gtids.kind === "mysql" ? this.#gtids.subtract(gtids.set) : this.#gtids.clone();
    for (const [series, ranges] of this.#ranges) {
      const [domainId, serverId] = series.split("-").map(Number);
      const entry =
        gtids.kind === "mariadb" && domainId !== undefined && series !== "" ? gtids.position.get(domainId) : undefined;
      const covered = series === "" ? transactions : entry?.serverId === serverId ? (entry?.sequence ?? 0n) : 0n;
      const left = difference(ranges, [{ first: 0n, last: covered }]);
      if (left.length > 0) rest.#ranges.set(series, left);
    }
    return rest;
  }

  toString(): string {
    const parts = [this.#gtids.toString()];
    for (const [series, ranges] of this.#ranges) {
      for (const { first, last } of ranges) {
        parts.push(`${series === "" ? "#" : `${series}-`}${first}${last === first ? "" : `..${last}`}`);
      }
    }
    return parts.filter((part) => part !== "").join(",");
  }

  #rangesOf(series: string): GtidInterval[] {
    let ranges = this.#ranges.get(series);
    if (ranges === undefined) this.#ranges.set(series, (ranges = []));
    return ranges;
  }
}
