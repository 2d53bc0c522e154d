import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { TemporaryFolder } from "../../src/bench/temporary-folder.ts";
import { createPrng, type Prng } from "../../src/base/prng.ts";
import { GAPS_FOUND } from "../../src/engine/start.ts";
import type { EngineStatus } from "../../src/engine/status.ts";
import { ControlClient } from "../../src/http/client.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { type SandboxServer, startServer } from "../../src/sandbox/start.ts";
import { Session } from "../../src/wire/session.ts";
import { CliProcess, type ProcessEnd } from "./engine-process.ts";
import { hasGaps } from "./gaps.ts";
import { killableSource } from "./killable-source.ts";
import { LOAD_SCHEMA, type NumberedLoad, prepareNumberedLoad, startNumberedLoad } from "./numbered-load.ts";
import { startProxy, type TcpProxy } from "./proxy.ts";
import { numbersInRelayLog } from "./relay-numbers.ts";

/**
 * What is hit: a process by `kill -9`, or the connections, cut in the middle of what they carry. `gaps`: the engine, at a moment when the target has transactions without all of
 * those before them; needs relaxed order.
 */
export type Victim = "engine" | "gaps" | "target" | "source" | "network";

export interface TortureOptions {
  flavour: ServerFlavour;
  /** One hit each, in this order. */
  victims: readonly Victim[];
  seed: number;
  /** The source waits for our acknowledgement; after each kill of it, what a client saw committed must be with us. */
  semiSync: boolean;
  /** Flags of `replicate` beside the torture's own: `--workers=16`, `--commit-order=relaxed`. */
  engineFlags?: readonly string[];
  onProgress: (text: string) => void;
}

export interface TortureReport {
  hits: number;
  seconds: number;
  /** Transactions whose COMMIT was answered, and how many changes of other kinds were among or beside them. */
  transactions: number;
  large: number;
  ddl: number;
  /** Transactions on the source at the end: the acknowledged ones, and those whose answer was lost. */
  applied: number;
  /** How many times an engine began on a target that had transactions without all of those before them. */
  startsWithGaps: number;
  /** Everything that is wrong; empty when nothing is. */
  faults: string[];
}

/** Replicates under a load, hits, and in the end counts. Servers and folders are gone afterwards. */
export async function torture(options: TortureOptions): Promise<TortureReport> {
  const startMs = performance.now();
  const folder = new TemporaryFolder("torture");
  const { flavour, onProgress } = options;
  const sourceSettings = await killableSource(options, folder.path);
  const source = await startServer({ flavour, serverId: 1, options: sourceSettings, onProgress });
  const target = await startServer({ flavour, serverId: 2, onProgress });
  const wires = [await Wire.between(source), await Wire.between(target)] as const;
  const stage = new Stage(options, folder.path, source, target, wires);
  try {
    return { ...(await stage.run()), seconds: (performance.now() - startMs) / 1000 };
  } finally {
    await stage.end();
    await Promise.all(wires.map((wire) => wire.stop()));
    await Promise.all([source.stop(), target.stop()]);
    folder.remove();
  }
}

const LOAD_THREADS = 6;
/** Long enough for a load that a machine of two cores can make, replicate and count beside everything else. */
const LOAD_PAUSE_MS_MAX = 25;
const CATCH_UP_MS_MAX = 120_000;

/** The engine's connections to one server. */
class Wire {
  readonly url: string;
  readonly #proxy: TcpProxy;
  readonly #cuts: number[];

  static async between(server: SandboxServer): Promise<Wire> {
    const cuts: number[] = [];
    const proxy = await startProxy(server.address, () => {
      const cutAfterBytes = cuts.shift();
      return cutAfterBytes === undefined ? {} : { cutAfterBytes };
    });
    return new Wire(server, proxy, cuts);
  }

  private constructor(server: SandboxServer, proxy: TcpProxy, cuts: number[]) {
    this.url = server.url.replace(/:\d+$/, `:${proxy.port}`);
    this.#proxy = proxy;
    this.#cuts = cuts;
  }

  /** Cuts what is open now, and each of the next connections once so many bytes came through it. */
  cut(afterBytes: readonly number[]): void {
    this.#cuts.splice(0, this.#cuts.length, ...afterBytes);
    this.#proxy.cut();
  }

  stop(): Promise<void> {
    return this.#proxy.stop();
  }
}

class Stage {
  readonly #options: TortureOptions;
  readonly #source: SandboxServer;
  readonly #target: SandboxServer;
  readonly #wires: readonly [source: Wire, target: Wire];
  readonly #relayFolder: string;
  readonly #prng: Prng;
  readonly #faults: string[] = [];
  #startsWithGaps = 0;
  #engine: CliProcess | undefined;
  #load: NumberedLoad | undefined;

  constructor(
    options: TortureOptions,
    folder: string,
    source: SandboxServer,
    target: SandboxServer,
    wires: readonly [Wire, Wire],
  ) {
    this.#options = options;
    this.#source = source;
    this.#target = target;
    this.#wires = wires;
    this.#relayFolder = path.join(folder, "engine");
    this.#prng = createPrng(options.seed);
  }

  async run(): Promise<Omit<TortureReport, "seconds">> {
    const { victims, seed, onProgress } = this.#options;
    // First the engine: a semi-synchronous source does not commit without it.
    this.#engine = this.#startEngine();
    await this.#engineRuns();
    await prepareNumberedLoad(this.#source.address);
    await this.#progressOnTarget(-1);
    const load = startNumberedLoad({
      address: this.#source.address,
      seed,
      threads: LOAD_THREADS,
      pauseMsMax: LOAD_PAUSE_MS_MAX,
    });
    this.#load = load;
    let hits = 0;
    for (const victim of victims) {
      await this.#waitForMoment();
      await this.#hit(victim, load);
      hits++;
      onProgress(`hit ${hits} of ${victims.length}: ${victim}; ${load.counts.transactions} transactions so far`);
      if (this.#faults.length > 0) break;
    }
    await sleep(1000);
    await load.stop();
    onProgress(`load ended: ${load.counts.transactions} transactions; catching up`);
    await this.#catchUp();
    // Of a target that never got there nothing more is to be said.
    const applied = this.#faults.length > 0 ? 0 : await this.#count(load);
    if (this.#faults.length === 0) await this.#compare();
    const { transactions, large, ddl } = load.counts;
    return { hits, transactions, large, ddl, applied, startsWithGaps: this.#startsWithGaps, faults: this.#faults };
  }

  async end(): Promise<void> {
    await this.#engine?.kill();
    await this.#load?.stop().catch(() => {});
  }

  #startEngine(more: readonly string[] = []): CliProcess {
    const [source, target] = this.#wires;
    return new CliProcess([
      "replicate",
      `--source=${source.url}`,
      `--target=${target.url}`,
      `--folder=${this.#relayFolder}`,
      // The source is still empty when the first engine starts.
      "--start-from=now",
      "--server-id=3",
      // Small files, so that some are removed and some kills fall on a change of file.
      "--relay-file-size=2M",
      // A commit whose acknowledgement was owed when we were killed waits for a heartbeat.
      "--heartbeat=500ms",
      "--skip-preflight",
      "--json",
      ...(this.#options.semiSync ? ["--semi-sync"] : []),
      ...(this.#options.engineFlags ?? []),
      ...more,
    ]);
  }

  /**
   * One row is held, so that whoever changes it stands still while others pass. A gap that is seen may be closed by what the dying engine had sent already: then once more, until
   * the next engine finds one.
   */
  async #killWithGaps(): Promise<void> {
    const deadlineMs = performance.now() + CATCH_UP_MS_MAX;
    for (;;) {
      await this.#engineRuns();
      await this.#killInGap(deadlineMs);
      if (this.#faults.length > 0) return;
      this.#engine = this.#startEngine();
      await this.#engineRuns();
      this.#checkEngine();
      if (this.#faults.length > 0 || this.#engine.errors.includes(GAPS_FOUND)) return;
    }
  }

  async #killInGap(deadlineMs: number): Promise<void> {
    const hold = `SELECT * FROM ${LOAD_SCHEMA}.total WHERE id=1 FOR UPDATE`;
    await withSession(this.#target, async (session) => {
      for (let looks = 0; !(await this.#hasGaps()); looks++) {
        this.#checkEngine();
        if (performance.now() > deadlineMs) this.#faults.push("no transaction passed another one");
        if (this.#faults.length > 0) return;
        // Behind the one that stands still may come a DDL, which nothing passes.
        if (looks % 20 === 0) await session.execute(`ROLLBACK; BEGIN; ${hold}`);
        await sleep(20);
      }
      await this.#killEngine();
      await session.execute("ROLLBACK");
    });
  }

  #hasGaps(): Promise<boolean> {
    const gtid = this.#options.engineFlags?.includes("--gtid=preserve") === true ? "preserve" : "own";
    return withSession(this.#target, (session) => hasGaps(session, gtid));
  }

  async #killEngine(): Promise<void> {
    await this.#engine?.kill();
    this.#countGaps();
  }

  #countGaps(): void {
    if (this.#engine?.errors.includes(GAPS_FOUND)) this.#startsWithGaps++;
  }

  /** A random moment: often while the engine starts or resumes, else while it works. */
  async #waitForMoment(): Promise<void> {
    if (this.#prng.next() < 0.35) {
      await sleep(this.#prng.integer(0, 900));
      return;
    }
    await this.#progressOnTarget(await this.#countOnTarget());
    await sleep(this.#prng.integer(0, 1200));
  }

  async #hit(victim: Victim, load: NumberedLoad): Promise<void> {
    switch (victim) {
      case "engine":
        this.#checkEngine();
        await this.#killEngine();
        this.#engine = this.#startEngine();
        return;
      case "gaps":
        await this.#killWithGaps();
        return;
      case "target":
        await this.#target.kill();
        await sleep(this.#prng.integer(0, 500));
        await this.#target.restart();
        return;
      case "source": {
        await this.#source.kill();
        if (this.#options.semiSync) await this.#checkReceived([...load.acknowledged]);
        await this.#source.restart();
        return;
      }
      case "network": {
        // What a source sends is a stream of events, what a target sends short answers: both are cut somewhere inside.
        const [which, bytesMax] = this.#prng.next() < 0.5 ? ([0, 60_000] as const) : ([1, 4000] as const);
        this.#wires[which].cut(Array.from({ length: this.#prng.integer(0, 2) }, () => this.#prng.integer(1, bytesMax)));
        return;
      }
    }
  }

  /** An engine that gives up, where trying again would have helped, is a fault. */
  #checkEngine(): void {
    const engine = this.#engine;
    if (engine?.end === undefined) return;
    this.#faults.push(`the engine ended by itself (${engine.end}): ${lastLines(engine.errors)}`);
  }

  /** Every transaction of `numbers` is in the relay log, or was, and is applied. */
  async #checkReceived(numbers: readonly number[]): Promise<void> {
    const received = await numbersInRelayLog(this.#source, this.#relayFolder);
    const applied = await this.#numbersOn(this.#target);
    const missing = numbers.filter((number) => !received.has(number) && !applied.has(number));
    if (missing.length === 0) return;
    this.#faults.push(`a client saw transactions committed that are not in our relay log: ${some(missing)}`);
  }

  async #catchUp(): Promise<void> {
    this.#checkEngine();
    if (this.#faults.length > 0) return;
    const running = this.#engine;
    if (running !== undefined) {
      await this.#engineRuns();
      const end = await running.interrupt();
      this.#countGaps();
      if (end !== 0) this.#faults.push(`Ctrl-C ended the engine with ${end}: ${lastLines(running.errors)}`);
    }
    const last = this.#startEngine(["--until=now"]);
    this.#engine = last;
    const end = await this.#endWithProgress(last);
    this.#countGaps();
    if (end !== 0) this.#faults.push(`the target never caught up (${end}): ${await this.#describeEngine()}`);
  }

  /** How it ended; `timeout` when nothing was applied for too long. */
  async #endWithProgress(engine: CliProcess): Promise<ProcessEnd | "timeout"> {
    for (let count = -1; ;) {
      const before = count;
      const end = await Promise.race([engine.ended, sleep(CATCH_UP_MS_MAX, undefined, { ref: false })]);
      if (end !== undefined) return end;
      count = await this.#countOnTarget();
      if (count === before) return "timeout";
    }
  }

  /** The numbers on both sides, and the totals. Returns how many there are on the source. */
  async #count(load: NumberedLoad): Promise<number> {
    const onSource = await this.#numbersOn(this.#source);
    const onTarget = await this.#numbersOn(this.#target);
    const lostOnSource = [...load.acknowledged].filter((number) => !onSource.has(number));
    const lost = [...onSource].filter((number) => !onTarget.has(number));
    const invented = [...onTarget].filter((number) => !onSource.has(number));
    if (lostOnSource.length > 0) this.#faults.push(`the source itself lost ${some(lostOnSource)}`);
    if (lost.length > 0) this.#faults.push(`lost on the target: ${some(lost)}`);
    if (invented.length > 0) this.#faults.push(`on the target only: ${some(invented)}`);
    const total = await withSession(this.#target, (session) =>
      session.queryValue(
        `SELECT (SELECT SUM(n) FROM ${LOAD_SCHEMA}.total) + (SELECT n FROM ${LOAD_SCHEMA}.total_by_statement)`,
      ),
    );
    if (Number(total) !== onSource.size) {
      this.#faults.push(`the totals on the target add up to ${total}, and there are ${onSource.size} transactions`);
    }
    return onSource.size;
  }

  /** By the servers' own checksums, which know nothing of us; definitions too. */
  async #compare(): Promise<void> {
    const [a, b] = [await fingerprint(this.#source), await fingerprint(this.#target)];
    for (const table of new Set([...a.keys(), ...b.keys()])) {
      if (a.get(table) !== b.get(table)) {
        this.#faults.push(`table ${table} differs: ${a.get(table) ?? "missing"} and ${b.get(table) ?? "missing"}`);
      }
    }
  }

  #numbersOn(server: SandboxServer): Promise<Set<number>> {
    return withSession(server, async (session) => {
      const [result] = await session.execute(`SELECT n FROM ${LOAD_SCHEMA}.counter`);
      return new Set(result?.rows.map((row) => Number(row[0])));
    });
  }

  async #countOnTarget(): Promise<number> {
    return withSession(this.#target, async (session) =>
      Number(await session.queryValue(`SELECT COUNT(*) FROM ${LOAD_SCHEMA}.counter`)),
    ).catch(() => -1);
  }

  /** Until it runs, Ctrl-C may end it as it ends any program that is only being loaded. */
  async #engineRuns(): Promise<void> {
    while (this.#engine?.end === undefined && (await this.#engineStatus())?.state !== "running") await sleep(50);
  }

  #engineStatus(): Promise<EngineStatus | undefined> {
    return new ControlClient(this.#relayFolder).status().catch(() => undefined);
  }

  async #describeEngine(): Promise<string> {
    const status = await this.#engineStatus();
    return `${JSON.stringify(status)}\n${lastLines(this.#engine?.errors ?? "")}`;
  }

  /** Waits until the target has more transactions than `count`. */
  async #progressOnTarget(count: number): Promise<void> {
    const deadlineMs = performance.now() + CATCH_UP_MS_MAX;
    while ((await this.#countOnTarget()) <= count) {
      this.#checkEngine();
      if (this.#faults.length > 0) return;
      if (performance.now() > deadlineMs) {
        this.#faults.push(
          `nothing was applied for ${CATCH_UP_MS_MAX / 1000} s: ${lastLines(this.#engine?.errors ?? "")}`,
        );
        return;
      }
      await sleep(40);
    }
  }
}

async function withSession<T>(server: SandboxServer, work: (session: Session) => Promise<T>): Promise<T> {
  const session = await Session.connect(server.address);
  try {
    return await work(session);
  } finally {
    await session.close();
  }
}

/** Definition and checksum of every table. */
function fingerprint(server: SandboxServer): Promise<Map<string, string>> {
  return withSession(server, async (session) => {
    const prints = new Map<string, string>();
    for (const row of await session.query(`SHOW TABLES FROM ${LOAD_SCHEMA}`)) {
      const table = String(Object.values(row)[0]);
      const [definition] = await session.query(`SHOW CREATE TABLE ${LOAD_SCHEMA}.${table}`);
      const [checksum] = await session.query(`CHECKSUM TABLE ${LOAD_SCHEMA}.${table}`);
      // Numbers drawn by transactions that a crash rolled back are gone on the source, and nobody else ever hears of them.
      const lasting = definition?.["Create Table"]?.replace(/ AUTO_INCREMENT=\d+/, "");
      prints.set(table, `${lasting} ${checksum?.["Checksum"]}`);
    }
    return prints;
  });
}

function some(numbers: readonly number[]): string {
  return `${numbers.length} (${numbers.slice(0, 5).join(", ")}${numbers.length > 5 ? ", …" : ""})`;
}

function lastLines(text: string): string {
  return text.trim().split("\n").slice(-6).join("\n");
}
