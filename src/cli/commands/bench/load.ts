import { Argument, Command, InvalidArgumentError, Option } from "commander";
import { systemClock } from "../../../base/clock.ts";
import { ReplicationError } from "../../../base/error.ts";
import { parseServerUrl, type ServerAddress } from "../../../base/server-url.ts";
import { cleanUpData, prepareData } from "../../../bench/workload/data.ts";
import { DISTRIBUTIONS } from "../../../bench/workload/distribution.ts";
import {
  formatInterval,
  formatSummary,
  type LoadReport,
  type ReportedInterval,
  roundedInterval,
  roundedSummary,
} from "../../../bench/workload/load-report.ts";
import {
  schemaNames,
  WORKLOAD_DEFAULTS,
  WORKLOAD_NAMES,
  type WorkloadKind,
  type WorkloadName,
  type WorkloadOptions,
  WORKLOADS,
} from "../../../bench/workload/registry.ts";
import { runSysbench, type SysbenchOptions, sysbenchStep } from "../../../bench/workload/sysbench.ts";
import { startThreadedLoad } from "../../../bench/workload/threaded-load.ts";
import { VERSION } from "../../../version.ts";
import { Session } from "../../../wire/session.ts";
import { Screen } from "../../screen.ts";
import { onStopSignals } from "../../stop-signals.ts";
import { positive, positiveDecimal, tellProgress } from "./values.ts";

type Step = "prepare" | "run" | "cleanup";

interface LoadFlags extends Partial<WorkloadOptions> {
  server: string;
  workload: WorkloadName;
  driver: "abreast" | "sysbench";
  threads?: number;
  schemas: number;
  time?: number;
  events: number;
  rate?: number;
  statements: "together" | "one-by-one";
  reconnect?: true;
  clientThreads?: number;
  seed?: number;
  reportInterval: number;
  json?: true;
}

const SECONDS_DEFAULT = 10;
const EXIT_INTERRUPTED = 130;

const HELP = `
Workloads:
${WORKLOAD_NAMES.map((name) => `  ${name.padEnd(36)}${WORKLOADS[name].description}`).join("\n")}

Intervals and summary look like sysbench's. The password of the server's user can be in ABREAST_SERVER_PASSWORD. Ctrl-C ends a run with its summary.

Exit codes: 0 done; 2 usage or configuration; 3 a statement or the connection failed.

Examples:
  abreast bench load --server mysql://root@db1 --workload oltp_write_only --tables 8 prepare
  abreast bench load --server mysql://root@db1 --workload oltp_write_only --tables 8 --threads 16 --time 60 run
  abreast bench load --server mysql://root@db1 --workload oltp_read_write --schemas 10 --tables 10 --threads 64 --json run
  abreast bench load --server mysql://root@db1 --workload oltp_write_only --driver sysbench --threads 16 run`;

export function loadCommand(): Command {
  return new Command("load")
    .description("write to a server as sysbench does, or as batches, DDL and other troubles of replicas do")
    .addArgument(new Argument("<step>", "prepare: make the tables; run; cleanup: drop them").choices(STEPS))
    .requiredOption("--server <URL>", "mysql://user@host:port/")
    .addOption(
      new Option("--workload <NAME>", "what is written, see below").choices(WORKLOAD_NAMES).default("oltp_write_only"),
    )
    .addOption(
      new Option("--driver <NAME>", "who writes: Abreast, or the installed sysbench 1.0")
        .choices(["abreast", "sysbench"])
        .default("abreast"),
    )
    .option("--threads <NUMBER>", "sessions (default: 1, or what the workload has)", positive)
    .option("--schemas <NUMBER>", "sbtest, or of several sbtest1 …; each session works in one", positive, 1)
    .option("--time <SECONDS>", `0: no limit (default: ${SECONDS_DEFAULT}, or no limit with --events)`, count)
    .option("--events <NUMBER>", "transactions of all sessions together; 0: no limit", count, 0)
    .option("--rate <NUMBER>", "transactions per second (default: as many as the server can)", positiveDecimal)
    .addOption(
      new Option(
        "--statements <HOW>",
        "one-by-one: prepared, each waits for the one before; together: in one round trip",
      )
        .choices(["one-by-one", "together"])
        .default("one-by-one"),
    )
    .option("--reconnect", "connect again when the connection is lost, instead of ending")
    .option("--client-threads <NUMBER>", "spread the sessions over (default: one for 4 processors)", positive)
    .option("--seed <NUMBER>", "same seed, same rows and transactions (default: the time)", positive)
    .option("--report-interval <SECONDS>", "0: only the summary", count, 1)
    .option("--tables <NUMBER>", `tables in each schema (sysbench; default: ${WORKLOAD_DEFAULTS.tables})`, positive)
    .option("--table-size <NUMBER>", `rows in each (sysbench; default: ${WORKLOAD_DEFAULTS.tableSize})`, positive)
    .addOption(
      new Option("--distribution <NAME>", `which rows (sysbench; default: ${WORKLOAD_DEFAULTS.distribution})`).choices(
        Object.keys(DISTRIBUTIONS),
      ),
    )
    .option("--rows <NUMBER>", `(large-transaction, ddl; default: ${WORKLOAD_DEFAULTS.rows})`, positive)
    .option("--repeat <NUMBER>", `how often (large-transaction, ddl; default: ${WORKLOAD_DEFAULTS.repeat})`, positive)
    .option("--hot-rows <NUMBER>", `(hot-rows; default: ${WORKLOAD_DEFAULTS.hotRows})`, positive)
    .option("--batches <NUMBER>", "of all sessions together (batch-mix; default: no limit)", positive)
    .option("--batch-rows-min <NUMBER>", `(batch-mix; default: ${WORKLOAD_DEFAULTS.batchRowsMin})`, positive)
    .option("--batch-rows-max <NUMBER>", `(batch-mix; default: ${WORKLOAD_DEFAULTS.batchRowsMax})`, positive)
    .option("--json", "one JSON document on standard output")
    .addHelpText("after", HELP)
    .action((step: Step, flags: LoadFlags) =>
      flags.driver === "sysbench" ? sysbench(step, flags, settingsOf(flags)) : abreast(step, flags, settingsOf(flags)),
    );
}

const STEPS: Step[] = ["prepare", "run", "cleanup"];

async function abreast(step: Step, flags: LoadFlags, settings: Settings): Promise<void> {
  const { address, kind, options, threads, schemas, seed, limits } = settings;
  if (step === "prepare") {
    tellProgress(`making the tables of ${flags.workload} in ${schemas.join(", ")}`);
    return prepareData(address, schemas, kind.make(options), seed);
  }
  if (step === "cleanup") return cleanUpData(address, schemas, kind.tablesOf(options));
  const output = outputOf(flags);
  const load = startThreadedLoad({
    address,
    schema: schemas,
    workload: flags.workload,
    workloadOptions: options,
    seed,
    threads,
    statements: flags.statements,
    ...limits,
    ...(flags.clientThreads === undefined ? {} : { clientThreads: flags.clientThreads }),
    ...(flags.reconnect === undefined ? {} : { reconnect: true }),
    ...(flags.reportInterval === 0
      ? {}
      : { intervalMs: flags.reportInterval * 1000, onInterval: (each) => output.interval(roundedInterval(each)) }),
  });
  const forget = onStopSignals(
    () => load.stop(),
    () => {},
    EXIT_INTERRUPTED,
  );
  const summary = await load.done.finally(forget);
  output.report(await reportOf(flags, settings, `abreast ${VERSION}`, roundedSummary(summary), output.intervals));
}

async function sysbench(step: Step, flags: LoadFlags, settings: Settings): Promise<void> {
  const { address, kind, options, threads, schemas, seed, limits } = settings;
  const [schema = "", ...others] = schemas;
  if (!kind.isSysbench) wrong(`sysbench has no ${flags.workload}`, "leave --driver out");
  if (others.length > 0) wrong("sysbench writes to one schema only", "leave --schemas out, or --driver");
  if (flags.statements !== "one-by-one") wrong("sysbench sends its statements one by one", "leave --statements out");
  if (flags.clientThreads !== undefined)
    wrong("sysbench has as many threads as sessions", "leave --client-threads out");
  if (flags.reconnect === true) wrong("sysbench is not told to reconnect", "leave --reconnect out, or --driver");
  const output = outputOf(flags);
  const stopped = new AbortController();
  const { tables, tableSize, distribution } = options;
  const run: SysbenchOptions = {
    address,
    schema,
    workload: flags.workload,
    tables,
    tableSize,
    distribution,
    threads,
    seed,
    ...limits,
    intervalSeconds: flags.reportInterval,
    onInterval: (each) => output.interval(each),
    signal: stopped.signal,
  };
  const forget = onStopSignals(
    () => stopped.abort(),
    () => {},
    EXIT_INTERRUPTED,
  );
  try {
    if (step === "prepare") {
      await execute(address, `CREATE DATABASE IF NOT EXISTS \`${schema}\``);
      return await sysbenchStep(run, step);
    }
    if (step === "cleanup") return await sysbenchStep(run, step);
    const { version, summary } = await runSysbench(run);
    output.report(await reportOf(flags, settings, version, summary, output.intervals));
  } finally {
    forget();
  }
}

interface Settings {
  address: ServerAddress;
  kind: WorkloadKind;
  options: WorkloadOptions;
  threads: number;
  schemas: string[];
  seed: number;
  limits: { transactions?: number; seconds?: number; ratePerSecond?: number };
}

/** @throws ReplicationError CONFIG when the workload does not heed an option that was given */
function settingsOf(flags: LoadFlags): Settings {
  const kind: WorkloadKind = WORKLOADS[flags.workload];
  const options = { ...WORKLOAD_DEFAULTS };
  for (const name of Object.keys(WORKLOAD_DEFAULTS) as (keyof WorkloadOptions)[]) {
    if (flags[name] === undefined) continue;
    if (!kind.options.includes(name)) {
      const heeded = kind.options.map(flagOf).join(", ");
      wrong(`${flags.workload} has no use for ${flagOf(name)}`, heeded === "" ? "leave it out" : `it takes ${heeded}`);
    }
    Object.assign(options, { [name]: flags[name] });
  }
  if (kind.threads !== undefined && flags.threads !== undefined && flags.threads !== kind.threads) {
    wrong(`${flags.workload} has ${kind.threads} threads`, "leave --threads out");
  }
  return {
    address: addressOf(flags),
    kind,
    options: { ...options, batchRowsMax: Math.max(options.batchRowsMin, options.batchRowsMax) },
    threads: kind.threads ?? flags.threads ?? 1,
    schemas: schemaNames(flags.schemas),
    // Twice the same seed would set columns to what they hold already, which is no change and is not logged.
    seed: flags.seed ?? Math.floor(systemClock.nowMs() / 1000),
    limits: limitsOf(flags),
  };
}

const flagOf = (name: string): string => `--${name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;

function limitsOf({ time, events, rate }: LoadFlags): Settings["limits"] {
  const seconds = time ?? (events === 0 ? SECONDS_DEFAULT : 0);
  return {
    ...(events === 0 ? {} : { transactions: events }),
    ...(seconds === 0 ? {} : { seconds }),
    ...(rate === undefined ? {} : { ratePerSecond: rate }),
  };
}

function addressOf(flags: LoadFlags): ServerAddress {
  const address = parseServerUrl(flags.server, "--server");
  return address.password === "" ? { ...address, password: process.env["ABREAST_SERVER_PASSWORD"] ?? "" } : address;
}

/** Intervals go out as they come: beside the document when there is one. */
function outputOf({ json }: LoadFlags) {
  const screen = new Screen(process.stdout, process.stderr);
  const intervals: ReportedInterval[] = [];
  return {
    intervals,
    interval(interval: ReportedInterval): void {
      intervals.push(interval);
      if (json === true) screen.note(formatInterval(interval));
      else screen.print(formatInterval(interval));
    },
    report(report: LoadReport): void {
      screen.print(json === true ? JSON.stringify(report, undefined, 2) : formatSummary(report.summary));
    },
  };
}

async function reportOf(
  flags: LoadFlags,
  { address, kind, options, threads, schemas, seed, limits }: Settings,
  driver: string,
  summary: LoadReport["summary"],
  intervals: readonly ReportedInterval[],
): Promise<LoadReport> {
  return {
    driver,
    serverVersion: await execute(address, "SELECT VERSION()"),
    workload: flags.workload,
    options: Object.fromEntries(
      kind.options.flatMap((name) => (options[name] === Infinity ? [] : [[name, options[name]]])),
    ),
    schemas,
    threads,
    seed,
    statements: flags.statements,
    transactions: limits.transactions ?? null,
    seconds: limits.seconds ?? null,
    ratePerSecond: limits.ratePerSecond ?? null,
    intervals,
    summary,
  };
}

/** @returns the first value of the answer */
async function execute(address: ServerAddress, sql: string): Promise<string> {
  const session = await Session.connect(address);
  try {
    return (await session.queryValue(sql)) ?? "";
  } finally {
    await session.close();
  }
}

function count(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError("Give a whole number, or 0 for none.");
  return Number(text);
}

function wrong(what: string, hint: string): never {
  throw new ReplicationError("CONFIG", what, { hint });
}
