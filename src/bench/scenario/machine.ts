import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { cpus, release, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { VERSION } from "../../version.ts";
import { median, round } from "../units.ts";

/** What results depend on besides what was asked for. */
export interface Environment {
  abreast: string;
  /** Of the checkout that Abreast runs from, with `+` when files differ from it; null when it is none. */
  commit: string | null;
  node: string;
  cpu: string;
  cores: number;
  memoryBytes: number;
  kernel: string;
}

export function environmentNow(): Environment {
  const all = cpus();
  return {
    abreast: VERSION,
    commit: commitOf(fileURLToPath(new URL("../../..", import.meta.url))),
    node: process.version,
    cpu: all[0]?.model.trim() ?? "unknown",
    cores: all.length,
    memoryBytes: totalmem(),
    kernel: release(),
  };
}

/** Only of Abreast's own checkout: an installed package may lie in somebody else's. */
function commitOf(folder: string): string | null {
  const git = (...args: string[]): string =>
    execFileSync("git", args, { cwd: folder, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
  try {
    if (git("rev-parse", "--show-prefix") !== "") return null;
    return `${git("rev-parse", "--short=12", "HEAD")}${git("status", "--porcelain", "--untracked-files=no", "src") === "" ? "" : "+"}`;
  } catch {
    return null;
  }
}

const LOOK_MS = 500;

/** Looks at the whole machine's processors twice a second (proc(5), the first line of stat). */
export class MachineWatch {
  readonly #shares: number[] = [];
  readonly #timer: NodeJS.Timeout;
  #before = readTimes();

  constructor() {
    this.#timer = setInterval(() => this.#look(), LOOK_MS);
  }

  /** @returns the median of what was seen */
  end(): number {
    clearInterval(this.#timer);
    if (this.#shares.length === 0) this.#look();
    return round(median(this.#shares), 2);
  }

  #look(): void {
    const now = readTimes();
    const total = now.total - this.#before.total;
    if (total > 0) this.#shares.push(1 - (now.idle - this.#before.idle) / total);
    this.#before = now;
  }
}

/** In clock ticks of all processors; time in which the disk was waited for is idle. */
function readTimes(): { idle: number; total: number } {
  const [line = ""] = readFileSync("/proc/stat", "latin1").split("\n", 1);
  // user, nice, system, idle, iowait, irq, softirq, steal; guests are in user and nice already.
  const fields = line.trim().split(/\s+/).slice(1, 9).map(Number);
  return { idle: (fields[3] ?? 0) + (fields[4] ?? 0), total: fields.reduce((sum, field) => sum + field, 0) };
}
