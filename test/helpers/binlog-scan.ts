import { ReplicationError } from "../../src/base/error.ts";
import { withoutChecksums } from "../../src/binlog/checksum.ts";
import { decodeEvent } from "../../src/binlog/decode.ts";
import type { DecodedEvent } from "../../src/binlog/decode.ts";
import { eventFlags, eventType } from "../../src/binlog/event.ts";
import { EVENT_TYPE, eventTypeName } from "../../src/binlog/event-type.ts";
import { decodeOptionalMetadata } from "../../src/binlog/events/optional-metadata.ts";
import { countRows, isRowsType, rowsTableId } from "../../src/binlog/events/rows.ts";
import { TableMaps } from "../../src/binlog/events/table-map.ts";
import { decodeTransactionPayload, payloadEvents } from "../../src/binlog/events/transaction-payload.ts";
import { BinlogFileSplitter } from "../../src/binlog/file-reader.ts";
import type { BinlogFormat } from "../../src/binlog/format.ts";
import { eventFact, step } from "../../src/binlog/grammar.ts";
import type { Step, StreamState } from "../../src/binlog/grammar.ts";
import { isCompressed, uncompressEvent } from "../../src/binlog/uncompress.ts";

export interface ScannedEvent {
  /** Of the outer event, also for those inside a compressed payload. */
  offset: number;
  inPayload: boolean;
  /** Of the event as it stands in the file. */
  type: number;
  name: string;
  decoded: DecodedEvent;
  /** Undefined once the stream broke its grammar. */
  step: Step | undefined;
  /** Row events only. */
  rows: number | undefined;
}

export interface Scan {
  events: ScannedEvent[];
  /** Whole transactions, and beginnings of some that were never ended. */
  transactions: number;
  abandoned: number;
  rows: number;
  state: StreamState;
  /** Why reading ended before the file's end. */
  fault: ReplicationError | undefined;
  /** The first place where the stream broke its grammar; reading went on. */
  grammarFault: ReplicationError | undefined;
}

export interface ScanOptions {
  /** Feed the file in pieces of so many bytes. Default: in one. */
  chunkBytes?: number;
  /** Check checksums. Default true. */
  verify?: boolean;
}

/** Reads a whole binlog file through everything that `binlog/` has. Only ReplicationErrors are caught. */
export function scanBinlog(file: Buffer, { chunkBytes = file.length, verify = true }: ScanOptions = {}): Scan {
  const scan: Scan = {
    events: [],
    transactions: 0,
    abandoned: 0,
    rows: 0,
    state: "outside",
    fault: undefined,
    grammarFault: undefined,
  };
  const splitter = new BinlogFileSplitter({ verify });
  const maps = new TableMaps();
  const see = (event: Buffer, format: BinlogFormat, offset: number, inPayload: boolean): void => {
    const type = eventType(event);
    const decoded = decodeEvent(event, format);
    const compressed = isCompressed(type);
    const plain = compressed ? uncompressEvent(event, format) : event;
    const plainFormat = compressed ? withoutChecksums(format) : format;
    const plainType = eventType(plain);
    let rows: number | undefined;
    if (decoded.kind === "table-map") decodeOptionalMetadata(maps.add(event, format));
    if (isRowsType(plainType)) {
      const map = maps.get(rowsTableId(plain, plainFormat));
      rows = map === undefined ? undefined : countRows(plain, map, plainFormat);
      scan.rows += rows ?? 0;
    }
    const taken = scan.grammarFault === undefined ? advance(scan, plain, plainFormat) : undefined;
    const name = eventTypeName(type, format.flavour);
    scan.events.push({ offset, inPayload, type, name, decoded, step: taken, rows });
    if (plainType === EVENT_TYPE.TRANSACTION_PAYLOAD) {
      for (const inner of payloadEvents(decodeTransactionPayload(event, format), 1 << 26)) {
        see(inner, withoutChecksums(format), offset, true);
      }
    }
  };
  try {
    for (let at = 0; at < file.length; at += Math.max(chunkBytes, 1)) {
      splitter.feed(file.subarray(at, at + chunkBytes));
      for (let event = splitter.next(); event !== undefined; event = splitter.next()) {
        see(event, splitter.format, splitter.eventOffset, false);
      }
    }
    splitter.finish();
  } catch (error) {
    if (!(error instanceof ReplicationError)) throw error;
    // The splitter tells where its own faults are; the decoders know only their event.
    scan.fault = error.at({ position: splitter.eventOffset });
  }
  return scan;
}

function advance(scan: Scan, event: Buffer, format: BinlogFormat): Step | undefined {
  try {
    const taken = step(scan.state, eventType(event), eventFlags(event), eventFact(event, format));
    scan.state = taken.state;
    if (taken.role === "end" || taken.role === "standalone") scan.transactions++;
    if (taken.abandons) scan.abandoned++;
    return taken;
  } catch (error) {
    if (!(error instanceof ReplicationError)) throw error;
    scan.grammarFault = error;
    return undefined;
  }
}
