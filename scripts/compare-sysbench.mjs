// Are our workloads sysbench's? On one server, `bench load` and the installed sysbench 1.0 run the same workload in turn; the binlog of each run is read by `inspect`.
//   node scripts/compare-sysbench.mjs [--server mysql-9.7] [--workload oltp_write_only] [--threads 16] [--time 15] [--rounds 2] [--tables 8] [--table-size 10000] [-- options of mysqld]
// A table on standard output, progress on standard error. Exit code 0: as many transactions per second within 15 %, and the same events and rows in each transaction; 1: not.
import { execFile } from "node:child_process";
import path from "node:path";
import { parseArgs, promisify } from "node:util";
import { prepare, root, say } from "./prepare.mjs";

const DIFFERENCE_MAX = 0.15;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

const { values: options, positionals: serverOptions } = parseArgs({
  options: {
    server: { type: "string", default: "mysql-9.7" },
    workload: { type: "string", default: "oltp_write_only" },
    threads: { type: "string", default: "16" },
    time: { type: "string", default: "15" },
    rounds: { type: "string", default: "2" },
    tables: { type: "string", default: "8" },
    "table-size": { type: "string", default: "10000" },
  },
  allowPositionals: true,
});

await prepare();
const { Session } = await import("../dist/wire/session.js");
const { parseServerUrl } = await import("../dist/base/server-url.js");

const name = `compare-sysbench-${process.pid}`;
const server = await json("sandbox", "up", options.server, "--name", name, "--json", "--", ...serverOptions);
let isAlike = false;
try {
  isAlike = report(await compare());
} finally {
  await abreast("sandbox", "down", name);
}
process.exit(isAlike ? 0 : 1);

async function compare() {
  await load("sysbench", "prepare");
  const runs = [];
  // Both begin once: whoever is second finds a server that has more in its caches, and more to clean up.
  for (let round = 0; round < Number(options.rounds); round++) {
    const inTurn = round % 2 === 0 ? ["sysbench", "abreast"] : ["abreast", "sysbench"];
    for (const driver of inTurn) runs.push(await run(driver));
  }
  return runs;
}

async function run(driver) {
  await newBinlog();
  say(`${driver}: ${options.workload}, ${options.threads} threads, ${options.time} s`);
  const { summary } = await load(driver, "run");
  const file = await newBinlog();
  const log = await json("inspect", "--json", path.join(server.dataFolder, file));
  const perTransaction = (count) => Number((count / log.transactions).toFixed(3));
  const seconds = summary.elapsedMs / 1000;
  return {
    driver,
    transactionsPerSecond: summary.transactions / seconds,
    latencyMs95: summary.latencyMs.percentile95,
    counted: [summary.reads, summary.writes, summary.others].map((count) =>
      Number((count / summary.transactions).toFixed(3)),
    ),
    logged: log.transactions - summary.transactions,
    events: Object.fromEntries(
      log.eventsByType
        .filter(
          ({ type }) =>
            !["Format_desc", "Previous_gtids", "Rotate", "Stop", "Gtid_list", "Binlog_checkpoint"].includes(type),
        )
        .map(({ type, events }) => [type, perTransaction(events)]),
    ),
    rows: [log.rows.inserted, log.rows.updated, log.rows.deleted].map(perTransaction),
    bytes: Math.round(log.bytes / log.transactions),
  };
}

/** Prints the runs. @returns whether they are alike */
function report(runs) {
  for (const each of runs) {
    console.log(
      `${each.driver.padEnd(9)} ${each.transactionsPerSecond.toFixed(1).padStart(8)} transactions/s, 95 % below ${each.latencyMs95.toFixed(2)} ms; ` +
        `statements r/w/o ${each.counted.join("/")}; ${each.logged} more transactions in the binlog than counted`,
    );
    console.log(`          events ${composition(each.events)}; rows i/u/d ${each.rows.join("/")}; ${each.bytes} bytes`);
  }
  const ratio = median(runs, "abreast") / median(runs, "sysbench");
  const [first] = runs;
  const isSame = runs.every(
    (each) =>
      composition(each.events) === composition(first.events) &&
      String([each.rows, each.counted]) === String([first.rows, first.counted]),
  );
  console.log(`transactions/s, abreast to sysbench, of the medians: ${ratio.toFixed(3)}`);
  console.log(`each transaction: ${isSame ? "the same" : "not the same"} statements, events and rows`);
  return isSame && Math.abs(ratio - 1) <= DIFFERENCE_MAX;
}

function composition(events) {
  return Object.entries(events)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([type, count]) => `${type} ${count}`)
    .join(", ");
}

function median(runs, driver) {
  const sorted = runs
    .filter((each) => each.driver === driver)
    .map((each) => each.transactionsPerSecond)
    .sort((a, b) => a - b);
  return (sorted[Math.floor((sorted.length - 1) / 2)] + sorted[Math.ceil((sorted.length - 1) / 2)]) / 2;
}

/** @returns the name of the binlog file that was written until now */
async function newBinlog() {
  const session = await Session.connect(parseServerUrl(server.url, "the server"));
  try {
    const files = await session.query("SHOW BINARY LOGS");
    await session.execute("FLUSH BINARY LOGS");
    return files.at(-1).Log_name;
  } finally {
    await session.close();
  }
}

async function load(driver, step) {
  const flags = ["threads", "tables", "table-size", "workload"].flatMap((flag) => [`--${flag}`, options[flag]]);
  const command = ["bench", "load", "--server", server.url, "--driver", driver, ...flags];
  if (step !== "run") return abreast(...command, step);
  return json(...command, "--time", options.time, "--report-interval", "0", "--json", step);
}

async function abreast(...args) {
  const { stdout } = await promisify(execFile)(process.execPath, [path.join(root, "bin/abreast.mjs"), ...args], {
    maxBuffer: OUTPUT_BYTES_MAX,
  });
  return stdout;
}

async function json(...args) {
  return JSON.parse(await abreast(...args));
}
