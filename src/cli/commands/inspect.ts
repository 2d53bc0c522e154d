import { Command } from "commander";
import { ReplicationError } from "../../base/error.ts";
import { type BinlogInput, findInputs } from "../../inspect/input/input.ts";
import { type Bound, describeBound, type Range } from "../../inspect/input/range.ts";
import { inspect } from "../../inspect/inspect.ts";
import type { Schema } from "../../schema/dump.ts";
import type { InspectSource } from "../inspect-source.ts";
import type { LiveBinlog } from "../live-binlog.ts";
import { clearProgressLine, noteMixed, progressLine, rangeOf, readSchema } from "../log-reading.ts";
import { checkOutputFile, writeOutputFile } from "../output-file.ts";
import { renderInspect, renderInspectLine } from "../render/inspect.ts";
import { Screen } from "../screen.ts";

const HELP = `
Files may be plain, or packed with gzip or zstd. A folder stands for the binlog files in it, an index file for the files that it names, - for standard input.
No server is needed. Checksums are not looked at without --verify-checksums. What cannot be read is told with offset and reason; all that can be is counted.
Files of several servers are read as one log, which is told; --undo wants one server's.

A bound of --from and --to is a time ("2026-11-30 03:12", UTC unless it says otherwise), a GTID, or a position ("binlog.000003:1234").

--rows prints every change as the statement that does it again, --undo as the one that takes it back, the last first; pipe them to the server's client, on a server of the log's
kind. Column names and keys come from the log (binlog_row_metadata=FULL), --schema or --source; a row of a table without a key is found by all of its columns. What no
statement does (columns without names) or takes back (DDL, statements, minimal row images) is a comment, and is told. Triggers fire again where tables have some; rows that a foreign key's cascade changed are
only in the logs of MySQL 9.6 and later.

--source reads a live server's binlog, as a replica does (REPLICATION SLAVE), from its oldest file or from --from. With --follow it goes on: a line of rates every --interval, or
with --rows the statements as they come; Ctrl-C ends it. Beside FILE it only tells names and keys.

Rows are told apart by their key where the log (binlog_row_metadata=FULL, or minimal row images) or --schema tells it; else the first column is taken for it, and the
report says so.

Exit codes: 0 all was read; 1 not all could be read, repeated or undone, or a bound or --table was not found; 2 usage; 3 failure.

Examples:
  abreast inspect binlog.000042
  abreast inspect /var/lib/mysql --from "2026-11-30 03:00" --to "2026-11-30 03:15"
  abreast inspect binlog.0000* --html report.html
  mysqldump --no-data --all-databases > schema.sql; abreast inspect binlog.000042 --schema schema.sql
  abreast inspect binlog.000042 --rows --table shop.orders --source mysql://root@db1
  abreast inspect binlog.000042 --undo --from 3e11fa47-71ca-11e1-9e33-c80aa9429562:23 --schema schema.sql > undo.sql
  abreast inspect --source mysql://root@db1 --follow
  abreast inspect binlog.000042 --json | jq '.tables[] | select(.keyFrom == "none")'`;

interface InspectFlags {
  from?: string;
  to?: string;
  schema?: string;
  top: string;
  parallelism?: true;
  verifyChecksums?: true;
  json?: true;
  html?: string;
  rows?: true;
  undo?: true;
  table: string[];
  source?: string;
  sourcePasswordFile?: string;
  follow?: true;
  interval?: string;
}

export function inspectCommand(): Command {
  return new Command("inspect")
    .description("show what is in binlog files: load, tables, patterns, large transactions, parallelism")
    .argument("[FILE...]", "binlog files, folders with binlog files, or index files")
    .option("--from <BOUND>", "begin with the first transaction at or behind this time, GTID or position")
    .option("--to <BOUND>", "end before this time or position, or with this GTID")
    .option("--schema <FILE>", "names and keys of tables: the output of mysqldump --no-data, or of SHOW CREATE TABLE")
    .option("--top <NUMBER>", "rows to show of each table", "10")
    .option(
      "--parallelism",
      "also what each policy would run at once: reads the log twice; small logs and pages have it anyway",
    )
    .option("--verify-checksums", "check each event's CRC32")
    .option("--json", "print the report as JSON")
    .option("--html <FILE>", "write the report as one page with charts, too")
    .option("--rows", "print every row and statement as SQL that does it again")
    .option("--undo", "print the SQL that takes every row change back")
    .option(
      "--table <TABLE>",
      "with --rows and --undo, only this schema.table, schema.*, or *.table; may be repeated",
      collect,
      [],
    )
    .option("--source <URL>", "read this server's binlog; beside FILE, take names and keys of tables from it")
    .option("--source-password-file <FILE>", "holds the password of --source in its first line")
    .option("--follow", "go on reading the --source's binlog as it grows")
    .option("--interval <SECONDS>", "with --follow, between two lines of rates (default: 1)")
    .helpOption("-h, --help", "print help")
    .addHelpText("after", HELP)
    .action(run);
}

async function run(paths: string[], flags: InspectFlags): Promise<void> {
  checkFlags(paths, flags);
  const screen = new Screen(process.stdout, process.stderr);
  const top = topOf(flags.top);
  const interval = intervalOf(flags.interval);
  const range = rangeOf(flags);
  const source = await namedSource(paths, flags);
  const schema = flags.schema === undefined ? await source?.schema() : await readSchema(flags.schema);
  const live = paths.length === 0 ? source?.open(range?.from) : undefined;
  const inputs = live === undefined ? await findInputs(paths) : [live];
  checkOutputFile("--html", flags.html, [...paths, ...inputs.map(({ path }) => path), flags.schema]);
  const mixed = await noteMixed(inputs, screen);
  if (mixed !== undefined && flags.undo === true) {
    throw new ReplicationError("CONFIG", "--undo is of one server's log", {
      hint: "undo the files of one server at a time",
    });
  }
  const onBytes = progressLine(
    inputs.map(({ bytes }) => bytes),
    renderInspectLine,
  );
  if (flags.rows === true || flags.undo === true || flags.follow === true) {
    const { inspectRows } = await import("../inspect-rows.ts");
    const tables = schema?.tables ?? [];
    process.exitCode = await inspectRows(
      inputs,
      { ...flags, interval, range, tables, live, signal: source?.signal },
      screen,
    );
  } else {
    await showReport(inputs, flags, { range, schema, top, onBytes, live }, screen);
  }
  // A reader takes it for a fault of a file, which it is not.
  if (live?.failure !== undefined) throw withoutReplication(live.failure);
}

/** The hints of those that replicate are about a new copy. */
function withoutReplication(failure: ReplicationError): ReplicationError {
  if (failure.hint?.includes("--init") !== true) return failure;
  const { code, message, retry, where, cause } = failure;
  const hint =
    "look at SHOW BINARY LOGS on the source for its files and their sizes; without --from reading begins with the oldest";
  return new ReplicationError(code, message, { retry, where, hint, cause });
}

async function showReport(
  inputs: readonly BinlogInput[],
  flags: InspectFlags,
  options: {
    range: Range | undefined;
    schema: Schema | undefined;
    top: number;
    onBytes: (bytes: number) => void;
    live: LiveBinlog | undefined;
  },
  screen: Screen,
): Promise<void> {
  const { range, schema, top, onBytes, live } = options;
  let missing: Bound | undefined;
  const report = await inspect(inputs, {
    ...(range === undefined ? {} : { range }),
    ...(schema === undefined ? {} : { schema }),
    parallelism: flags.parallelism === true || flags.html !== undefined ? "yes" : "small",
    verifyChecksums: flags.verifyChecksums === true,
    onBytes,
    onMissing: (bound) => (missing = bound),
  });
  clearProgressLine();
  // A source that gave nothing is told, and no report of nothing.
  if (live?.failure !== undefined && report.transactions === 0) return;
  if (report.faults.length > 0 || missing !== undefined) process.exitCode = 1;
  if (missing !== undefined) screen.note(`note: ${describeBound(missing)} is not in these files`);
  if (report.events === 0 && report.faults.length > 0 && flags.json !== true) {
    for (const { file, offset, reason } of report.faults) screen.note(`${file}, offset ${offset}: ${reason}`);
    return;
  }
  screen.print(flags.json ? JSON.stringify(report, undefined, 2) : renderInspect(report, { width: screen.width, top }));
  if (flags.html === undefined) return;
  const { inspectPage } = await import("../../inspect/html.ts");
  writeOutputFile("--html", flags.html, inspectPage(report));
  screen.note(`the page is in ${flags.html}`);
}

function checkFlags(paths: readonly string[], flags: InspectFlags): void {
  const { rows, undo, follow, json, html, table } = flags;
  const refuse = (what: string, hint: string): never => {
    throw new ReplicationError("CONFIG", what, { hint });
  };
  const isText = rows === true || undo === true;
  if (rows === true && undo === true) refuse("--rows and --undo are two texts", "give one of them");
  if (isText && (json === true || html !== undefined))
    refuse("--json and --html are of the report", "leave --rows and --undo out");
  if (table.length > 0 && !isText) refuse("--table is for --rows and --undo", "leave it out, or add --rows");
  if (flags.interval !== undefined && (follow !== true || isText))
    refuse(
      "--interval is between the lines of rates that --follow prints",
      "leave it out, or add --follow without --rows",
    );
  if (follow !== true) return;
  if (undo === true)
    refuse("--undo begins with the last change, and --follow has none", "give --to instead of --follow");
  if (json === true || html !== undefined)
    refuse("--follow makes no report", "leave --json and --html out, or --follow");
  if (paths.length > 0) refuse("--follow is for a live server", "give --source without FILE");
}

/** The server of --source, or of ABREAST_SOURCE where no file is given. What talks to servers is loaded only for it. */
async function namedSource(paths: readonly string[], flags: InspectFlags): Promise<InspectSource | undefined> {
  if (flags.source === undefined && paths.length > 0) return undefined;
  if (flags.source === undefined && process.env["ABREAST_SOURCE"] === undefined) {
    throw new ReplicationError("CONFIG", "inspect needs a file, or a server", {
      hint: "abreast inspect FILE, or abreast inspect --source URL; abreast inspect --help",
    });
  }
  const { inspectSource } = await import("../inspect-source.ts");
  const { source, sourcePasswordFile, follow } = flags;
  return inspectSource({ source, sourcePasswordFile }, follow === true);
}

function collect(value: string, values: string[]): string[] {
  return [...values, value];
}

const INTERVAL_SECONDS_MAX = 86_400;

function intervalOf(text = "1"): string {
  const seconds = Number(text);
  if (seconds > 0 && seconds <= INTERVAL_SECONDS_MAX) return text;
  throw new ReplicationError("CONFIG", `--interval is ${JSON.stringify(text)}`, {
    hint: `give a number of seconds above 0, at most ${INTERVAL_SECONDS_MAX}`,
  });
}

function topOf(text: string): number {
  const top = Number(text);
  if (/^\d+$/.test(text) && top >= 1) return top;
  throw new ReplicationError("CONFIG", `--top is ${JSON.stringify(text)}`, { hint: "give a whole number from 1 on" });
}
