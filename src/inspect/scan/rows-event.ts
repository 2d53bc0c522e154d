import { ReplicationError } from "../../base/error.ts";
import { decodeValue, NULL_TEXT } from "../../binlog/columns/value.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { ABSENT_VALUE, NULL_VALUE } from "../../binlog/events/row-walker.ts";
import { countBits, hasBit, partialOptionsEnd } from "../../binlog/events/rows.ts";
import type { PartBuilder } from "../summary/part-builder.ts";
import { u16, u24, u32, u48 } from "./bytes.ts";
import { type Image, keyHash, newImage, sameBytes, scanImage } from "./row-scan.ts";
import { learnKey, type ScanTable } from "./scan-table.ts";

/** A row that is deleted and inserted again this many transactions later, or less, counts: so many may well run side by side on a replica. */
const NEIGHBOURS = 100;
const KEY_TEXT_MAX = 64;
const STATEMENT_HEADER = 2;

/**
 * Goes through the rows of row events where they lie: counts them, follows their keys, and compares images. Makes no object per event or row.
 */
export class RowsEventScanner {
  #before: Image = newImage(16);
  #after: Image = newImage(16);

  /**
   * @param at where the event's fields behind its table id begin: its flags. `end`: where its rows end.
   * @param transaction number of the transaction in the part of the log
   * @returns rows changed
   * @throws ReplicationError CORRUPT_EVENT, UNSUPPORTED
   */
  scan(
    bytes: Buffer,
    view: DataView,
    type: number,
    at: number,
    end: number,
    table: ScanTable,
    part: PartBuilder,
    transaction: number,
  ): number {
    const { map } = table;
    const { columnCount } = map;
    let offset = at + STATEMENT_HEADER;
    // Version 2, MySQL since 5.6: extra data, whose length counts its own two bytes.
    if (type >= EVENT_TYPE.WRITE_ROWS) offset += Math.max(2, u16(bytes, offset));
    const width = bytes[offset] as number;
    const columns = width < 0xfb ? width : width === 0xfc ? u16(bytes, offset + 1) : u24(bytes, offset + 1);
    offset += width < 0xfb ? 1 : width === 0xfc ? 3 : 4;
    if (columns !== columnCount) throw corrupt("a row event and its table map describe different tables");
    const bitmapBytes = (columns + 7) >> 3;
    const isUpdate = isUpdateType(type);
    const isInsert = isInsertType(type);
    const firstBitmap = offset;
    offset += bitmapBytes;
    const secondBitmap = offset;
    if (isUpdate) offset += bitmapBytes;
    if (!(offset <= end)) throw corrupt("a row event ends before its rows");
    const firstPresent = countBits(bytes, firstBitmap, columns);
    const secondPresent = isUpdate ? countBits(bytes, secondBitmap, columns) : 0;
    if (!isInsert && firstPresent < columns && table.keyFrom === "guess") {
      learnKey(table, (column) => hasBit(bytes, firstBitmap, column));
    }
    if (columns > this.#before.starts.length) {
      this.#before = newImage(columns);
      this.#after = newImage(columns);
    }
    // A minimal image of defaults alone has no columns and no bytes; the server then writes one row to an event.
    if (offset === end) return firstPresent + secondPresent === 0 ? this.#count(table, type, 1) : 0;
    const isPartial = type === EVENT_TYPE.PARTIAL_UPDATE_ROWS;
    const before = this.#before;
    const after = this.#after;
    const codes = map.lengthCodes;
    let rows = 0;
    try {
      while (offset < end) {
        const start = offset;
        if (isInsert) {
          offset = scanImage(bytes, offset, end, codes, columns, firstBitmap, firstPresent, after);
          if (table.key.length > 0) this.#inserted(bytes, view, table, part, transaction);
        } else {
          offset = scanImage(bytes, offset, end, codes, columns, firstBitmap, firstPresent, before);
          if (isUpdate) {
            if (isPartial) offset = partialOptionsEnd(bytes, offset, end, map);
            offset = scanImage(bytes, offset, end, codes, columns, secondBitmap, secondPresent, after);
            // A partial update holds differences where values would be.
            if (!isPartial) this.#compare(bytes, view, table, secondPresent > 0);
          } else {
            table.counts.savableBytes += this.#beyondKey(table);
          }
          if (table.key.length > 0) this.#changed(bytes, view, table, part, isUpdate ? 0 : transaction);
        }
        if (offset === start) throw corrupt("a row without columns has bytes");
        rows++;
      }
    } catch (error) {
      if (!table.hidesLengths || !(error instanceof ReplicationError)) throw error;
      // How long its values are only the table's definition tells: it has at least one row.
      rows = 1;
    }
    return this.#count(table, type, rows);
  }

  #count({ counts }: ScanTable, type: number, rows: number): number {
    if (isInsertType(type)) counts.inserts += rows;
    else if (isUpdateType(type)) counts.updates += rows;
    else counts.deletes += rows;
    return rows;
  }

  /** An update or a delete. `deletedBy`: the transaction that deletes it; 0: an update. */
  #changed(bytes: Buffer, view: DataView, table: ScanTable, part: PartBuilder, deletedBy: number): void {
    const { keys } = part;
    const hash = keyHash(view, bytes, this.#before, table.key, table.seed);
    if (hash !== 0) {
      const slot = keys.slotOf(hash);
      if (slot >= 0) {
        if (keys.count(slot)) this.#tell(bytes, table, part, slot, this.#before);
        if (deletedBy !== 0) keys.setDeleted(slot, deletedBy);
      }
    }
    if (deletedBy === 0 || table.otherKeys.length === 0) return;
    for (const [number, key] of table.otherKeys.entries()) {
      const other = keyHash(view, bytes, this.#before, key, table.seed + number + 1);
      const slot = other === 0 ? -1 : keys.slotOf(other);
      if (slot >= 0) keys.setDeleted(slot, deletedBy);
    }
  }

  #inserted(bytes: Buffer, view: DataView, table: ScanTable, part: PartBuilder, transaction: number): void {
    const { keys } = part;
    const hash = keyHash(view, bytes, this.#after, table.key, table.seed);
    let deletedBy = 0;
    const slot = hash === 0 ? -1 : keys.find(hash);
    if (slot >= 0) {
      if (keys.count(slot)) this.#tell(bytes, table, part, slot, this.#after);
      deletedBy = keys.takeDeleted(slot);
    }
    for (let i = 0; i < table.otherKeys.length; i++) {
      const other = keyHash(view, bytes, this.#after, table.otherKeys[i] as readonly number[], table.seed + i + 1);
      const otherSlot = other === 0 ? -1 : keys.find(other);
      // One row inserted again counts once, by whichever of its keys.
      if (otherSlot >= 0) deletedBy = Math.max(deletedBy, keys.takeDeleted(otherSlot));
    }
    if (deletedBy === 0) return;
    if (deletedBy === transaction) {
      table.counts.insertedAgainInside++;
      part.insertedInside++;
    } else if (transaction - deletedBy <= NEIGHBOURS) {
      table.counts.insertedAgainAcross++;
      part.insertedAcross++;
    }
  }

  /** An update's two images: what is the same in both, and not of the key, need not be there twice; and what is not of the key need not be in the first one. */
  #compare(bytes: Buffer, view: DataView, table: ScanTable, hasAfter: boolean): void {
    const { starts, ends } = this.#before;
    const { starts: newStarts, ends: newEnds } = this.#after;
    const { columnCount } = table.map;
    const { key } = table;
    let savable = 0;
    let isEmpty = hasAfter;
    for (let column = 0; column < columnCount; column++) {
      const start = starts[column] as number;
      const newStart = newStarts[column] as number;
      const length = start < 0 ? 0 : (ends[column] as number) - start;
      const inKey = key.length > 0 && key.includes(column);
      if (!inKey && key.length > 0) savable += length;
      if (newStart === ABSENT_VALUE) continue;
      let same: boolean;
      if (start < 0 || newStart < 0) same = start === newStart;
      else {
        const newLength = (newEnds[column] as number) - newStart;
        same = newLength === length && sameBytes(view, bytes, start, newStart, length);
        if (same && key.length > 0) savable += newLength;
      }
      if (!same) isEmpty = false;
    }
    table.counts.savableBytes += savable;
    if (isEmpty) table.counts.emptyUpdates++;
  }

  /** Bytes of a deleted row that a minimal image would not have. */
  #beyondKey({ key, map }: ScanTable): number {
    if (key.length === 0) return 0;
    const { starts, ends } = this.#before;
    let bytes = 0;
    for (let column = 0; column < map.columnCount; column++) {
      const start = starts[column] as number;
      if (start >= 0 && !key.includes(column)) bytes += (ends[column] as number) - start;
    }
    return bytes;
  }

  #tell(bytes: Buffer, table: ScanTable, part: PartBuilder, slot: number, image: Image): void {
    const { map, optional, key } = table;
    const values = key.map((column) => {
      const start = image.starts[column] as number;
      if (start === NULL_VALUE || start === ABSENT_VALUE) return NULL_TEXT.text;
      const facts = { unsigned: optional.unsigned?.[column] };
      return valueText(
        map.types[column] as number,
        map.metadata[column] as number,
        bytes,
        start,
        image.ends[column] as number,
        facts,
      );
    });
    part.keys.tell(slot, table.name, values.join(", "), table.keyFrom === "guess");
  }
}

function valueText(
  type: number,
  metadata: number,
  bytes: Buffer,
  start: number,
  end: number,
  facts: { unsigned: boolean | undefined },
): string {
  let text: string;
  try {
    ({ text } = decodeValue(type, metadata, bytes, start, Math.min(end, start + 1024), facts));
  } catch {
    // Of a broken value, or one of a type that nobody knows.
    text = `0x${bytes.toString("hex", start, Math.min(end, start + KEY_TEXT_MAX))}`;
  }
  return text.length > KEY_TEXT_MAX ? `${text.slice(0, KEY_TEXT_MAX - 1)}…` : text;
}

const isInsertType = (type: number): boolean => type === EVENT_TYPE.WRITE_ROWS || type === EVENT_TYPE.WRITE_ROWS_V1;

const isUpdateType = (type: number): boolean =>
  type === EVENT_TYPE.UPDATE_ROWS || type === EVENT_TYPE.UPDATE_ROWS_V1 || type === EVENT_TYPE.PARTIAL_UPDATE_ROWS;

const corrupt = (what: string): ReplicationError => new ReplicationError("CORRUPT_EVENT", what);

/** The number that a table map and the row events behind it have in common: 6 bytes, 4 before MySQL 5.1.4. */
export const tableIdAt = (bytes: Buffer, at: number, width: number): number =>
  width === 4 ? u32(bytes, at) : u48(bytes, at);
