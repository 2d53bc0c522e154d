import { afterAll, beforeAll, expect } from "vitest";
import { ReplicationError } from "../../src/base/error.ts";
import { type Log, silentLog } from "../../src/base/log.ts";
import { Engine } from "../../src/engine/engine.ts";
import type { EngineOptions } from "../../src/engine/options.ts";
import { comparePositions, parseGtids } from "../../src/engine/progress.ts";
import { coversGtids } from "../../src/relay/state.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { type SandboxServer, startServer } from "../../src/sandbox/start.ts";
import { verifyTables } from "../../src/verify/verify.ts";
import type { EngineStatus } from "../../src/engine/status.ts";
import type { SourceFacts } from "../../src/source/facts.ts";
import { readNow } from "../../src/source/now.ts";
import type { Session } from "../../src/wire/session.ts";
import { channelOptions, rows, withSession } from "./channel.ts";

/** Statements of one session; bytes where a character set of its own matters. */
export type Statements = readonly (string | Buffer)[];

/** Nobody's data: crashes are tested elsewhere. */
export const RELAXED = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0"];

/** Less than a test may take, so that the test says what the engine was at. */
const SETTLE_MS_MAX = 30_000;

const NAMES: Readonly<Record<ServerFlavour, string>> = {
  "mysql-5.6": "MySQL 5.6",
  "mysql-9.7": "MySQL 9.7",
  "mariadb-10.11": "MariaDB 10.11",
  "mariadb-11.8": "MariaDB 11.8",
};

/**
 * One channel whose engine runs while cases change the source. An engine that a case has stopped, on purpose or not, is followed by a new channel that
 * begins at `now`: one case's fault is not the next one's.
 */
export class Link {
  readonly name: string;
  readonly source: () => SandboxServer;
  readonly target: () => SandboxServer;
  readonly #overrides: Partial<EngineOptions>;
  #options: EngineOptions | undefined;
  #engine: Engine | undefined;
  readonly #told: string[] = [];
  readonly #log: Log = {
    ...silentLog,
    warn: (message, fields) => this.#told.push(`${message} ${JSON.stringify(fields ?? {})}`),
  };
  /** What ended the engine. */
  #end: Promise<unknown> = Promise.resolve(undefined);

  constructor(
    name: string,
    source: () => SandboxServer,
    target: () => SandboxServer,
    overrides: Partial<EngineOptions> = {},
  ) {
    this.name = name;
    this.source = source;
    this.target = target;
    this.#overrides = overrides;
  }

  get engine(): Engine {
    if (this.#engine === undefined) throw new Error(`${this.name}: no engine runs`);
    return this.#engine;
  }

  get options(): EngineOptions {
    if (this.#options === undefined) throw new Error(`${this.name}: no channel yet`);
    return this.#options;
  }

  /** Makes sure that an engine runs. */
  async ensure(): Promise<void> {
    if (this.#engine !== undefined && ["running", "paused"].includes(this.#engine.status().state)) return;
    this.#options = channelOptions(this.source(), this.target(), { log: this.#log, ...this.#overrides });
    await this.start();
  }

  /** Another engine for the channel that was stopped. */
  async start(): Promise<void> {
    const engine = await Engine.start(this.options);
    this.#engine = engine;
    this.#end = engine.done.then(
      () => undefined,
      (error: unknown) => error,
    );
  }

  /** The engine ends cleanly and another one goes on, in the same folder and channel. */
  async restart(): Promise<void> {
    await this.stop();
    await this.start();
  }

  async stop(): Promise<void> {
    await this.#engine?.stop().catch(() => {});
    this.#engine = undefined;
  }

  /** Waits until everything that the source has now is applied. Throws what stopped the engine. */
  async settle(): Promise<void> {
    const now = await withSession(this.source(), async (session) =>
      readNow(session, { gtids: await gtidsOf(session) }),
    );
    const isThere = (position: EngineStatus["applied"]["position"]): boolean => {
      if (now.gtids.kind !== "none") return coversGtids(parseGtids(position?.gtids ?? ""), now.gtids);
      return now.source !== undefined && position !== undefined && comparePositions(position, now.source) >= 0;
    };
    const giveUpMs = performance.now() + SETTLE_MS_MAX;
    for (;;) {
      const status = this.engine.status();
      if (isThere(status.applied.position)) return;
      if (status.state !== "running") throw ((await this.#end) ?? new Error(`${this.name}: the engine ended`)) as Error;
      if (performance.now() > giveUpMs) {
        const told = this.#told.slice(-10).join("\n");
        throw new Error(`${this.name} does not catch up: ${JSON.stringify(status)}\n${told}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** What stops the engine: a case that must stop. Fails when it comes through. */
  async stopped(): Promise<ReplicationError> {
    const error = await this.settle().then(
      () => undefined,
      (caught: unknown) => caught,
    );
    expect(error, `${this.name}: nothing stopped the engine`).toBeInstanceOf(ReplicationError);
    await this.stop();
    return error as ReplicationError;
  }

  /** Every row of the schema, or of its tables that are `mentioned` in these texts. */
  async expectIdentical(schema: string, mentioned: Statements = []): Promise<void> {
    const words = new Set(mentioned.flatMap((sql) => sql.toString("latin1").match(/\w+/g) ?? []));
    const report = await verifyTables({
      source: this.source().address,
      target: this.target().address,
      schemas: [schema],
      tables: [...words].map((word) => `${schema}.${word}`),
    });
    const faults = report.tables.filter((table) => !table.identical).map((table) => JSON.stringify(table));
    expect(faults, `${this.name}: tables differ`).toEqual([]);
    expect(report.tables.length, `${this.name}: tables compared`).toBeGreaterThan(0);
  }
}

async function gtidsOf(session: Session): Promise<SourceFacts["gtids"]> {
  if (session.serverVersion.flavour === "mariadb") return "mariadb";
  return (await session.queryValue("SELECT @@GLOBAL.gtid_mode")) === "ON" ? "mysql" : "none";
}

/**
 * A source, the targets that it is replicated to, and the schema in which its cases work: one of its own, so that several sources can have a target in common.
 */
export class Field {
  readonly flavour: ServerFlavour;
  readonly name: string;
  readonly schema: string;
  readonly source: () => SandboxServer;
  readonly links: Link[];

  constructor(
    flavour: ServerFlavour,
    source: () => SandboxServer,
    targets: ReadonlyMap<ServerFlavour, () => SandboxServer>,
    overrides: Partial<EngineOptions>,
  ) {
    this.flavour = flavour;
    this.name = NAMES[flavour];
    this.schema = `field_${flavour.replaceAll(/\W/g, "_")}`;
    this.source = source;
    this.links = [...targets].map(
      ([target, server]) => new Link(`${this.name} to ${NAMES[target]}`, source, server, overrides),
    );
  }

  link(target: ServerFlavour): Link {
    const found = this.links.find((link) => link.name.endsWith(`to ${NAMES[target]}`));
    if (found === undefined) throw new Error(`${this.name} is not replicated to ${target}`);
    return found;
  }

  /** Runs the statements in one session on the source, in the field's schema, each of which must succeed; nothing is waited for. */
  async run(statements: Statements): Promise<void> {
    for (const link of this.links) await link.ensure();
    await withSession(this.source(), async (session) => {
      await session.execute(`USE ${this.schema}`);
      for (const sql of statements) await session.execute(sql);
    });
  }

  /** Runs the statements, waits until all targets have them, and compares every row of the tables that they mention; of all tables when there are none. */
  async replicate(...statements: (string | Buffer)[]): Promise<void> {
    await this.run(statements);
    for (const link of this.links) await link.settle();
    for (const link of this.links) await link.expectIdentical(this.schema, statements);
  }

  /** The rows of a SELECT on every target, and on the source itself. */
  async expectRows(sql: string, expected: (string | null)[][]): Promise<void> {
    for (const server of [this.source, ...this.links.map((link) => link.target)]) {
      const found = await withSession(server(), async (session) => {
        await session.execute(`USE ${this.schema}`);
        return (await session.execute(sql)).at(-1)?.rows;
      });
      expect(found, `${sql} on ${server().flavour}, from ${this.name}`).toEqual(expected);
    }
  }

  /** The same rows on every target as on the source. */
  async expectSame(sql: string, links: readonly Link[] = this.links): Promise<(string | null)[][]> {
    const ask = (server: SandboxServer): Promise<(string | null)[][]> =>
      withSession(server, async (session) => {
        await session.execute(`USE ${this.schema}`);
        return (await session.execute(sql)).at(-1)?.rows ?? [];
      });
    const wanted = await ask(this.source());
    for (const link of links) expect(await ask(link.target()), `${sql}: ${link.name}`).toEqual(wanted);
    return wanted;
  }

  async value(sql: string): Promise<string | null> {
    return (await rows(this.source(), sql))[0]?.[0] ?? null;
  }
}

/** What each source is replicated to. */
export type Pairs = Partial<Record<ServerFlavour, readonly ServerFlavour[]>>;

/**
 * Starts a server for each source and each target, once per file, and makes the fields. A flavour that is both source and target is two servers.
 */
export function useFields(
  pairs: Pairs,
  options: {
    sourceOptions?: readonly string[];
    targetOptions?: readonly string[];
    engine?: Partial<EngineOptions>;
  } = {},
): Field[] {
  const starting: (() => Promise<void>)[] = [];
  const running: SandboxServer[] = [];
  const server = (flavour: ServerFlavour, more: readonly string[] = []): (() => SandboxServer) => {
    let started: SandboxServer | undefined;
    starting.push(async () => {
      started = await startServer({ flavour, options: [...RELAXED, ...more] });
      running.push(started);
    });
    return () => {
      if (started === undefined) throw new Error(`${flavour} is not running: it is for tests and hooks`);
      return started;
    };
  };
  const targets = new Map(
    [...new Set(Object.values(pairs).flat())].map((flavour) => [flavour, server(flavour, options.targetOptions)]),
  );
  const fields = (Object.keys(pairs) as ServerFlavour[]).map((flavour) => {
    const wanted = pairs[flavour] ?? [];
    return new Field(
      flavour,
      server(flavour, options.sourceOptions),
      new Map([...targets].filter(([target]) => wanted.includes(target))),
      options.engine ?? {},
    );
  });
  beforeAll(async () => {
    await Promise.all(starting.map((start) => start()));
    for (const field of fields) {
      for (const link of field.links) await link.ensure();
      await withSession(field.source(), (session) =>
        session.execute(`CREATE DATABASE ${field.schema} DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci`),
      );
    }
  });
  afterAll(async () => {
    for (const field of fields) for (const link of field.links) await link.stop();
    await Promise.all(running.map((one) => one.stop()));
  });
  return fields;
}
