import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import { ByteReader } from "../base/reader.ts";
import { difference, includes, insert, intersection } from "./interval.ts";
import type { GtidInterval } from "./interval.ts";

export type { GtidInterval };

/** Numbers of transactions run from 1 to this (GNO_END - 1, sql/rpl_gtid.h, 8.0). */
export const GNO_MAX = 0x7fff_ffff_ffff_fffen;

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/;
/** mysql::gtid::tag_max_length is 32 (libs/mysql/gtid/tag_plain.h, 8.3). */
const TAG = /^[a-z_][a-z0-9_]{0,31}$/;
const NUMBERS = /^(\d{1,19})(?:-(\d{1,19}))?$/;

/** The transactions of one source under one tag. */
interface Series {
  uuid: string;
  tag: string;
  intervals: GtidInterval[];
}

/**
 * A set of MySQL GTIDs: what a server has executed, purged, or is asked for. Uuids are lower-case with dashes, a tag is "" when there is none (tags came
 * with 8.3), intervals are inclusive.
 *
 * Invariant: a series' intervals are sorted, and between two of them at least one number is missing; no series is empty. Without it `contains` and the
 * printed form would be wrong, and a replica that resumes from the set would lose or repeat transactions.
 */
export class GtidSet {
  readonly #series = new Map<string, Series>();
  /** The series `add` used last: a stream's next transaction nearly always belongs to it. */
  #latest: Series | undefined;

  /**
   * Reads `uuid:1-5:7:tag:1-3,uuid:…`, with white space and upper case as the server allows.
   * @throws ReplicationError CONFIG when the text is no GTID set.
   */
  static parse(text: string): GtidSet {
    const set = new GtidSet();
    for (const group of text.toLowerCase().split(",")) {
      const parts = group.split(":").map((part) => part.trim());
      const source = parts[0] as string;
      if (source === "" && parts.length === 1) continue;
      if (!UUID.test(source)) refuse(group.trim());
      const uuid = dashed(source.replaceAll("-", ""));
      let tag = "";
      let numbers = 0;
      for (const part of parts.slice(1)) {
        const match = NUMBERS.exec(part.replaceAll(/\s/g, ""));
        if (match !== null) {
          const first = BigInt(match[1] as string);
          const last = match[2] === undefined ? first : BigInt(match[2]);
          if (first < 1n || last > GNO_MAX) refuse(part);
          // The server takes 5-3 as an interval without numbers.
          if (first <= last) set.addInterval(uuid, tag, first, last);
          numbers++;
        } else if (TAG.test(part)) {
          tag = part;
        } else {
          refuse(part === "" ? group.trim() : part);
        }
      }
      if (numbers === 0) refuse(group.trim());
    }
    return set;
  }

  /**
   * Reads the form of COM_BINLOG_DUMP_GTID and of Previous_gtids events (Gtid_set::encode, sql/rpl_gtid_set.cc, 8.0 and 8.3):
   *
   *     u64 header: the number of series n; with tags 1 << 56 | n << 8 | 1
   *     n × { uuid 16, [tag: u8 length × 2, letters], u64 number of intervals, × { u64 first, u64 past the last } }
   */
  static decode(bytes: Buffer): GtidSet {
    const reader = new ByteReader(bytes);
    const set = new GtidSet();
    const header = reader.u64();
    const format = Number(header >> 56n);
    if (format > 1) reader.fail(`a GTID set has the unknown format ${format}`);
    const tagged = format === 1;
    const count = tagged ? (header >> 8n) & 0xffff_ffff_ffffn : header;
    for (let i = 0n; i < count; i++) {
      const uuid = formatUuid(reader.bytes, reader.offset);
      reader.skip(16);
      const tagLength = tagged ? reader.u8() >> 1 : 0;
      const tag = reader.text(tagLength, "latin1");
      if (tag !== "" && !TAG.test(tag)) reader.fail("a GTID's tag has letters that no tag has");
      const intervals = reader.u64();
      for (let j = 0n; j < intervals; j++) {
        const first = reader.u64();
        const past = reader.u64();
        if (first < 1n || past <= first || past > GNO_MAX + 1n) reader.fail("an interval of a GTID set is backwards");
        set.addInterval(uuid, tag, first, past - 1n);
      }
    }
    if (reader.remaining > 0) reader.fail("a GTID set has bytes past its end");
    return set;
  }

  /**
   * The form that `decode` reads. Servers before 8.3 know only the form without tags, so it is taken unless the set has some.
   */
  encode(tagged = this.hasTags): Buffer {
    assert(tagged || !this.hasTags, "a GTID set with tags has no untagged form");
    const series = this.#sorted();
    let length = 8;
    for (const one of series) length += 24 + (tagged ? 1 + one.tag.length : 0) + 16 * one.intervals.length;
    const bytes = Buffer.alloc(length);
    const count = BigInt(series.length);
    let offset = bytes.writeBigUInt64LE(tagged ? (1n << 56n) | (count << 8n) | 1n : count);
    for (const { uuid, tag, intervals } of series) {
      offset += bytes.write(uuid.replaceAll("-", ""), offset, "hex");
      if (tagged) {
        offset = bytes.writeUInt8(tag.length << 1, offset);
        offset += bytes.write(tag, offset, "latin1");
      }
      offset = bytes.writeBigUInt64LE(BigInt(intervals.length), offset);
      for (const { first, last } of intervals) {
        offset = bytes.writeBigUInt64LE(first, offset);
        offset = bytes.writeBigUInt64LE(last + 1n, offset);
      }
    }
    return bytes;
  }

  get hasTags(): boolean {
    for (const { tag } of this.#series.values()) if (tag !== "") return true;
    return false;
  }

  /** False when it was there already. Takes no search when gno follows the last one of its series. */
  add(uuid: string, tag: string, gno: bigint): boolean {
    const series = this.#seriesOf(uuid, tag);
    const newest = series.intervals.at(-1);
    if (newest !== undefined && gno <= newest.last) {
      if (includes(series.intervals, gno)) return false;
      insert(series.intervals, gno, gno);
      return true;
    }
    assert(gno >= 1n && gno <= GNO_MAX, "a GTID's number is between 1 and 2^63 - 2");
    insert(series.intervals, gno, gno);
    return true;
  }

  /** Both ends belong to it. */
  addInterval(uuid: string, tag: string, first: bigint, last: bigint): void {
    assert(first >= 1n && first <= last && last <= GNO_MAX, "an interval of GTIDs is not empty and in range");
    insert(this.#seriesOf(uuid, tag).intervals, first, last);
  }

  contains(uuid: string, tag: string, gno: bigint): boolean {
    const series = this.#series.get(key(uuid, tag));
    return series !== undefined && includes(series.intervals, gno);
  }

  /** These three make new sets; the operands stay as they are. */
  union(other: GtidSet): GtidSet {
    const result = this.clone();
    for (const { uuid, tag, intervals } of other.#series.values()) {
      for (const { first, last } of intervals) result.addInterval(uuid, tag, first, last);
    }
    return result;
  }

  subtract(other: GtidSet): GtidSet {
    const result = new GtidSet();
    for (const [name, series] of this.#series) {
      const holes = other.#series.get(name);
      result.#put(series, difference(series.intervals, holes?.intervals ?? []));
    }
    return result;
  }

  intersect(other: GtidSet): GtidSet {
    const result = new GtidSet();
    for (const [name, series] of this.#series) {
      const others = other.#series.get(name);
      if (others !== undefined) result.#put(series, intersection(series.intervals, others.intervals));
    }
    return result;
  }

  isSubsetOf(other: GtidSet): boolean {
    return this.subtract(other).isEmpty;
  }

  equals(other: GtidSet): boolean {
    return this.toString() === other.toString();
  }

  clone(): GtidSet {
    const result = new GtidSet();
    for (const series of this.#series.values()) {
      result.#put(
        series,
        series.intervals.map((interval) => ({ ...interval })),
      );
    }
    return result;
  }

  get isEmpty(): boolean {
    return this.#series.size === 0;
  }

  /** How many GTIDs are in it. */
  get size(): bigint {
    let sum = 0n;
    for (const { intervals } of this.#series.values()) {
      for (const { first, last } of intervals) sum += last - first + 1n;
    }
    return sum;
  }

  /** `[uuid, tag, intervals]` in the printed order. */
  entries(): [string, string, GtidInterval[]][] {
    return this.#sorted().map(({ uuid, tag, intervals }) => [
      uuid,
      tag,
      intervals.map((interval) => ({ ...interval })),
    ]);
  }

  /** As the server prints it, but on one line: `uuid:1-5:7:tag:1-3,uuid:…`, by uuid, then tag, the one without a tag first. */
  toString(): string {
    let text = "";
    let uuid = "";
    for (const series of this.#sorted()) {
      if (series.uuid !== uuid) text += `${text === "" ? "" : ","}${series.uuid}`;
      uuid = series.uuid;
      if (series.tag !== "") text += `:${series.tag}`;
      for (const { first, last } of series.intervals) text += first === last ? `:${first}` : `:${first}-${last}`;
    }
    return text;
  }

  #seriesOf(uuid: string, tag: string): Series {
    const latest = this.#latest;
    if (latest !== undefined && latest.uuid === uuid && latest.tag === tag) return latest;
    let series = this.#series.get(key(uuid, tag));
    if (series === undefined) {
      series = { uuid, tag, intervals: [] };
      this.#series.set(key(uuid, tag), series);
    }
    this.#latest = series;
    return series;
  }

  #put({ uuid, tag }: Series, intervals: GtidInterval[]): void {
    if (intervals.length > 0) this.#series.set(key(uuid, tag), { uuid, tag, intervals });
  }

  /** By uuid, then tag: the key's own order, as ":" sorts behind nothing and before every letter. */
  #sorted(): Series[] {
    return [...this.#series].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, series]) => series);
  }
}

function refuse(part: string): never {
  throw new ReplicationError("CONFIG", `"${part}" is not part of a MySQL GTID set`, {
    hint: "write it like 3e11fa47-71ca-11e1-9e33-c80aa9429562:1-77:80",
  });
}

const key = (uuid: string, tag: string): string => (tag === "" ? uuid : `${uuid}:${tag}`);

function dashed(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** The text of the 16 bytes at `offset`. @throws ReplicationError CORRUPT_EVENT when there are fewer. */
export function formatUuid(bytes: Buffer, offset: number): string {
  if (offset + 16 > bytes.length) new ByteReader(bytes, offset).skip(16);
  return dashed(bytes.toString("hex", offset, offset + 16));
}
