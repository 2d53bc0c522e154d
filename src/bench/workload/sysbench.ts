import { type ChildProcessByStdio, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { ReplicationError } from "../../base/error.ts";
import { describeAddress, type ServerAddress } from "../../base/server-url.ts";
import type { DistributionName } from "./distribution.ts";
import type { ReportedInterval } from "./load-report.ts";
import type { LoadSummary } from "./load-statistics.ts";
import { parseInterval, parseSummary } from "./sysbench-output.ts";

export interface SysbenchOptions {
  address: ServerAddress;
  schema: string;
  /** `oltp_write_only`, … */
  workload: string;
  tables: number;
  tableSize: number;
  distribution: DistributionName;
  threads: number;
  seed: number;
  transactions?: number;
  seconds?: number;
  ratePerSecond?: number;
  intervalSeconds?: number;
  onInterval?: (interval: ReportedInterval) => void;
  /** Ends sysbench at once. */
  signal?: AbortSignal;
}

export interface SysbenchResult {
  /** `sysbench 1.0.20` */
  version: string;
  summary: LoadSummary;
}

/** sysbench reads the password from a file, for the command line can be read by everybody; its file cannot hold every password (tried with 1.0.20). */
const PASSWORD = /^(?!["'#])[^\s,]*(?<!["'])$/;

/** The command line of sysbench 1.0 for a load: also what docs/benchmarks.md compares with. */
export function sysbenchArguments(
  options: SysbenchOptions,
  step: "prepare" | "run" | "cleanup",
  configFile: string,
): string[] {
  const { address } = options;
  return [
    options.workload,
    `--config-file=${configFile}`,
    "--db-driver=mysql",
    `--mysql-host=${address.host}`,
    `--mysql-port=${address.port}`,
    `--mysql-user=${address.user}`,
    `--mysql-db=${options.schema}`,
    `--tables=${options.tables}`,
    `--table-size=${options.tableSize}`,
    `--threads=${options.threads}`,
    `--rand-type=${options.distribution}`,
    `--rand-seed=${options.seed}`,
    `--events=${options.transactions ?? 0}`,
    `--time=${options.seconds ?? 0}`,
    `--rate=${options.ratePerSecond ?? 0}`,
    `--report-interval=${options.intervalSeconds ?? 0}`,
    step,
  ];
}

/** Runs the installed sysbench. Errors as `runSysbench`. */
export async function sysbenchStep(options: SysbenchOptions, step: "prepare" | "cleanup"): Promise<void> {
  await sysbench(options, step, () => {});
}

/**
 * Runs the installed sysbench and reads what it prints.
 * @throws ReplicationError CONFIG when it is not installed or cannot reach such a server; APPLY when it fails, with its own words; STOPPED
 */
export async function runSysbench(options: SysbenchOptions): Promise<SysbenchResult> {
  const output = await sysbench(options, "run", (line) => {
    const interval = parseInterval(line);
    if (interval !== undefined) options.onInterval?.(interval);
  });
  return { version: /^sysbench [\d.]+/m.exec(output)?.[0] ?? "sysbench", summary: parseSummary(output) };
}

async function sysbench(
  options: SysbenchOptions,
  step: "prepare" | "run" | "cleanup",
  onLine: (line: string) => void,
): Promise<string> {
  const { address, signal } = options;
  refuse(address);
  const folder = await mkdtemp(path.join(tmpdir(), "abreast-sysbench-"));
  try {
    const configFile = path.join(folder, "password.cnf");
    await writeFile(configFile, `mysql-password=${address.password}\n`, { mode: 0o600 });
    const child = spawn("sysbench", sysbenchArguments(options, step, configFile), {
      stdio: ["ignore", "pipe", "pipe"],
    });
    return await outputOf(child, address, onLine, signal);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function outputOf(
  child: ChildProcessByStdio<null, Readable, Readable>,
  address: ServerAddress,
  onLine: (line: string) => void,
  signal: AbortSignal | undefined,
): Promise<string> {
  const kill = (): void => void child.kill();
  signal?.addEventListener("abort", kill);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => reject(error.code === "ENOENT" ? notInstalled() : error));
    child.once("close", resolve);
  });
  const output: string[] = [];
  const faults: string[] = [];
  const listen = (line: string): void => {
    output.push(line);
    if (line.startsWith("FATAL")) faults.push(line.replace(/^FATAL: /, ""));
    onLine(line);
  };
  createInterface({ input: child.stdout }).on("line", listen);
  createInterface({ input: child.stderr }).on("line", listen);
  try {
    const exitCode = await ended;
    if (signal?.aborted === true) throw new ReplicationError("STOPPED", "sysbench was stopped");
    if (exitCode === 0) return output.join("\n");
    const words = faults.find((fault) => /error/i.test(fault)) ?? faults[0] ?? output.at(-1) ?? "";
    throw new ReplicationError("APPLY", `sysbench ended with exit code ${exitCode}: ${words}`, {
      where: { server: describeAddress(address) },
    });
  } finally {
    signal?.removeEventListener("abort", kill);
  }
}

function refuse({ tls, password }: ServerAddress): void {
  if (tls !== "off") {
    throw new ReplicationError("CONFIG", "sysbench 1.0 encrypts only with certificate files in its current folder", {
      hint: "use tls=off, or --driver abreast",
    });
  }
  if (!PASSWORD.test(password)) {
    throw new ReplicationError("CONFIG", "this password cannot be given to sysbench", {
      hint: "use a user whose password has no space or comma and does not begin with # or a quote, or --driver abreast",
    });
  }
}

function notInstalled(): ReplicationError {
  return new ReplicationError("CONFIG", "sysbench is not installed", {
    hint: "apt install sysbench, or use --driver abreast",
  });
}
