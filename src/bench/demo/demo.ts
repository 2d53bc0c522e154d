import { setTimeout as sleep } from "node:timers/promises";
import { ReplicationError } from "../../base/error.ts";
import type { ServerAddress } from "../../base/server-url.ts";
import type { EngineStatus } from "../../engine/status.ts";
import type { ServerFlavour } from "../../sandbox/flavours.ts";
import { type SandboxServer, startServer } from "../../sandbox/start.ts";
import type { SourcePosition } from "../../transaction/transaction.ts";
import { Session } from "../../wire/session.ts";
import { TemporaryFolder } from "../temporary-folder.ts";
import { prepareData } from "../workload/data.ts";
import { type Load, startLoad } from "../workload/load.ts";
import { oltpWriteOnly } from "../workload/oltp-write-only.ts";
import type { SbtestOptions } from "../workload/sbtest.ts";
import type { Workload } from "../workload/workload.ts";
import { LagSamples } from "./lag-samples.ts";

export interface DemoOptions {
  server: ServerFlavour;
  /** How long the load runs. */
  seconds: number;
  ratePerSecond: number;
  seed: number;
  startEngine(place: DemoPlace): Promise<DemoEngine>;
  /** Compares all tables of both servers; resolves to a line for each that differs. */
  compare(place: DemoPlace): Promise<string[]>;
  view: DemoView;
}

export interface DemoPlace {
  source: ServerAddress;
  target: ServerAddress;
  /** For relay log and engine state. */
  folder: string;
  startFrom: string;
}

/** What the demo needs of an engine. */
export interface DemoEngine {
  status(): EngineStatus;
  /** Holds applying after what is being applied now. */
  pauseAt(): Promise<void>;
  resume(): void;
  stop(): Promise<void>;
  /** Rejects when the engine fails. */
  done: Promise<unknown>;
}

export interface DemoView {
  /** Something begins or ends: a line that stays. */
  tell(text: string): void;
  /** How things are now, several times a second. */
  show(status: EngineStatus): void;
  /** Nothing more is shown. */
  end(): void;
}

export interface DemoReport {
  server: ServerFlavour;
  serverVersion: string;
  /** Committed on the source by the load. */
  transactions: number;
  ratePerSecond: number;
  applied: { transactions: number; rows: number; commits: number };
  /** While replication ran, the pause and what it left behind not counted. */
  lagMsP95: number | undefined;
  lagMsMax: number | undefined;
  /** The highest, at the end of the pause. */
  pausedLagMsMax: number | undefined;
  /** How the backlog of the pause was worked off, with the load going on. */
  catchUp: { transactions: number; seconds: number };
  /** One line for each table that differs. */
  differences: string[];
  identical: boolean;
}

const SCHEMA = "sbtest";
const THREADS = 8;
const DATA: SbtestOptions = { tables: 4, tableSize: 10_000, distribution: "special" };
const RELAXED = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"];
const SAMPLE_MS = 200;
/** Shares of the load's time: when the pause begins, how long it lasts, and when the table is altered. */
const PAUSE_AT = 0.3;
const PAUSE_FOR = 0.17;
const DDL_AT = 0.7;
const CATCH_UP_MS_MAX = 120_000;

/** Two servers, a load, an engine, a pause, a DDL, a comparison. Everything is gone afterwards. */
export async function runDemo(options: DemoOptions): Promise<DemoReport> {
  const { server, view } = options;
  const folder = new TemporaryFolder("demo");
  const servers: SandboxServer[] = [];
  try {
    for (const [serverId, role] of [
      [1, "source"],
      [2, "target"],
    ] as const) {
      view.tell(`starting the ${role}, ${server}`);
      const started = await startServer({
        flavour: server,
        serverId,
        options: RELAXED,
        onProgress: (text) => view.tell(text),
      });
      servers.push(started);
      view.tell(`${role}: ${started.version} at ${started.url}`);
    }
    const [source, target] = servers as [SandboxServer, SandboxServer];
    const place = { source: source.address, target: target.address, folder: folder.path, startFrom: "binlog.000001:4" };
    const workload = oltpWriteOnly(DATA);
    view.tell(`source: making ${DATA.tables} tables of ${DATA.tableSize} rows`);
    await prepareData(source.address, SCHEMA, workload, options.seed);
    view.tell("starting the replication");
    const engine = await options.startEngine(place);
    const stage = new Stage(options, source, engine);
    try {
      const played = await stage.play(workload);
      stage.end();
      await engine.stop();
      view.tell("comparing every table");
      const differences = await options.compare(place);
      return { ...played, differences, identical: differences.length === 0, server, serverVersion: source.version };
    } finally {
      stage.end();
      await engine.stop();
    }
  } finally {
    await Promise.all(servers.map((each) => each.stop()));
    folder.remove();
  }
}

type Played = Omit<DemoReport, "server" | "serverVersion" | "differences" | "identical">;

class Stage {
  readonly #options: DemoOptions;
  readonly #source: SandboxServer;
  readonly #engine: DemoEngine;
  readonly #running = new LagSamples();
  readonly #paused = new LagSamples();
  /** Where the samples of now belong; what was before the load is not of interest. */
  #samples: LagSamples | undefined;
  readonly #sampling: NodeJS.Timeout;
  #load: Load | undefined;
  #failure: unknown;

  constructor(options: DemoOptions, source: SandboxServer, engine: DemoEngine) {
    this.#options = options;
    this.#source = source;
    this.#engine = engine;
    engine.done.catch((error: unknown) => {
      this.#failure = error;
      this.#load?.stop();
    });
    this.#sampling = setInterval(() => {
      const status = engine.status();
      this.#samples?.add(status.lagMs);
      options.view.show(status);
    }, SAMPLE_MS);
  }

  async play(workload: Workload): Promise<Played> {
    const { view, seconds, ratePerSecond, seed } = this.#options;
    await this.#caughtUp();
    view.tell(`the target has the tables; now ${ratePerSecond} transactions per second for ${seconds} s`);
    const load = startLoad({
      address: this.#source.address,
      schema: SCHEMA,
      workload,
      seed,
      threads: THREADS,
      seconds,
      ratePerSecond,
    });
    this.#load = load;
    this.#samples = this.#running;
    const loadMs = seconds * 1000;
    const startMs = performance.now();
    await this.#wait(loadMs * PAUSE_AT);
    const catchUp = await this.#pauseAndCatchUp(loadMs * PAUSE_FOR);
    await this.#wait(startMs + loadMs * DDL_AT - performance.now());
    await this.#alter();
    const { transactions } = await load.done;
    view.tell(`the load has ended after ${transactions} transactions; waiting for the target`);
    await this.#caughtUp();
    const { applied } = this.#engine.status();
    return {
      transactions,
      ratePerSecond,
      applied: { transactions: applied.transactions, rows: applied.rows, commits: applied.runs },
      lagMsP95: this.#running.p95Ms,
      lagMsMax: this.#running.maxMs,
      pausedLagMsMax: this.#paused.maxMs,
      catchUp,
    };
  }

  end(): void {
    clearInterval(this.#sampling);
    this.#options.view.end();
    this.#load?.stop();
  }

  /** @returns what was applied from the end of the pause until nothing of the backlog was left. */
  async #pauseAndCatchUp(pauseMs: number): Promise<DemoReport["catchUp"]> {
    const { view } = this.#options;
    view.tell(`pausing the replication for ${(pauseMs / 1000).toFixed(0)} s: a backlog grows`);
    this.#samples = this.#paused;
    await this.#engine.pauseAt();
    await this.#wait(pauseMs);
    const before = this.#engine.status();
    const startMs = performance.now();
    this.#engine.resume();
    await this.#caughtUp();
    const elapsedSeconds = (performance.now() - startMs) / 1000;
    const transactions = this.#engine.status().applied.transactions - before.applied.transactions;
    view.tell(
      `caught up: ${transactions} transactions in ${elapsedSeconds.toFixed(1)} s, ${Math.round(transactions / elapsedSeconds)} per second`,
    );
    this.#samples = this.#running;
    return { transactions, seconds: elapsedSeconds };
  }

  async #alter(): Promise<void> {
    const statement = `ALTER TABLE ${SCHEMA}.sbtest1 ADD COLUMN note VARCHAR(20) NOT NULL DEFAULT 'added', ADD KEY (note)`;
    this.#options.view.tell(`under load: ${statement}`);
    await this.#onSource((session) => session.execute(statement));
  }

  /** Until everything that the source has now is applied. */
  async #caughtUp(): Promise<void> {
    const end = await this.#onSource(async (session): Promise<SourcePosition> => {
      const [row] = await session.query(session.serverVersion.showBinlogStatus);
      return { file: String(row?.["File"]), position: Number(row?.["Position"]) };
    });
    const deadlineMs = performance.now() + CATCH_UP_MS_MAX;
    while (!isAtOrPast(this.#engine.status().applied.position, end)) {
      if (performance.now() > deadlineMs) {
        throw new ReplicationError("APPLY", `the target did not catch up within ${CATCH_UP_MS_MAX / 1000} s`);
      }
      await this.#wait(20);
    }
  }

  async #wait(ms: number): Promise<void> {
    await sleep(Math.max(0, ms));
    if (this.#failure !== undefined) throw this.#failure;
  }

  async #onSource<T>(work: (session: Session) => Promise<T>): Promise<T> {
    const session = await Session.connect(this.#source.address);
    try {
      return await work(session);
    } finally {
      await session.close();
    }
  }
}

/** Files of one binlog have numbers of equal length: their names sort as they follow each other. */
function isAtOrPast(position: SourcePosition | undefined, end: SourcePosition): boolean {
  if (position === undefined) return false;
  return position.file === end.file ? position.position >= end.position : position.file > end.file;
}
