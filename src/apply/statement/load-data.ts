import { ReplicationError } from "../../base/error.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { eventType } from "../../binlog/event.ts";
import { decodeAppendBlock, decodeBeginLoadQuery, type ExecuteLoadQueryEvent } from "../../binlog/events/load-data.ts";
import type { BinlogFormat } from "../../binlog/format.ts";

/** The name that the server sends back when it asks for the file; nobody opens it. */
const FILE_NAME = "abreast";

/**
 * The files of LOAD DATA statements in statement format, which the source logs in blocks before the statement.
 *
 * Invariant: a file is here from its first block until its statement or DELETE_FILE took it. All its blocks are in memory, bounded by the
 * file's own size on the source: the statement that says what they are for comes last.
 */
export class LoadedFiles {
  readonly #files = new Map<number, Buffer[]>();

  /** Takes BEGIN_LOAD_QUERY and APPEND_BLOCK. */
  block(event: Buffer, format: BinlogFormat): void {
    const begins = eventType(event) === EVENT_TYPE.BEGIN_LOAD_QUERY;
    const { fileId, data } = begins ? decodeBeginLoadQuery(event, format) : decodeAppendBlock(event, format);
    if (begins) this.#files.set(fileId, [data]);
    else this.#files.get(fileId)?.push(data);
  }

  take(fileId: number): Buffer[] {
    const blocks = this.#files.get(fileId);
    if (blocks === undefined)
      throw new ReplicationError("GRAMMAR", `LOAD DATA of file ${fileId}, whose data is missing`);
    this.#files.delete(fileId);
    return blocks;
  }

  drop(fileId: number): void {
    this.#files.delete(fileId);
  }

  clear(): void {
    this.#files.clear();
  }
}

/** The statement with the file's place in its text replaced, as a LOCAL INFILE. LOCAL ignores duplicates when nothing is said: where the source would have failed, it logged nothing. */
export function localLoadData({ sql, fileNameFrom, fileNameTo, duplicates }: ExecuteLoadQueryEvent): Buffer {
  const how = duplicates === "replace" ? " REPLACE" : duplicates === "ignore" ? " IGNORE" : "";
  return Buffer.concat([
    sql.subarray(0, fileNameFrom),
    Buffer.from(` LOCAL INFILE '${FILE_NAME}'${how} INTO`),
    sql.subarray(fileNameTo),
  ]);
}
