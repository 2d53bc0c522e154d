import type { Log } from "../base/log.ts";
import { ReplicationError } from "../base/error.ts";
import type { ServerAddress } from "../base/server-url.ts";
import {
  fenceChannel,
  makeCheckpointTables,
  readCheckpoints,
  readWorkers,
  type StoredCheckpoints,
} from "../apply/checkpoint.ts";
import { readTargetFacts, type RowsSession, type TargetFacts } from "../apply/statement/target.ts";
import { awaitFormerSessions, openControlSession } from "../apply/target-session.ts";
import type { Session } from "../wire/session.ts";

/** The engine's own session, and some that the target needs for others: without a free one it refuses even its administrator. */
const OTHER_CONNECTIONS = 10;
const RECONNECT_MS = { first: 200, max: 5_000 };

/**
 * The engine's own session on the target, which holds the channel's lock. When it is lost (the target restarted), it comes back and takes the lock again; if
 * another engine was quicker, this one ends as FENCED. Between the two nothing breaks: the workers' checkpoint rows fence by themselves.
 */
export class Target {
  session: Session;
  readonly facts: TargetFacts;
  readonly serverVersion: string;
  readonly gtidModeOn: boolean;
  readonly #address: ServerAddress;
  readonly #channel: string;
  readonly #log: Log;
  readonly #onFatal: (error: ReplicationError) => void;
  #closed = false;

  static async open(
    address: ServerAddress,
    channel: string,
    log: Log,
    onFatal: (error: ReplicationError) => void,
  ): Promise<Target> {
    const session = await openControlSession(address, channel);
    try {
      await makeCheckpointTables(session);
      const facts = await readTargetFacts(rowsSession(session));
      const gtidModeOn = facts.flavour === "mysql" && (await session.queryValue("SELECT @@GLOBAL.gtid_mode")) === "ON";
      return new Target(session, { address, channel, log, onFatal, facts, gtidModeOn });
    } catch (error) {
      session.destroy();
      throw error;
    }
  }

  private constructor(
    session: Session,
    about: {
      address: ServerAddress;
      channel: string;
      log: Log;
      onFatal: (error: ReplicationError) => void;
      facts: TargetFacts;
      gtidModeOn: boolean;
    },
  ) {
    this.session = session;
    this.serverVersion = session.serverVersion.text;
    this.facts = about.facts;
    this.gtidModeOn = about.gtidModeOn;
    this.#address = about.address;
    this.#channel = about.channel;
    this.#log = about.log;
    this.#onFatal = about.onFatal;
    session.onClosed = () => void this.#comeBack();
  }

  /** What the target holds of the channel, which from now on nobody but this engine changes. */
  async claim(engineId: string): Promise<StoredCheckpoints> {
    const workers = await readWorkers(this.session, this.#channel);
    await awaitFormerSessions(this.session, this.#channel, workers, this.#log);
    await fenceChannel(this.session, this.#channel, engineId);
    // Those of an engine that was not dead, but had only lost this lock.
    await awaitFormerSessions(this.session, this.#channel, workers, this.#log);
    return readCheckpoints(this.session, this.#channel);
  }

  /** @throws ReplicationError CONFIG when so many workers would leave too few connections for others */
  async requireConnections(workers: number): Promise<void> {
    const allowed = Number(await this.session.queryValue("SELECT @@GLOBAL.max_connections"));
    if (workers + OTHER_CONNECTIONS <= allowed) return;
    throw new ReplicationError(
      "CONFIG",
      `${workers} workers are too many: the target allows ${allowed} connections in all`,
      {
        hint: `give at most ${Math.max(1, allowed - OTHER_CONNECTIONS)}, or SET GLOBAL max_connections on the target`,
      },
    );
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.session.onClosed = () => {};
    if (!this.session.closed) await this.session.close();
  }

  async #comeBack(): Promise<void> {
    for (let waitMs = RECONNECT_MS.first; !this.#closed; waitMs = Math.min(2 * waitMs, RECONNECT_MS.max)) {
      try {
        const session = await openControlSession(this.#address, this.#channel);
        if (this.#closed) return session.destroy();
        this.session = session;
        session.onClosed = () => void this.#comeBack();
        return;
      } catch (error) {
        if (this.#closed) return;
        if (error instanceof ReplicationError && error.retry !== "later") return this.#onFatal(error);
        this.#log.warn("the target cannot be reached", {
          error: error instanceof Error ? error.message : String(error),
        });
        await new Promise((resolve) => setTimeout(resolve, waitMs));
      }
    }
  }
}

const rowsSession = (session: Session): RowsSession => ({
  rows: async (sql) => (await session.execute(sql)).at(-1)?.rows ?? [],
});
