import { eventType } from "../../binlog/event.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { ABSENT_VALUE, NULL_VALUE, type RowImage, RowWalker } from "../../binlog/events/row-walker.ts";
import { isRowsType, rowsTableId } from "../../binlog/events/rows.ts";
import { type TableMapEvent, TableMaps } from "../../binlog/events/table-map.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { Writeset } from "../writeset.ts";
import { prefixEnd, withoutSpaces } from "./charset.ts";
import type { Collation, WantedWeights } from "./collation.ts";
import type { KeyHash } from "./key-hash.ts";
import type { KeyPart, KeyPlan, TablePlan } from "./plan.ts";

/** What a transaction's events gave. Complete, and then a writeset, only when nothing is wanted. */
export interface Extraction {
  writeset: Writeset;
  /** Tables for which there is no plan yet. */
  wantedPlans: readonly TableMapEvent[];
  wantedWeights: WantedWeights;
}

/** Instead of a hash: the key does not apply to this image; the image does not tell it; it cannot be known, or not yet. */
const NULL_KEY = -1;
const ABSENT_KEY = -2;
const UNKNOWN_KEY = -3;

/**
 * Makes writesets from row images. One object for one stream: it knows the table maps, and works in one buffer.
 *
 * Invariant: two images whose values of a key the target calls equal give the same hash for it; an image that could have a key of which nothing is told makes the
 * writeset opaque. One missed key breaks the data, one too many costs speed only.
 */
export class WritesetExtractor {
  readonly #hash: KeyHash;
  readonly #planOf: (map: TableMapEvent) => TablePlan | undefined;
  readonly #maps = new TableMaps();
  readonly #walker = new RowWalker();
  #scratch = Buffer.alloc(4096);
  #event: Buffer = Buffer.alloc(0);
  #writes: number[] = [];
  #reads: number[] = [];
  #fallback = false;
  #opaque = false;
  #wantedWeights: WantedWeights = new Map();

  constructor(hash: KeyHash, planOf: (map: TableMapEvent) => TablePlan | undefined) {
    this.#hash = hash;
    this.#planOf = planOf;
  }

  /** `events`: the body of a transaction of kind `rows`. @throws ReplicationError CORRUPT_EVENT */
  extract(events: Iterable<Buffer>, format: BinlogFormat): Extraction {
    this.#writes = [];
    this.#reads = [];
    this.#fallback = false;
    this.#opaque = false;
    this.#wantedWeights = new Map();
    const wantedPlans: TableMapEvent[] = [];
    for (const event of events) {
      const type = eventType(event);
      if (type === EVENT_TYPE.TABLE_MAP) {
        const map = this.#maps.add(event, format);
        if (this.#planOf(map) === undefined) wantedPlans.push(map);
      } else if (isRowsType(type)) {
        const map = this.#maps.get(rowsTableId(event, format));
        const plan = map === undefined ? undefined : this.#planOf(map);
        if (map === undefined || plan === undefined || plan.opaque) this.#opaque = true;
        else this.#rows(event, map, format, plan);
      } else {
        this.#opaque = true;
      }
    }
    const writeset = { writes: this.#writes, reads: this.#reads, fallback: this.#fallback, opaque: this.#opaque };
    return { writeset, wantedPlans, wantedWeights: this.#wantedWeights };
  }

  #rows(event: Buffer, map: TableMapEvent, format: BinlogFormat, plan: TablePlan): void {
    const walker = this.#walker;
    const { operation } = walker.open(event, map, format, plan.slots);
    this.#event = event;
    while (walker.next()) {
      if (operation === "update") this.#update(plan, walker.before, walker.after);
      else this.#whole(plan, operation === "write" ? walker.after : walker.before, operation === "delete");
    }
  }

  /** A row that comes or goes. */
  #whole(plan: TablePlan, image: RowImage, goes: boolean): void {
    let named = false;
    for (const key of plan.keys) {
      const hash = goes ? this.#hashOf(key, image, image) : this.#arrivalOf(key, image, image);
      if (hash >= 0) {
        this.#push(key, hash);
        if (key.role === "unique") named = true;
      } else if (hash !== NULL_KEY) {
        this.#opaque = true;
      }
    }
    if (!named) this.#fallback = true;
    if (goes && plan.cascades.some((cascade) => cascade.onDelete)) this.#opaque = true;
  }

  #update(plan: TablePlan, before: RowImage, after: RowImage): void {
    let namedBefore = false;
    let namedAfter = false;
    for (const key of plan.keys) {
      const isNamed = key.role === "unique";
      const change = this.#changeOf(key.parts, before, after);
      // The value was there and is there.
      if (change === "none" && key.role === "existence") continue;
      const old = this.#hashOf(key, before, before);
      if (change === "none") {
        // The image may leave a key out that stays as it is.
        if (old === UNKNOWN_KEY) this.#opaque = true;
        if (old < 0) continue;
        this.#push(key, old);
        if (isNamed) namedBefore = namedAfter = true;
        continue;
      }
      const next = this.#arrivalOf(key, after, before);
      if (old === ABSENT_KEY || old === UNKNOWN_KEY || next === ABSENT_KEY || next === UNKNOWN_KEY) this.#opaque = true;
      if (change === "untold") this.#opaque = true;
      if (old >= 0) {
        this.#push(key, old);
        if (isNamed) namedBefore = true;
      }
      if (next >= 0) {
        if (next !== old) this.#push(key, next);
        if (isNamed) namedAfter = true;
      }
    }
    if (!namedBefore || !namedAfter) this.#fallback = true;
    for (const { onUpdate, parts } of plan.cascades) {
      if (onUpdate && this.#changeOf(parts, before, after) !== "none") this.#opaque = true;
    }
  }

  #push(key: KeyPlan, hash: number): void {
    if (key.role === "child") this.#reads.push(hash);
    else this.#writes.push(hash);
  }

  /** Whether an update gives one of these columns other bytes. `untold`: a computed one that it does not show. */
  #changeOf(parts: readonly KeyPart[], before: RowImage, after: RowImage): "none" | "some" | "untold" {
    const event = this.#event;
    let change: "none" | "some" = "none";
    for (const { slot, generated } of parts) {
      const to = after.starts[slot] as number;
      const from = before.starts[slot] as number;
      if (to === ABSENT_VALUE) {
        if (generated) return "untold";
        continue;
      }
      if (from < 0 || to < 0) {
        if (from !== to) change = "some";
        continue;
      }
      const length = (after.ends[slot] as number) - to;
      if (length !== (before.ends[slot] as number) - from) {
        change = "some";
        continue;
      }
      for (let i = 0; i < length; i++) {
        if (event[from + i] !== event[to + i]) {
          change = "some";
          break;
        }
      }
    }
    return change;
  }

  /** As `#hashOf`, where `image` brings the values: a child that comes to a parent reads the parent's row. */
  #arrivalOf(key: KeyPlan, image: RowImage, rest: RowImage): number {
    return this.#hashOf(key, image, rest, key.rowIdentity);
  }

  /** The hash of a key's values in `image`, what that leaves out taken from `rest`; or NULL_KEY, ABSENT_KEY, UNKNOWN_KEY. */
  #hashOf({ parts, identity: own }: KeyPlan, image: RowImage, rest: RowImage, identity = own): number {
    let at = identity.length;
    identity.copy(this.#scratch, 0);
    let result = 0;
    for (const part of parts) {
      const { slot } = part;
      let start = image.starts[slot] as number;
      let end = image.ends[slot] as number;
      if (start === ABSENT_VALUE) {
        start = rest.starts[slot] as number;
        end = rest.ends[slot] as number;
      }
      // NULL takes the key away whatever else is in it.
      if (start === NULL_VALUE) return NULL_KEY;
      if (start === ABSENT_VALUE) {
        result = ABSENT_KEY;
        continue;
      }
      if (result < 0) continue;
      at = this.#write(part, start, end, at);
      if (at < 0) result = at;
    }
    return result < 0 ? result : this.#hash(this.#scratch, at);
  }

  /** Writes a value in its canonical form at `at` of the scratch; answers where it ends, or UNKNOWN_KEY. */
  #write({ form, lengthBytes }: KeyPart, start: number, end: number, at: number): number {
    const event = this.#event;
    const from = start + lengthBytes;
    switch (form.kind) {
      case "fixed":
        this.#room(at + end - from);
        return copy(event, from, end, this.#scratch, at);
      case "real": {
        this.#room(at + end - from);
        const to = copy(event, from, end, this.#scratch, at);
        if (isNegativeZero(this.#scratch, at, to)) this.#scratch[to - 1] = 0;
        return to;
      }
      case "bytes": {
        const length = end - from;
        const padded = Math.max(length, form.padTo);
        const wanted = form.prefix > 0 ? Math.min(form.prefix, padded) : padded;
        this.#room(at + 4 + wanted);
        const scratch = this.#scratch;
        scratch.writeUInt32LE(wanted, at);
        const to = copy(event, from, from + Math.min(length, wanted), scratch, at + 4);
        scratch.fill(0, to, at + 4 + wanted);
        return at + 4 + wanted;
      }
      case "text":
        return this.#writeText(form, from, end, at);
    }
  }

  #writeText(
    { collation, prefix, stripSpaces }: Extract<KeyPart["form"], { kind: "text" }>,
    from: number,
    end: number,
    at: number,
  ): number {
    const event = this.#event;
    const { width, bytewise } = collation.facts;
    let to = prefix > 0 && width !== undefined ? prefixEnd(width, event, from, end, prefix) : end;
    if (stripSpaces) to = withoutSpaces(width, event, from, to);
    const start = at + 4;
    let stop: number;
    if (bytewise || to === from) {
      this.#room(start + to - from);
      stop = copy(event, from, to, this.#scratch, start);
    } else {
      if (collation.isUnknown) return UNKNOWN_KEY;
      this.#room(start + collation.room(to - from));
      stop = collation.write(event, from, to, this.#scratch, start);
      if (stop < 0) {
        const weight = this.#weightOf(collation, from, to);
        if (weight === undefined) return UNKNOWN_KEY;
        this.#room(start + weight.length);
        stop = copy(weight, 0, weight.length, this.#scratch, start);
      }
    }
    this.#scratch.writeUInt32LE(stop - start, at);
    return stop;
  }

  /** undefined: not known, or not yet, and then it is wanted. */
  #weightOf(collation: Collation, from: number, to: number): Buffer | undefined {
    const text = this.#event.toString("latin1", from, to);
    const weight = collation.weightOf(text);
    if (weight !== undefined) return weight ?? undefined;
    let wanted = this.#wantedWeights.get(collation);
    if (wanted === undefined) this.#wantedWeights.set(collation, (wanted = { texts: new Set(), pages: new Set() }));
    const page = collation.missingPage(this.#event, from, to);
    if (page >= 0) wanted.pages.add(page);
    else wanted.texts.add(text);
    return undefined;
  }

  #room(bytes: number): void {
    if (bytes <= this.#scratch.length) return;
    const larger = Buffer.alloc(2 * bytes);
    this.#scratch.copy(larger);
    this.#scratch = larger;
  }
}

/** Short values byte by byte: a call of Buffer's copy costs more than they do. */
function copy(from: Buffer, start: number, end: number, to: Buffer, at: number): number {
  const length = end - start;
  if (length > 32) from.copy(to, at, start, end);
  else for (let i = 0; i < length; i++) to[at + i] = from[start + i] as number;
  return at + length;
}

/** Little-endian IEEE: all bits but the sign are zero. */
function isNegativeZero(bytes: Buffer, start: number, end: number): boolean {
  if (bytes[end - 1] !== 0x80) return false;
  for (let i = start; i < end - 1; i++) if (bytes[i] !== 0) return false;
  return true;
}
