import { Command } from "commander";
import { ReplicationError } from "../../base/error.ts";
import { parseServerUrl } from "../../base/server-url.ts";
import { type BinlogInput, findInputs } from "../../inspect/input/input.ts";
import { type Bound, describeBound } from "../../inspect/input/range.ts";
import { transactionsOf } from "../../inspect/input/transactions.ts";
import { parseWithKey } from "../../inspect/keys/with-key.ts";
import { LogTransactions } from "../../inspect/scheduler-transactions.ts";
import type { CostModel } from "../../simulate/cost-model.ts";
import { FromLog } from "../../simulate/from-log.ts";
import { LogSimulation } from "../../simulate/log-simulation.ts";
import type { SimulateReport } from "../../simulate/report.ts";
import { clearProgressLine, noteMixed, progressLine, rangeOf, readSchema } from "../log-reading.ts";
import { checkOutputFile, writeOutputFile } from "../output-file.ts";
import { withSchema } from "../../simulate/schema-costs.ts";
import { renderSimulate, renderSimulateLine } from "../render/simulate.ts";
import { Screen } from "../screen.ts";
import { type GridFlags, gridOf, numberIn, readCosts } from "../simulate-options.ts";
import { checkTable, NamedTables } from "../simulate-tables.ts";
import { CellThreads } from "../simulate-threads.ts";
import { onStopSignals } from "../stop-signals.ts";

const HELP = `
The log is applied as a backlog, in virtual time, by the scheduler that abreast replicate has, on a machine whose costs --costs says or --calibrate measures. Without either
they are those of a machine with two cores and durable commits: order and shape are right then, seconds are not. No server is needed but for --calibrate.

--calibrate makes a schema abreast_calibration on the target, changes rows in it for some seconds and drops it, also on Ctrl-C. Where the account may, all of that is kept out of the target's
binlog: then a commit is measured without it, and is cheaper than an engine's. --calibrate-binlog measures with it; the changes, and their GTIDs, stay in the log.

Keys are those of --schema, else what the log tells (binlog_row_metadata=FULL), else the first column.

Exit codes: 0 all was read; 1 not all could be read, or a bound was not found; 2 usage; 3 failure.

Examples:
  abreast simulate binlog.000042
  abreast simulate /var/lib/mysql --from "2026-11-30 03:00" --policies writeset,logical-clock --workers 4,8 --packing off
  abreast simulate binlog.000042 --calibrate mysql://root@replica --save-costs replica.json --html report.html
  abreast simulate binlog.000042 --costs replica.json --without-table shop.sessions --split-transactions 1000
  abreast simulate binlog.000042 --with-key 'shop.log(id)' --json | jq .recommendation`;

const ROWS_MAX = 1_000_000_000;
const CORES_MAX = 10_000;
const SLOWER_MAX = 1_000;
const PROGRESS_MS = 200;
const EXIT_AT_ONCE = 3;

interface SimulateFlags extends GridFlags {
  costs?: string;
  calibrate?: string;
  calibrateBinlog?: true;
  saveCosts?: string;
  costsShown?: true;
  cores?: string;
  slower?: string;
  withoutTable: string[];
  withKey: string[];
  splitTransactions?: string;
  schema?: string;
  from?: string;
  to?: string;
  json?: true;
  html?: string;
}

export function simulateCommand(): Command {
  const collect = (value: string, values: string[]): string[] => [...values, value];
  return new Command("simulate")
    .description("predict what other policies, workers, orders and packings would do to binlog files")
    .argument("[FILE...]", "binlog files, folders with binlog files, or index files")
    .option("--policies <LIST>", "policies to compare, or all (default: all that differ)")
    .option("--workers <LIST>", "numbers of workers (default: 1,2,4,8,16)")
    .option("--commit-order <LIST>", "preserve, relaxed (default: preserve)")
    .option(
      "--packing <LIST>",
      "transactions of a target commit at most; on: the engine's default, off: 1 (default: off,on)",
    )
    .option("--dependency <WAY>", "graph or low-water-mark (default: graph)")
    .option("--native", "the server's own replica as well")
    .option("--costs <FILE>", "cost model, JSON")
    .option("--calibrate <URL>", "measure the cost model on this target: some seconds, on a schema of its own")
    .option("--calibrate-binlog", "with the target's binlog: exact where it has one, but what is changed stays in it")
    .option("--save-costs <FILE>", "write the cost model to this file")
    .option("--costs-shown", "print the cost model and end")
    .option("--cores <NUMBER>", "cores that engine and target share")
    .option("--slower <FACTOR>", "as if the machine computed so many times as slowly (0.5: twice as fast)")
    .option("--without-table <TABLE>", "as if schema.table were not changed; may be repeated", collect, [])
    .option("--with-key <KEY>", "as if a table had this unique key, schema.table(col,…); may be repeated", collect, [])
    .option("--split-transactions <ROWS>", "as if transactions of more rows were several")
    .option("--schema <FILE>", "names and keys of tables: the output of mysqldump --no-data, or of SHOW CREATE TABLE")
    .option("--from <BOUND>", "begin with the first transaction at or behind this time, GTID or position")
    .option("--to <BOUND>", "end before this time or position, or with this GTID")
    .option("--json", "print the report as JSON")
    .option("--html <FILE>", "write the report as one page with charts, too")
    .helpOption("-h, --help", "print help")
    .addHelpText("after", HELP)
    .action(run);
}

async function run(paths: string[], flags: SimulateFlags): Promise<void> {
  const screen = new Screen(process.stdout, process.stderr);
  const inputs = paths.length === 0 ? [] : await findInputs(paths);
  const read = [...paths, ...inputs.map(({ path }) => path), flags.schema];
  checkOutputFile("--save-costs", flags.saveCosts, read);
  checkOutputFile("--html", flags.html, [...read, flags.costs]);
  await noteMixed(inputs, screen);
  const costs = await costsOf(flags, screen);
  if (flags.saveCosts !== undefined) writeOutputFile("--save-costs", flags.saveCosts, `${toJson(costs)}\n`);
  if (flags.costsShown) return screen.print(toJson(costs));
  if (paths.length === 0) {
    if (flags.saveCosts !== undefined) return;
    throw new ReplicationError("CONFIG", "simulate needs a file", { hint: "abreast simulate --help" });
  }
  const named = new NamedTables();
  for (const table of Object.keys(costs.tables)) named.add(table, `--costs ${flags.costs}`);
  let missing: Bound | undefined;
  const report = await simulateFiles(inputs, flags, costs, named, (bound) => (missing = bound));
  if (missing !== undefined) screen.note(`note: ${describeBound(missing)} is not in these files`);
  if (flags.html !== undefined) {
    const { simulatePage } = await import("../../simulate/html.ts");
    writeOutputFile("--html", flags.html, simulatePage(report));
  }
  for (const note of named.notes()) screen.note(note);
  screen.print(flags.json ? toJson(report) : renderSimulate(report, screen.width));
  if (flags.html !== undefined) screen.note(`the page is in ${flags.html}`);
  if (report.faults.length > 0 || missing !== undefined) process.exitCode = 1;
}

async function simulateFiles(
  inputs: readonly BinlogInput[],
  flags: SimulateFlags,
  costs: CostModel,
  named: NamedTables,
  onMissing: (bound: Bound) => void,
): Promise<SimulateReport> {
  const { withoutTable, withKey } = flags;
  for (const table of withoutTable) {
    checkTable("--without-table", table);
    named.add(table, `--without-table ${table}`);
  }
  const withKeys = withKey.map(parseWithKey);
  for (const [index, { table }] of withKeys.entries()) named.add(table, `--with-key ${withKey[index]}`);
  const range = rangeOf(flags);
  const schema = flags.schema === undefined ? undefined : await readSchema(flags.schema);
  const log = new LogTransactions({
    schema,
    withKeys,
    withoutTables: withoutTable,
  });
  const fromLog = new FromLog(withoutTable);
  const splitRowsMax = numberIn("--split-transactions", flags.splitTransactions, 1, ROWS_MAX);
  const threads = new CellThreads({ onCell: () => onBytes(0) });
  const simulation = new LogSimulation({
    grid: gridOf(flags),
    costs: withSchema(costs, schema),
    splitRowsMax,
    feedOf: (cells, costs) => threads.begin(cells, costs),
  });
  const faults: SimulateReport["faults"][number][] = [];
  const isPlain = inputs.every(({ plainPath }) => plainPath !== undefined);
  const onBytes = progressLine(
    inputs.map(({ bytes }) => (isPlain ? bytes : undefined)),
    (bytes, total, elapsedMs) =>
      renderSimulateLine({ bytes, total, transactions: simulation.transactions, elapsedMs }, simulation.cells),
  );
  // While other threads are waited for.
  const stillThere = setInterval(() => onBytes(0), PROGRESS_MS);
  const transactions = transactionsOf(inputs, {
    ...(range === undefined ? {} : { range }),
    onFault: (fault) => faults.push(fault),
    onMissing,
    onBytes,
  });
  try {
    for await (const transaction of transactions) {
      named.meet(transaction);
      try {
        simulation.push(fromLog.of(transaction, log.of(transaction)), transaction.format);
      } catch (error) {
        // Its rows cannot be read: it is left out.
        if (!(error instanceof ReplicationError) || error.code === "CONFIG") throw error;
        const { file, position } = transaction.start;
        faults.push({ file, offset: position, reason: error.message });
      }
      if (!threads.hasRoom) await threads.room();
    }
    simulation.flush();
    await threads.finish();
  } finally {
    clearInterval(stillThere);
    await threads.close();
  }
  clearProgressLine();
  return simulation.report({
    files: inputs.map(({ name }) => name),
    whatIf: [
      ...withoutTable.map((table) => `${table} is not changed`),
      ...withKey.map((key) => `there is a unique key ${key}`),
    ],
    faults,
  });
}

async function costsOf(flags: SimulateFlags, screen: Screen): Promise<CostModel> {
  const cores = numberIn("--cores", flags.cores, 0.1, CORES_MAX);
  const slower = numberIn("--slower", flags.slower, 1 / SLOWER_MAX, SLOWER_MAX);
  let costs: CostModel;
  if (flags.calibrate === undefined) costs = readCosts(flags.costs);
  else if (flags.costs !== undefined) {
    throw new ReplicationError("CONFIG", "--costs and --calibrate exclude each other", { hint: "leave one out" });
  } else {
    costs = await calibrated(flags.calibrate, { cores, binlog: flags.calibrateBinlog === true, screen });
  }
  return {
    ...costs,
    ...(cores === undefined ? {} : { cores }),
    ...(slower === undefined ? {} : { cpuFactor: costs.cpuFactor * slower }),
  };
}

async function calibrated(
  url: string,
  { cores, binlog, screen }: { cores: number | undefined; binlog: boolean; screen: Screen },
): Promise<CostModel> {
  const target = parseServerUrl(url, "--calibrate");
  const { calibrate, STILL_THERE } = await import("../../calibrate/calibrate.ts");
  const stop = new AbortController();
  const forgetSignals = onStopSignals(
    () => stop.abort(new ReplicationError("STOPPED", "the calibration was ended before it had measured all")),
    () => screen.note(STILL_THERE),
    EXIT_AT_ONCE,
  );
  const warn = (message: string): void => screen.note(message);
  try {
    return await calibrate({
      target,
      cores,
      binlog,
      signal: stop.signal,
      log: { info: () => {}, warn },
      onProgress: screen.note,
    });
  } finally {
    forgetSignals();
  }
}

/** What is not known is null; more digits than are of use are not printed. */
const toJson = (value: unknown): string =>
  JSON.stringify(
    value,
    (_, part: unknown) =>
      part === undefined
        ? null
        : typeof part === "number" && !Number.isInteger(part)
          ? Number(part.toPrecision(6))
          : part,
    2,
  );
