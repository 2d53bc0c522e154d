import { setTimeout as sleep } from "node:timers/promises";
import type { Clock } from "../base/clock.ts";
import { ReplicationError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { describeAddress, type ServerAddress } from "../base/server-url.ts";
import type { RelayLog } from "../relay/relay-log.ts";
import type { TransactionBoundary } from "../relay/state.ts";
import type { SourcePosition, TransactionId } from "../transaction/transaction.ts";
import { backOffMs } from "./back-off.ts";
import { connectSource, type ReplicaIdentity, requestStream } from "./connect.ts";
import type { SourceFacts } from "./facts.ts";
import { RelayFlusher } from "./relay-flusher.ts";
import { explainPurged } from "./purged.ts";
import { resolveStart } from "./resume.ts";
import type { StartPoint } from "./start-point.ts";
import type { ReceiverState, ReceiverStatus } from "./status.ts";
import { SourceStream } from "./stream.ts";

export interface ReceiverOptions {
  source: ServerAddress;
  relay: RelayLog;
  /** Used only while the relay log is empty; afterwards the stream goes on after its last complete transaction. */
  start: StartPoint;
  serverId: number;
  /** 8-4-4-4-12 hexadecimal digits, the same in every run of this engine. */
  uuid: string;
  /** What SHOW REPLICAS on the source shows as our host and port. */
  reportHost?: string;
  reportPort?: number;
  /** The source says that it is alive when it had nothing to send for this long; after twice this long of silence we reconnect. */
  heartbeatMs: number;
  semiSync: boolean;
  /** Default true. */
  verifyChecksums?: boolean;
  /** Longest wait between two attempts to connect. Default 30 s. */
  reconnectMsMax?: number;
  clock: Clock;
  /** In [0, 1): jitter of the back-off. */
  random: () => number;
  log: Log;
}

/** So many streams in a row, each ended by the source itself within this time, are no restarts: those refuse connections in between. */
const SHORT_STREAMS_MAX = 5;
const SHORT_STREAM_MS_MAX = 60_000;
/** Bytes that were corrupt this often at one place are so on the source's disk. */
const CORRUPT_ATTEMPTS_MAX = 3;

/**
 * The I/O thread: keeps one stream from the source alive and writes it into the relay log.
 *
 * Every stream begins after the last complete transaction of the relay log, and what the relay log has of an incomplete one is void as soon as the next stream
 * begins: so nothing is lost and nothing is there twice. Nothing is acknowledged (semi-sync) before it is flushed: the source would take for safe what a crash
 * of ours can still lose.
 */
export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #flusher: RelayFlusher;
  readonly #stopping = new AbortController();
  readonly #counters = { transactions: 0, events: 0, bytes: 0, heartbeats: 0, reconnects: 0, acknowledgements: 0 };
  #state: ReceiverState = "Connecting to source";
  #start: StartPoint;
  #facts: SourceFacts | undefined;
  #stream: SourceStream | undefined;
  #position: SourcePosition | undefined;
  #lastEventAtMs = 0;
  #lastPacketAtMs = 0;
  #lastError: ReplicationError | undefined;
  #lastErrorAtMs = 0;
  /** Streams in a row that brought nothing whole. */
  #attempt = 0;
  #corrupt = { at: "", attempts: 0 };
  #endsInARow = 0;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#start = options.start;
    this.#flusher = new RelayFlusher(options.relay, {
      onState: (state) => (this.#state = state),
      onDiskFull: (error) => this.#diskFull(error),
      onError: (error) => this.#stream?.end(error),
    });
  }

  get status(): ReceiverStatus {
    const { gtids, source } = this.#options.relay.received;
    return {
      ...this.#counters,
      state: this.#state,
      facts: this.#facts,
      position: this.#stream?.position ?? this.#position ?? source,
      gtids: gtids.kind === "mysql" ? gtids.set.toString() : gtids.kind === "mariadb" ? gtids.position.toString() : "",
      semiSync: this.#stream?.semiSync ?? false,
      lastEventAtMs: this.#lastEventAtMs,
      lastPacketAtMs: this.#stream?.lastPacketAtMs ?? this.#lastPacketAtMs,
      lastError: this.#lastError,
      lastErrorAtMs: this.#lastErrorAtMs,
    };
  }

  /**
   * Receives until `stop`; then everything received is on disk. Lost connections are reconnected for ever, with back-off. To be called once.
   * @throws ReplicationError what no repetition can heal
   */
  async run(): Promise<void> {
    const { signal } = this.#stopping;
    const stopped = new Promise<ReplicationError>((resolve) =>
      signal.addEventListener("abort", () => resolve(new ReplicationError("STOPPED", "the receiver was stopped"))),
    );
    try {
      while (!signal.aborted) {
        const ended = await Promise.race([this.#receiveStream(), stopped]);
        if (signal.aborted) break;
        const error = this.#isDisplaced(ended) ?? ended;
        this.#lastError = error;
        this.#lastErrorAtMs = this.#options.clock.nowMs();
        if (error.retry === "never" || this.#staysCorrupt(error)) throw error;
        const waitMs = backOffMs(this.#attempt++, this.#options.random(), this.#options.reconnectMsMax);
        this.#state = "Waiting to reconnect after a failed source event read";
        this.#options.log.warn(`receiver: ${error.message}; reconnecting in ${waitMs} ms`, { ...error.where });
        await sleep(waitMs, undefined, { signal }).catch(() => {});
        this.#counters.reconnects++;
        this.#state = "Reconnecting after a failed source event read";
      }
    } finally {
      await this.#flusher.finish();
      this.#state = "Stopped";
    }
  }

  /** Ends the stream; `run` returns once everything received is on disk. */
  stop(): void {
    this.#stopping.abort();
    this.#stream?.end(new ReplicationError("STOPPED", "the receiver was stopped"));
  }

  /** One connection's life. Resolves with why it ended. */
  async #receiveStream(): Promise<ReplicationError> {
    try {
      const stream = await this.#open();
      if (this.#stopping.signal.aborted) stream.end(new ReplicationError("STOPPED", "the receiver was stopped"));
      try {
        return await explainPurged(await stream.ended, this.#options.source, stream.start);
      } finally {
        this.#flusher.detach();
        this.#position = stream.position ?? this.#position;
        this.#countEnds(stream);
        this.#lastPacketAtMs = stream.lastPacketAtMs;
        this.#stream = undefined;
      }
    } catch (error) {
      if (!(error instanceof ReplicationError)) throw error;
      this.#endsInARow = 0;
      return error;
    }
  }

  async #open(): Promise<SourceStream> {
    const { source, serverId, log, relay, heartbeatMs, clock } = this.#options;
    const { session, facts } = await connectSource(source, serverId, log);
    try {
      this.#state = "Checking source version";
      this.#checkSameSource(facts);
      this.#facts = facts;
      const start = await resolveStart(session, facts, relay, this.#start);
      // What "now" meant stays what it meant, also when this stream breaks before its first event.
      if (start.kind === "file") this.#start = start;
      this.#state = "Registering replica on source";
      const connection = await requestStream(session, facts, start, this.#identity(facts));
      this.#state = "Requesting binlog dump";
      this.#stream = new SourceStream(connection, {
        start,
        serverId,
        heartbeatMs,
        verifyChecksums: this.#options.verifyChecksums ?? true,
        clock,
        sink: {
          keep: (event, sourceEnd, boundary, id) => this.#keep(event, sourceEnd, boundary, id),
          heartbeat: () => this.#heartbeat(),
        },
        onWaiting: (acknowledge) =>
          this.#flusher.afterFlush(() => {
            acknowledge();
            this.#counters.acknowledgements++;
          }),
        paused: () => this.#flusher.paused,
      });
      this.#flusher.attach(connection);
      return this.#stream;
    } catch (error) {
      session.destroy();
      throw error;
    }
  }

  #keep(event: Buffer, sourceEnd: number, boundary: TransactionBoundary, id: TransactionId | undefined): void {
    if (this.#state === "Requesting binlog dump") this.#streams();
    this.#counters.events++;
    this.#counters.bytes += event.length;
    this.#lastEventAtMs = this.#stream?.lastPacketAtMs ?? 0;
    const room = this.#options.relay.append(event, sourceEnd, boundary, id);
    if (boundary === "end") {
      this.#counters.transactions++;
      this.#attempt = 0;
    }
    this.#flusher.appended(room, boundary !== "inside");
  }

  #heartbeat(): void {
    this.#counters.heartbeats++;
    this.#attempt = 0;
    if (!this.#flusher.paused) this.#streams();
  }

  /** What was wrong before is over. */
  #streams(): void {
    this.#state = "Waiting for source to send event";
    this.#lastError = undefined;
  }

  /** With the error when it begins, without one when it is over. */
  #diskFull(error: ReplicationError | undefined): void {
    const { log, relay, clock } = this.#options;
    if (error === undefined) {
      this.#lastError = undefined;
      log.info("receiver: the relay log has disk space again, and receiving goes on", { folder: relay.folder });
      return;
    }
    this.#lastErrorAtMs = clock.nowMs();
    this.#lastError = new ReplicationError(
      "DISK_FULL",
      `the relay log in ${relay.folder} has no disk space: ${error.message}`,
      { where: error.where, cause: error, ...(error.hint === undefined ? {} : { hint: error.hint }) },
    );
    log.warn(`receiver: DISK_FULL: ${this.#lastError.message}`, { ...error.where, hint: error.hint });
  }

  #identity(facts: SourceFacts): ReplicaIdentity {
    const { serverId, uuid, reportHost, reportPort, heartbeatMs, semiSync, log } = this.#options;
    if (semiSync && !facts.semiSync) {
      log.warn("receiver: the source has semi-synchronous replication off and will not wait for us", {
        hint: "on the source: SET GLOBAL rpl_semi_sync_source_enabled=ON (before 8.0.26 and in MariaDB: rpl_semi_sync_master_enabled)",
      });
    }
    return {
      serverId,
      uuid,
      reportHost: reportHost ?? "",
      reportPort: reportPort ?? 0,
      heartbeatMs,
      semiSync: semiSync && facts.semiSync,
    };
  }

  /** File names and positions mean nothing on another server. */
  #checkSameSource(facts: SourceFacts): void {
    const known = this.#facts;
    if (known === undefined || this.#options.relay.received.gtids.kind !== "none") return;
    if (known.serverId === facts.serverId && known.serverUuid === facts.serverUuid) return;
    throw new ReplicationError(
      "POSITION_NOT_FOUND",
      "another server answers in the source's place, and without GTIDs our position means nothing there",
      {
        where: { server: describeAddress(this.#options.source) },
        hint: "make a new copy with --init=restart, or use GTIDs",
      },
    );
  }

  /** MySQL 5.6 gives our place to a newer replica of our UUID without a word, and we take it back, for ever. */
  #countEnds(stream: SourceStream): void {
    const lastedMs = this.#options.clock.nowMs() - stream.beganAtMs;
    this.#endsInARow = stream.endedBySource && lastedMs < SHORT_STREAM_MS_MAX ? this.#endsInARow + 1 : 0;
  }

  #isDisplaced(error: ReplicationError): ReplicationError | undefined {
    if (this.#endsInARow < SHORT_STREAMS_MAX) return undefined;
    return new ReplicationError(
      "DUPLICATE_SERVER_ID",
      `the source ended our stream ${this.#endsInARow} times in a row`,
      {
        where: error.where,
        hint: `look in SHOW SLAVE HOSTS on the source for another replica with our server id ${this.#options.serverId} or UUID; give each its own with --server-id`,
        cause: error,
      },
    );
  }

  #staysCorrupt(error: ReplicationError): boolean {
    if (error.code !== "CORRUPT_EVENT") return false;
    const at = `${error.where.file}:${error.where.position}`;
    this.#corrupt = { at, attempts: at === this.#corrupt.at ? this.#corrupt.attempts + 1 : 1 };
    return this.#corrupt.attempts >= CORRUPT_ATTEMPTS_MAX;
  }
}
