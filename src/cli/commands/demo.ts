import { Command, InvalidArgumentError, Option } from "commander";
import { type DemoEngine, type DemoPlace, type DemoReport, type DemoView, runDemo } from "../../bench/demo/demo.ts";
import { exitOnSignals } from "../../bench/temporary-folder.ts";
import { Engine } from "../../engine/engine.ts";
import type { EngineStatus } from "../../engine/status.ts";
import { FLAVOUR_NAMES, type ServerFlavour } from "../../sandbox/flavours.ts";
import { verifyTables } from "../../verify/verify.ts";
import { localEngineSettings } from "../local-engine.ts";
import { renderLiveLine, renderPlainLine } from "../render/line.ts";
import { ratesBetween } from "../render/rates.ts";
import { formatCount, formatCounted, formatLag } from "../render/units.ts";
import { Screen } from "../screen.ts";

interface DemoFlags {
  server: ServerFlavour;
  seconds: number;
  rate: number;
  seed: number;
  json?: true;
}

/** Room for the pause and for what comes before and after it. */
const SECONDS_MIN = 10;

/** `demo`: shows on two local servers what Abreast does. */
export function demoCommand(): Command {
  return new Command("demo")
    .description("two local servers, a write load, replication, a live view, a comparison")
    .addOption(
      new Option("--server <flavour>", "both servers are this").choices(FLAVOUR_NAMES).default("mariadb-10.11"),
    )
    .option("--seconds <number>", "how long the load runs", (text) => wholeNumber(text, SECONDS_MIN), 35)
    .option("--rate <number>", "transactions per second", (text) => wholeNumber(text, 1), 500)
    .option("--seed <number>", "of the random numbers", (text) => wholeNumber(text, 0), 1)
    .option("--json", "one JSON document on standard output")
    .addHelpText("after", "\nExit code: 0 when source and target are identical at the end, 1 when not.")
    .action(async (flags: DemoFlags) => {
      exitOnSignals();
      const screen = new Screen(process.stdout, process.stderr);
      const view = makeView(screen, screen.isTerminal && flags.json !== true);
      const report = await runDemo({
        server: flags.server,
        seconds: flags.seconds,
        ratePerSecond: flags.rate,
        seed: flags.seed,
        startEngine: (place) => startEngine(place, view),
        compare: compareServers,
        view,
      });
      screen.print(flags.json === true ? JSON.stringify(report, undefined, 2) : formatReport(report));
      if (!report.identical) process.exitCode = 1;
    });
}

function startEngine(place: DemoPlace, view: DemoView): Promise<DemoEngine> {
  return Engine.start({
    ...localEngineSettings(),
    ...place,
    until: undefined,
    commitOrder: "preserve",
    gtid: "own",
    log: { info: () => {}, warn: (message) => view.tell(`engine: ${message}`) },
  });
}

async function compareServers({ source, target }: DemoPlace): Promise<string[]> {
  const { tables } = await verifyTables({ source, target });
  return tables
    .filter((table) => !table.identical)
    .map(({ schema, table, onlyOn, differences }) =>
      onlyOn === undefined
        ? `${schema}.${table} differs in ${differences.length} places`
        : `${schema}.${table} is on the ${onlyOn} only`,
    );
}

/** Where nobody looks at a terminal, a line of a file every so often says enough. */
const PLAIN_LINE_MS = 2000;
/** Rates are of the last second: those of two neighbouring samples would jump. */
const RATE_MS = 1000;

/** On a terminal one line that is written over and over, below the lines that stay; elsewhere plain lines. */
function makeView(screen: Screen, isLive: boolean): DemoView {
  const recent: EngineStatus[] = [];
  let saidMs = 0;
  return {
    tell: screen.note,
    show: (status) => {
      recent.push(status);
      while (status.atMs - (recent[0] ?? status).atMs > RATE_MS) recent.shift();
      const rates = ratesBetween(recent[0] ?? status, status);
      if (isLive) screen.live(renderLiveLine(status, rates, screen.width - 1));
      else if (status.atMs - saidMs >= PLAIN_LINE_MS) {
        screen.note(renderPlainLine(status, rates));
        saidMs = status.atMs;
      }
    },
    end: () => screen.live(""),
  };
}

function formatReport(report: DemoReport): string {
  const { applied, catchUp } = report;
  return [
    "",
    `${report.server} (${report.serverVersion}): ${formatCounted(report.transactions, "transaction")} at ${formatCount(report.ratePerSecond)} per second on the source`,
    `applied: ${formatCounted(applied.transactions, "transaction")}, ${formatCounted(applied.rows, "row")}, in ${formatCounted(applied.commits, "commit")}`,
    `lag while replicating: 95 % below ${formatLag(report.lagMsP95)}, at most ${formatLag(report.lagMsMax)}; behind the pause ${formatLag(report.pausedLagMsMax)}`,
    `caught up after the pause: ${formatCounted(catchUp.transactions, "transaction")} in ${catchUp.seconds.toFixed(1)} s ` +
      `(${formatCount(catchUp.transactions / catchUp.seconds)} per second)`,
    ...report.differences,
    report.identical ? "every table is identical" : "SOURCE AND TARGET DIFFER",
  ].join("\n");
}

function wholeNumber(text: string, min: number): number {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number < min) throw new InvalidArgumentError(`Give a whole number of at least ${min}.`);
  return number;
}
