import { Command } from "commander";
import { systemClock } from "../../base/clock.ts";
import { ReplicationError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { describeAddress } from "../../base/server-url.ts";
import { checkCombination } from "../../engine/engine.ts";
import type { EngineOptions } from "../../engine/options.ts";
import { ControlServer } from "../../http/control-server.ts";
import { createLog } from "../../observe/log.ts";
import { channelFolder, readConfig, serverAddress, type Config } from "../config.ts";
import { addFlags } from "../flags.ts";
import { forgetLastStatus, keepLastStatus } from "../last-status.ts";
import { OPTIONS, type OptionName, type Options } from "../options.ts";
import { Preparations } from "../preparations.ts";
import { renderSummary } from "../render/summary.ts";
import { Replication } from "../replication.ts";
import { Screen } from "../screen.ts";
import { folderServerId } from "../server-id.ts";
import { StatusReporter, type ReportMode } from "../status-reporter.ts";
import { onStopSignals } from "../stop-signals.ts";

const REPLICATE_OPTIONS: readonly OptionName[] = [...OPTIONS.keys()];
const EXIT_AT_ONCE = 3;

const HELP = `
Passwords: in a URL, or in ABREAST_SOURCE_PASSWORD and ABREAST_TARGET_PASSWORD, or in the files that --source-password-file and
--target-password-file name. Every option can also be a line of abreast.yaml or an ABREAST_* variable: docs/options.md.

Ctrl-C ends cleanly: transactions at work are finished or rolled back, and the next start goes on from there. A second Ctrl-C ends at once,
which loses nothing either: it only takes longer to start again.

Exit codes: 0 stopped on request or --until reached; 1 unsafe (the preflight says why); 2 configuration; 3 failed, or ended at once.

Examples:
  abreast replicate --source mysql://repl@db1 --target mysql://abreast@db2 --init
  abreast replicate --source mysql://repl@db1 --target mysql://abreast@db2 --start-from now
  abreast replicate --config east.yaml`;

/** `replicate`: the main job. */
export function replicateCommand(): Command {
  return addFlags(new Command("replicate").description("make a target follow a source"), REPLICATE_OPTIONS)
    .addHelpText("after", HELP)
    .action(async (flags: object) => {
      const config = readConfig(REPLICATE_OPTIONS, {
        flags: { ...flags },
        environment: process.env,
        folder: process.cwd(),
      });
      await replicate(config);
    });
}

async function replicate(config: Config<OptionName>): Promise<void> {
  const { values } = config;
  process.title = `abreast replicate ${values.channel}`;
  // The relay log holds all rows, and from MariaDB the passwords of account statements.
  process.umask(0o077);
  const screen = new Screen(process.stdout, process.stderr);
  const log = createLog({ format: values.logFormat, clock: systemClock, write: screen.note });
  const options = engineOptions(config, log);
  checkCombination(options);

  const preparations = new Preparations(options, { init: initMode(config), skipPreflight: values.skipPreflight });
  const replication = new Replication(options, preparations.list);
  const control = await ControlServer.start(options.folder, replication);
  forgetLastStatus(options.folder);
  log.info(startText(options));
  const reporter = new StatusReporter(
    () => replication.status(),
    (width) => preparations.activity(width),
    screen,
    reportMode(values.json, screen),
  );
  const forgetSignals = onStopSignals(
    (signal) => {
      log.info(`${signal}: ending cleanly; once more ends at once`);
      replication.stop().catch(() => {});
    },
    () => screen.live(""),
    EXIT_AT_ONCE,
  );
  try {
    await replication.run();
  } finally {
    reporter.end();
    if (!values.json && replication.hasEngine) screen.print(renderSummary(replication.status(), reporter.lag));
    keepLastStatus(options.folder, replication.status(), log);
    await control.close();
    forgetSignals();
  }
}

function startText({ source, target, channel, folder }: EngineOptions): string {
  return `replicating ${describeAddress(source)} to ${describeAddress(target)}, channel ${channel}, folder ${folder}`;
}

/** Starting over drops what was copied: once, by a flag. In a file or the environment it would do so at every start. */
function initMode(config: Config<OptionName>): Options["init"] {
  const { init } = config.values;
  const origin = config.origin("init");
  if (init !== "restart" || origin.startsWith("--")) return init;
  throw new ReplicationError("CONFIG", `${origin} is restart, which would drop and copy everything at every start`, {
    hint: "write init: true there, and give --init=restart once",
  });
}

function reportMode(json: boolean, screen: Screen): ReportMode {
  if (json) return "json";
  return screen.isTerminal ? "live" : "lines";
}

function engineOptions(config: Config<OptionName>, log: Log): EngineOptions {
  const { values } = config;
  const folder = channelFolder(config);
  return {
    source: serverAddress(config, "source"),
    target: serverAddress(config, "target"),
    channel: values.channel,
    folder,
    startFrom: values.startFrom,
    serverId: values.serverId ?? folderServerId(folder),
    workers: values.workers,
    policy: values.policy,
    dependency: values.dependency,
    writesetHistory: values.writesetHistory,
    writesetHash: values.writesetHash,
    commitOrder: values.commitOrder,
    gtid: values.gtid,
    semiSync: values.semiSync,
    packTransactionsMax: values.packTransactions,
    packBytesMax: values.packBytes,
    packRowsMax: values.packRows,
    packMsMax: values.packTime,
    transactionBytesInMemoryMax: values.transactionMemory,
    relayFileBytesMax: values.relayFileSize,
    relayTotalBytesMax: values.relayTotalSize,
    transactionRetries: values.transactionRetries,
    onConflict: values.onConflict,
    skip: values.skip ?? [],
    heartbeatMs: values.heartbeat,
    until: values.until,
    log,
  };
}
