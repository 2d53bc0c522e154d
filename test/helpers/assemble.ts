import { readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { RowDataPacket } from "mysql2/promise";
import { eventType } from "../../src/binlog/event.ts";
import { EVENT_TYPE, eventTypeName } from "../../src/binlog/event-type.ts";
import { decodeQuery } from "../../src/binlog/events/query.ts";
import { BinlogFileSplitter } from "../../src/binlog/file-reader.ts";
import { Assembler, type AssemblerOptions } from "../../src/transaction/assembler.ts";
import { bodyEvents } from "../../src/transaction/body-events.ts";
import { describeId, type Transaction } from "../../src/transaction/transaction.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { query, withConnection } from "./servers.ts";

/** Binlog files taken for relay log files: what is in them, and what an assembler makes of it. */
export interface Assembled {
  transactions: Transaction[];
  assembler: Assembler;
  files: RelayFile[];
}

interface RelayFile {
  events: Buffer[];
  offsets: number[];
}

export const IN_MEMORY: AssemblerOptions = { bytesInMemoryMax: 1 << 30 };

export function assembleFiles(paths: readonly string[], options: AssemblerOptions = IN_MEMORY): Assembled {
  const first = basename(paths[0] ?? "");
  const assembler = new Assembler(options, { source: { file: first, position: 4 } });
  const transactions: Transaction[] = [];
  const files: RelayFile[] = [];
  for (const path of paths) {
    const splitter = new BinlogFileSplitter();
    splitter.feed(readFileSync(path));
    const file: RelayFile = { events: [], offsets: [] };
    for (let event = splitter.next(); event !== undefined; event = splitter.next()) {
      const at = { file: files.length, offset: splitter.eventOffset };
      const transaction = assembler.push(event, at, { file: files.length, offset: splitter.endOffset });
      if (transaction !== undefined) transactions.push(transaction);
      file.events.push(event);
      file.offsets.push(splitter.eventOffset);
    }
    files.push(file);
  }
  return { transactions, assembler, files };
}

/** A transaction's body, read back in batches of `batchEvents` raw events where it is a range. */
export async function bodyOf(
  transaction: Transaction,
  { files }: Assembled,
  options: { batchEvents?: number; batchBytesMax?: number; tableFilter?: AssemblerOptions["tableFilter"] } = {},
): Promise<Buffer[]> {
  const { body } = transaction;
  if ("events" in body) return [...body.events];
  const { from, to } = body.range;
  const file = files[from.file] as RelayFile;
  const raw = file.events.filter((_, i) => {
    const offset = file.offsets[i] as number;
    return offset >= from.offset && offset < to.offset;
  });
  const size = options.batchEvents ?? 3;
  async function* batches(): AsyncGenerator<Buffer[]> {
    for (let at = 0; at < raw.length; at += size) yield raw.slice(at, at + size);
  }
  const events: Buffer[] = [];
  const { tableFilter } = options;
  for await (const batch of bodyEvents(transaction, batches(), {
    batchBytesMax: options.batchBytesMax ?? 1000,
    ...(tableFilter === undefined ? {} : { tableFilter }),
  })) {
    events.push(...batch);
  }
  return events;
}

/** `Table_map`, `Write_rows`, … and, of queries, the text. */
export function describeEvents(transaction: Transaction, events: readonly Buffer[]): string[] {
  return events.map((event) =>
    eventType(event) === EVENT_TYPE.QUERY
      ? decodeQuery(event, transaction.format).sql.toString()
      : eventTypeName(eventType(event), transaction.format.flavour),
  );
}

/** One line per transaction: kind, how it ends, rows, body. */
export const told = (transaction: Transaction, events: readonly Buffer[]): string =>
  [
    transaction.kind,
    transaction.ending,
    `${transaction.rows} rows`,
    ...(transaction.xid === undefined ? [] : [transaction.xid]),
    describeEvents(transaction, events).join(", "),
  ].join("; ");

/** Bodies in memory only. */
export const tellAll = ({ transactions }: Assembled): string[] =>
  transactions.map((transaction) =>
    told(transaction, "events" in transaction.body ? [...transaction.body.events] : []),
  );

/** Runs the statements one after another in one session. */
export async function runAll(server: SandboxServer, statements: readonly string[]): Promise<void> {
  await withConnection(server, async (connection) => {
    for (const statement of statements) await connection.query(statement);
  });
}

/** The server's binlog files, oldest first. */
export async function binlogFiles(server: SandboxServer): Promise<string[]> {
  const logs = await query<RowDataPacket[]>(server, "SHOW BINARY LOGS");
  return logs.map((row) => join(server.dataFolder, String(row["Log_name"])));
}

/** What the server itself says of its files: where each transaction begins (its GTID event) and where its last event ends. */
export async function expectedPlaces(server: SandboxServer): Promise<string[]> {
  const places: { gtid: string; file: string; from: number; to: number }[] = [];
  for (const path of await binlogFiles(server)) {
    const events = await query<RowDataPacket[]>(server, `SHOW BINLOG EVENTS IN '${path.split("/").at(-1)}'`);
    for (const { Log_name, Pos, End_log_pos, Event_type, Info } of events) {
      if (/^(Rotate|Stop|Format_desc|Previous_gtids|Gtid_list|Binlog_checkpoint)$/.test(Event_type as string)) continue;
      const gtid = /GTID_NEXT= '(.*)'|GTID (\d+-\d+-\d+)/
        .exec(Info as string)
        ?.slice(1)
        .find((id) => id !== undefined);
      if (gtid !== undefined) places.push({ gtid, file: Log_name as string, from: Pos as number, to: 0 });
      // The events inside a compressed payload are shown with positions of their own.
      else if (End_log_pos < Pos) continue;
      (places.at(-1) as { to: number }).to = End_log_pos as number;
    }
  }
  return places.map(({ gtid, file, from, to }) => `${gtid} ${file} ${from}-${to}`);
}

/** What the assembler found, in the same words. */
export const places = ({ transactions }: Assembled): string[] =>
  transactions.map(({ id, start, end }) => `${describeId(id)} ${start.file} ${start.position}-${end.position}`);
