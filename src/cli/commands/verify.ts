import { Command } from "commander";
import { ReplicationError } from "../../base/error.ts";
import { describeAddress, type ServerAddress } from "../../base/server-url.ts";
import type { EngineStatus } from "../../engine/status.ts";
import { ControlClient } from "../../http/client.ts";
import { EngineGate, type GateWait } from "../../http/engine-gate.ts";
import { verifyTables } from "../../verify/verify.ts";
import { channelFolder, readConfig, serverAddress } from "../config.ts";
import { addFlags } from "../flags.ts";
import { renderVerifyLine, renderVerifyReport, renderWait } from "../render/verify.ts";
import { Screen } from "../screen.ts";
import { onStopSignals } from "../stop-signals.ts";
import { duration, wholeNumber } from "../values.ts";

const OPTIONS = [
  "source",
  "sourcePassword",
  "sourcePasswordFile",
  "target",
  "targetPassword",
  "targetPasswordFile",
  "channel",
  "folder",
  "json",
] as const;

const HELP = `
The servers compute checksums of each table in chunks, in the order of its key; a chunk that differs is narrowed down to its rows.
Both sides are read in consistent snapshots. While an engine of this --channel or --folder replicates between the same two servers, it is
held for the moment that it takes to open both at one position: the comparison is exact under load. Without an engine the servers are
compared as they stand. On a MySQL source the global read lock is held for that same moment (RELOAD; see docs).

An engine that does not get to that position is waited for as long as --wait says. Ctrl-C ends the comparison and lets the engine go.

Exit codes: 0 identical; 1 different; 2 configuration; 3 the comparison could not be made.

Examples:
  abreast verify --source mysql://root@db1 --target mysql://root@db2
  abreast verify --schema shop --schema 'crm_*'
  abreast verify --table shop.orders --rows-shown 100
  abreast verify --json | jq '.tables[] | select(.identical | not)'`;

interface VerifyFlags {
  schema: string[];
  table: string[];
  chunkRows?: string;
  rowsShown?: string;
  sessions?: string;
  wait?: string;
  engine: boolean;
}

export function verifyCommand(): Command {
  return addFlags(new Command("verify").description("compare source and target table by table"), OPTIONS)
    .option("--schema <PATTERN>", "only schemas of this name, * and ? allowed; may be repeated", collect, [])
    .option("--table <PATTERN>", "only tables of this schema.name, * and ? allowed; may be repeated", collect, [])
    .option("--chunk-rows <NUMBER>", "rows of the first chunks; they grow towards a second each (default: 5000)")
    .option("--rows-shown <NUMBER>", "differing rows to name, per table (default: 20)")
    .option("--sessions <NUMBER>", "tables compared beside each other (default: 2)")
    .option("--wait <TIME>", "how long the engine may take to get to the source's position (default: 5m)")
    .option("--no-engine", "compare the servers as they stand, although an engine runs")
    .addHelpText("after", HELP)
    .action(verify);
}

async function verify(flags: VerifyFlags): Promise<void> {
  const config = readConfig(OPTIONS, { flags: { ...flags }, environment: process.env, folder: process.cwd() });
  const [source, target] = [serverAddress(config, "source"), serverAddress(config, "target")];
  const screen = new Screen(process.stdout, process.stderr);
  const waitMsMax = readWait(flags.wait);
  const stop = new AbortController();
  const forgetSignals = onStopSignals(
    () => stop.abort(),
    () => screen.live(""),
    EXIT_AT_ONCE,
  );
  const isLive = screen.isTerminal && !config.values.json;
  try {
    const client = new ControlClient(channelFolder(config), stop.signal);
    const isGated = flags.engine && (await canBeHeld(client, source, target, screen));
    const onWaiting = waitTeller(screen, isLive);
    const report = await verifyTables({
      source,
      target,
      schemas: flags.schema,
      tables: flags.table,
      ...numberFlag("--chunk-rows", "chunkRows", flags.chunkRows, 1_000_000),
      ...numberFlag("--rows-shown", "rowsShownMax", flags.rowsShown, 1_000_000),
      ...numberFlag("--sessions", "sessionsPerSide", flags.sessions, 64),
      gate: isGated ? new EngineGate(client, { waitMsMax, onWaiting, signal: stop.signal }) : undefined,
      signal: stop.signal,
      onProgress: (progress) => {
        if (isLive) screen.live(renderVerifyLine(progress, screen.width - 1));
      },
    });
    screen.live("");
    screen.print(config.values.json ? JSON.stringify(report, undefined, 2) : renderVerifyReport(report));
    if (!report.identical) process.exitCode = 1;
  } finally {
    screen.live("");
    forgetSignals();
  }
}

const EXIT_AT_ONCE = 3;
const WAIT_DEFAULT = "5m";
const WAIT_MS_MAX = 7 * 86_400_000;
/** Between two lines that stay. */
const WAIT_LINE_MS = 10_000;

function readWait(text = WAIT_DEFAULT): number {
  const result = duration(0, WAIT_MS_MAX).safeParse(text);
  if (result.success) return result.data;
  throw new ReplicationError("CONFIG", `--wait is ${JSON.stringify(text)}`, {
    hint: result.error.issues[0]?.message ?? `give a time like ${WAIT_DEFAULT}`,
  });
}

/** On a live terminal the line is redrawn, else a line is written now and then. */
function waitTeller(screen: Screen, isLive: boolean): (wait: GateWait) => void {
  let nextMs = 0;
  return (wait) => {
    if (isLive) return screen.live(renderWait(wait, screen.width - 1));
    // The second wait begins at 0 again.
    if (wait.waitedMs < nextMs - WAIT_LINE_MS) nextMs = 0;
    if (wait.waitedMs < nextMs) return;
    nextMs = wait.waitedMs + WAIT_LINE_MS;
    screen.note(renderWait(wait, Number.POSITIVE_INFINITY));
  };
}

/** Whether an engine answers there, replicates between these very servers and is not paused by somebody. */
async function canBeHeld(
  client: ControlClient,
  source: ServerAddress,
  target: ServerAddress,
  screen: Screen,
): Promise<boolean> {
  let status: EngineStatus;
  try {
    status = await client.status();
  } catch (error) {
    if (error instanceof ReplicationError && error.code === "NOT_RUNNING") return false;
    throw error;
  }
  if (placeOf(status.source.address) !== placeOf(describeAddress(source))) return false;
  if (placeOf(status.target.address) !== placeOf(describeAddress(target))) return false;
  if (status.state !== "running") {
    screen.note(`the engine is ${status.state}: the servers are compared as they stand`);
    return false;
  }
  return true;
}

/** `host:port` of `user@host:port`: a comparison may log in as another user. */
function placeOf(address: string): string {
  return address.slice(address.lastIndexOf("@") + 1);
}

function collect(value: string, values: string[]): string[] {
  return [...values, value];
}

function numberFlag<Name extends string>(
  flag: string,
  name: Name,
  text: string | undefined,
  max: number,
): Partial<Record<Name, number>> {
  if (text === undefined) return {};
  const result = wholeNumber(1, max).safeParse(text);
  if (result.success) return { [name]: result.data } as Record<Name, number>;
  throw new ReplicationError("CONFIG", `${flag} is ${JSON.stringify(text)}`, {
    hint: result.error.issues[0]?.message ?? `give a whole number from 1 to ${max}`,
  });
}
