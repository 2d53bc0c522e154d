import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { findServer } from "../../src/sandbox/find.ts";
import { commandOf } from "../../src/sandbox/installation.ts";

/** What the servers' own tool says of binlog files, counted from what it prints: a reading of them that shares nothing with ours. */
export interface Listing {
  /** It read every file to its end. Otherwise the counts are those of what is before the place it stumbled over. */
  complete: boolean;
  errors: string;
  /** By type, in the words of `foldedName`; events inside compressed payloads count too. */
  events: Record<string, number>;
  /** Whole ones. */
  transactions: number;
  /** By `schema.table`. */
  rows: Record<string, RowCounts>;
  /** Where events begin in the file that was listed last, those in compressed payloads aside. */
  offsets: number[];
}

export interface RowCounts {
  inserts: number;
  updates: number;
  deletes: number;
}

export type BinlogTool = "mysql-9.7" | "mariadb-10.11";

/** Its words for events, where they are not the server's own (`print` of the events in sql/log_event.cc of both servers). */
const LABELS: Readonly<Record<string, string>> = {
  Start: "Format_desc",
  "Previous-GTIDs": "Previous_gtids",
  GTID: "Gtid",
  Anonymous_GTID: "Anonymous_Gtid",
  Rand: "RAND",
  User_var: "User var",
  Transaction_Payload: "Transaction_payload",
  "XA PREPARE": "XA_prepare",
  "XID =": "XA_prepare",
  "Binlog checkpoint": "Binlog_checkpoint",
  "Gtid list": "Gtid_list",
  Write_compressed_rows: "Write_rows_compressed",
  Update_compressed_rows: "Update_rows_compressed",
  Delete_compressed_rows: "Delete_rows_compressed",
};

/** The tools call events of both versions the same, and GTIDs with and without tag. */
function foldedName(name: string): string {
  return name.replace(/_v1$/, "").replace(/^Gtid_tagged_log_event$/, "Gtid");
}

/** Events by folded name. */
export function foldEvents(events: Readonly<Record<string, number>>): Record<string, number> {
  const folded: Record<string, number> = {};
  for (const [name, count] of Object.entries(events)) {
    folded[foldedName(name)] = (folded[foldedName(name)] ?? 0) + count;
  }
  return folded;
}

const HEADER = /^#\d{6} [ \d]\d:\d\d:\d\d server id \d+ +end_log_pos \d+ (?:CRC32 0x[\da-f]+ )?\t?(.*)$/;
const LABEL = /^(?:XA PREPARE|XID =|Binlog checkpoint|Gtid list|[\w-]+)/;
const ROW = /^### (INSERT INTO|UPDATE|DELETE FROM) `((?:[^`]|``)+)`\.`((?:[^`]|``)+)`/;

export async function listBinlogs(tool: BinlogTool, paths: readonly string[]): Promise<Listing> {
  const installation = await findServer(tool);
  if (installation.mysqlbinlog === undefined) throw new Error(`${tool} comes without mysqlbinlog`);
  const options = ["--no-defaults", "-vv", "--base64-output=decode-rows", ...paths];
  const { file, args, env } = commandOf(installation, installation.mysqlbinlog, options);
  const child = spawn(file, args, { env, stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  const listing = new ListingReader();
  for await (const line of createInterface({ input: child.stdout, crlfDelay: Infinity })) listing.line(line);
  const code = await ended;
  return { complete: code === 0, errors, ...listing.end() };
}

/** What the tool prints, line by line. A statement whose text looks like the tool's own lines would mislead it; tests do not log such. */
class ListingReader {
  readonly #events: Record<string, number> = {};
  readonly #rows: Record<string, RowCounts> = {};
  readonly #transactions = new TransactionCounter();
  #offsets = new Set<number>();
  #payload = false;
  #name: string | undefined;
  #flags = "";
  /** First line of the statement that is being read, and of the last whole one: what an event does comes after the settings it needs. */
  #statement: string | undefined;
  #lastStatement = "";

  line(line: string): void {
    if (line.startsWith("#")) {
      this.#comment(line);
    } else if (this.#name !== undefined && !line.includes("added by mysqlbinlog")) {
      this.#text(line);
    }
  }

  end(): Omit<Listing, "complete" | "errors"> {
    this.#endEvent();
    return {
      events: this.#events,
      transactions: this.#transactions.count,
      rows: this.#rows,
      offsets: [...this.#offsets].toSorted((a, b) => a - b),
    };
  }

  #comment(line: string): void {
    const row = ROW.exec(line);
    if (row !== null) return this.#row(row);
    const header = HEADER.exec(line);
    if (header !== null) return this.#beginEvent(header[1] ?? "");
    // Begin_load_query, Append_block and Delete_file have their names on a line of their own.
    const late = /^#(\w+): file_id/.exec(line)?.[1];
    if (late !== undefined && this.#name === "") this.#name = late;
    if (line === "# Start of compressed events.") this.#payload = true;
    if (line === "# End of compressed events.") this.#payload = false;
    const offset = /^# at (\d+)$/.exec(line)?.[1];
    if (offset === undefined || this.#payload) return;
    if (offset === "4") this.#offsets = new Set();
    this.#offsets.add(Number(offset));
  }

  #row([, verb, schema, table]: RegExpExecArray): void {
    const name = `${schema}.${table}`.replaceAll("``", "`");
    const counts = (this.#rows[name] ??= { inserts: 0, updates: 0, deletes: 0 });
    counts[verb === "UPDATE" ? "updates" : verb === "DELETE FROM" ? "deletes" : "inserts"]++;
  }

  #beginEvent(words: string): void {
    this.#endEvent();
    const label = LABEL.exec(words)?.[0] ?? "";
    this.#name = LABELS[label] ?? label;
    this.#flags = words;
    this.#statement = undefined;
    this.#lastStatement = "";
  }

  #text(line: string): void {
    const closes = line.endsWith("/*!*/;");
    const words = closes ? line.slice(0, -6) : line;
    if (words !== "") this.#statement ??= words;
    if (closes && this.#statement !== undefined) {
      this.#lastStatement = this.#statement;
      this.#statement = undefined;
    }
  }

  #endEvent(): void {
    const name = this.#name;
    if (name === undefined) return;
    this.#events[name] = (this.#events[name] ?? 0) + 1;
    this.#transactions.event(name, this.#flags, this.#lastStatement);
    this.#name = undefined;
  }
}

/** Counts whole transactions from names of events and first lines of statements. */
class TransactionCounter {
  count = 0;
  #gtid = false;
  #inside = false;

  event(name: string, words: string, statement: string): void {
    switch (name) {
      case "Format_desc":
      case "Rotate":
      case "Stop":
        this.#gtid = false;
        this.#inside = false;
        return;
      case "Gtid":
      case "Anonymous_Gtid":
        this.#gtid = true;
        this.#inside = statement === "START TRANSACTION" || statement === "BEGIN" || statement.startsWith("XA START");
        return;
      case "Xid":
      case "XA_prepare":
        return this.#end();
      case "Query":
      case "Query_compressed":
        return this.#query(statement);
      case "Execute_load_query":
      case "Delete_file":
        if (!this.#inside) this.#end();
        return;
      default:
        if (/_rows/.test(name) && !this.#inside && words.includes("STMT_END_F") && !this.#gtid) this.#end();
    }
  }

  #query(statement: string): void {
    if (/^(?:BEGIN|XA START .*)$/.test(statement)) this.#inside = true;
    else if (!this.#inside || /^(?:COMMIT|ROLLBACK)$/.test(statement)) this.#end();
  }

  #end(): void {
    this.count++;
    this.#gtid = false;
    this.#inside = false;
  }
}
