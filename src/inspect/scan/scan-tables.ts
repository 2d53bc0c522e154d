import { ReplicationError } from "../../base/error.ts";
import { withoutChecksums } from "../../binlog/checksum.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { decodeTableMap } from "../../binlog/events/table-map.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { PartBuilder } from "../summary/part-builder.ts";
import { tableIdAt } from "./rows-event.ts";
import { makeScanTable, type ScanTable, type SchemaKeys, tellKey } from "./scan-table.ts";

interface Known {
  /** The map's bytes behind its header. */
  body: Buffer;
  view: DataView;
  table: ScanTable;
}

/** Tables that one statement changes, and then some: a statement's maps are never forgotten before its rows have come. */
const GENERATION_MAX = 4096;

/**
 * The tables of a log by table id.
 *
 * Invariant: `get` answers what the last `map` of that id in this part of the log said. Its decoded form is kept as long as its bytes are the same, over parts and files: sources
 * repeat a map in every statement.
 */
export class ScanTables {
  readonly #schema: ReadonlyMap<string, SchemaKeys> | undefined;
  #young = new Map<number, Known>();
  #old = new Map<number, Known>();
  #format: BinlogFormat | undefined;
  #part: PartBuilder | undefined;
  #partNumber = 0;

  constructor(schema: ReadonlyMap<string, SchemaKeys> | undefined) {
    this.#schema = schema;
  }

  begin(part: PartBuilder): void {
    this.#part = part;
    this.#partNumber++;
  }

  setFormat(format: BinlogFormat): void {
    if (format.serverVersion !== this.#format?.serverVersion) {
      this.#young.clear();
      this.#old.clear();
    }
    this.#format = format;
  }

  /** A table map whose fields lie in `[body, end)`. */
  map(bytes: Buffer, view: DataView, body: number, end: number, next: number): void {
    const format = this.#format as BinlogFormat;
    const width = format.postHeaderLengths[EVENT_TYPE.TABLE_MAP] === 6 ? 4 : 6;
    if (body + width + 2 > end) throw new ReplicationError("CORRUPT_EVENT", "a table map ends in its first field");
    const id = tableIdAt(bytes, body, width);
    let known = this.#young.get(id) ?? this.#old.get(id);
    if (known === undefined || !isSame(known, bytes, view, body, end)) {
      // Without its checksum: those inside a compressed transaction have none.
      const own = Buffer.from(bytes.subarray(body - format.headerLength, end));
      const map = decodeTableMap(own, withoutChecksums(format));
      const ownBody = own.subarray(format.headerLength);
      const name = `${map.schema}.${map.table}`;
      known = {
        body: ownBody,
        view: new DataView(ownBody.buffer, ownBody.byteOffset, ownBody.byteLength),
        table: makeScanTable(map, format, this.#schema?.get(name)),
      };
      this.#keep(id, known);
    }
    const { table } = known;
    if (table.part !== this.#partNumber) this.#enter(table);
    table.counts.bytes += next - body + format.headerLength;
  }

  /** @throws ReplicationError GRAMMAR when there was no map of it */
  get(id: number): ScanTable {
    const table = (this.#young.get(id) ?? this.#old.get(id))?.table;
    if (table?.part === this.#partNumber) return table;
    throw new ReplicationError("GRAMMAR", `rows of table id ${id} have no table map before them`);
  }

  #enter(table: ScanTable): void {
    const { map, name } = table;
    const part = this.#part as PartBuilder;
    table.part = this.#partNumber;
    table.counts = part.countsOf(map.schema, map.table, name);
    tellKey(table);
  }

  #keep(id: number, known: Known): void {
    if (this.#young.size >= GENERATION_MAX) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(id, known);
  }
}

function isSame({ body, view: own }: Known, bytes: Buffer, view: DataView, at: number, end: number): boolean {
  const length = end - at;
  if (body.length !== length) return false;
  let i = 0;
  for (; i + 4 <= length; i += 4) if (own.getInt32(i, true) !== view.getInt32(at + i, true)) return false;
  for (; i < length; i++) if (body[i] !== bytes[at + i]) return false;
  return true;
}
