import type { Clock } from "../base/clock.ts";
import { ReplicationError } from "../base/error.ts";
import { eventType } from "../binlog/event.ts";
import type { SourcePosition } from "../transaction/transaction.ts";
import type { Connection } from "../wire/connection.ts";
import { readErrorPacket } from "../wire/sql-error.ts";
import type { StreamStart } from "./connect.ts";
import { DUMP_POSITION_MAX } from "./dump-command.ts";
import { EventIntake, isHeartbeat, type IntakeSink } from "./event-intake.ts";
import { acknowledgement, hasSemiSyncHeader, wantsAcknowledgement } from "./semi-sync.ts";
import { describeSourceError } from "./source-error.ts";

export interface StreamOptions {
  start: StreamStart;
  serverId: number;
  heartbeatMs: number;
  verifyChecksums: boolean;
  clock: Clock;
  sink: IntakeSink;
  /** The source waits until `acknowledge` is called: to be done once everything kept so far is on disk. */
  onWaiting: (acknowledge: () => void) => void;
  /** Silence is no fault while we do not read. */
  paused: () => boolean;
}

/** First byte of a packet in the stream (`sql/rpl_binlog_sender.cc`); 0xfe ends it. */
const EVENT_FOLLOWS = 0x00;
const ERROR = 0xff;
const EVENT_START = 1;
const SEMI_SYNC_EVENT_START = 3;
/** Looking for the start may take the source long, and it says nothing meanwhile. */
const FIRST_EVENT_SILENCE_MS_MAX = 60_000;

/** One dump connection, from the request to its end: packets become events, semi-sync requests and one reason to end. */
export class SourceStream {
  /** Why it ended. Rejects only with defects of ours. */
  readonly ended: Promise<ReplicationError>;
  readonly #connection: Connection;
  readonly #options: StreamOptions;
  readonly #intake: EventIntake;
  #resolve: (error: ReplicationError) => void = () => {};
  #reject: (error: unknown) => void = () => {};
  readonly #silenceCheck: NodeJS.Timeout | undefined;
  #begun = false;
  #endedBySource = false;
  #semiSync = false;
  /** What was, or after the next flush will be, acknowledged last. */
  #acknowledged: SourcePosition | undefined;
  /** From where the source was asked to send. */
  readonly start: StreamStart;
  readonly beganAtMs: number;
  #lastPacketAtMs: number;

  constructor(connection: Connection, options: StreamOptions) {
    this.#connection = connection;
    this.#options = options;
    const { start, clock, heartbeatMs } = options;
    this.#intake = new EventIntake(connection.serverVersion.text, options.sink, {
      verifyChecksums: options.verifyChecksums,
      ...(start.kind === "file" && start.position > DUMP_POSITION_MAX ? { keepFrom: start.position } : {}),
    });
    this.ended = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    this.start = start;
    this.beganAtMs = clock.nowMs();
    this.#lastPacketAtMs = this.beganAtMs;
    if (heartbeatMs > 0) this.#silenceCheck = setInterval(() => this.#checkSilence(), Math.max(heartbeatMs / 2, 10));
    connection.onRead = () => (this.#lastPacketAtMs = clock.nowMs());
    connection.onPacket = (bytes, start, end) => this.#receive(bytes, start, end);
    connection.onClosed = (error) => this.end(error);
  }

  /** After the last event kept. */
  get position(): SourcePosition | undefined {
    return this.#intake.position;
  }

  /** The source said itself that this is the end, and not why: it shuts down, somebody killed our session, or MySQL 5.6 gave our place to a replica of our UUID. */
  get endedBySource(): boolean {
    return this.#endedBySource;
  }

  get semiSync(): boolean {
    return this.#semiSync;
  }

  get lastPacketAtMs(): number {
    return this.#lastPacketAtMs;
  }

  /** Closes the connection; `ended` resolves with this error, if it has not yet. */
  end(error: ReplicationError): void {
    this.#close();
    this.#resolve(error.at(this.#intake.position ?? {}));
  }

  #close(): void {
    clearInterval(this.#silenceCheck);
    this.#connection.onPacket = () => {};
    this.#connection.onRead = () => {};
    this.#connection.onClosed = () => {};
    this.#connection.destroy();
  }

  #receive(bytes: Buffer, start: number, end: number): void {
    const marker = bytes[start];
    try {
      if (marker === EVENT_FOLLOWS) this.#event(bytes, start, end);
      else if (marker === ERROR) this.end(this.#sourceError(bytes.subarray(start, end)));
      else {
        this.#endedBySource = true;
        this.end(
          new ReplicationError(
            "CONNECTION_LOST",
            "the source ended the stream: it is shutting down or ended our session",
          ),
        );
      }
    } catch (error) {
      if (error instanceof ReplicationError) {
        this.end(this.#startsInside(error));
      } else {
        this.#close();
        this.#reject(error);
      }
    }
  }

  #event(bytes: Buffer, start: number, end: number): void {
    if (!this.#begun) {
      this.#begun = true;
      this.#semiSync = hasSemiSyncHeader(bytes, start);
    }
    if (!this.#semiSync) {
      this.#intake.take(bytes.subarray(start + EVENT_START, end));
      return;
    }
    const event = bytes.subarray(start + SEMI_SYNC_EVENT_START, end);
    this.#intake.take(event);
    if (wantsAcknowledgement(bytes, start)) this.#acknowledge(this.#intake.position);
    else if (isHeartbeat(eventType(event))) this.#acknowledge(this.#intake.idleAt);
  }

  /**
   * A heartbeat is acknowledged too, once per place: where we were killed between flush and acknowledgement, the next stream leaves out what we have, and
   * MariaDB would wait for its acknowledgement for good (MySQL takes what it leaves out for acknowledged).
   */
  #acknowledge(reached: SourcePosition | undefined): void {
    if (reached === undefined) return;
    const { file, position } = reached;
    if (file === this.#acknowledged?.file && position === this.#acknowledged.position) return;
    this.#acknowledged = reached;
    this.#options.onWaiting(() => this.#connection.send([acknowledgement(file, position)]));
  }

  #sourceError(payload: Buffer): ReplicationError {
    const { start, serverId } = this.#options;
    return describeSourceError(readErrorPacket(payload, this.#connection.server), {
      server: this.#connection.server,
      serverId,
      start,
      started: this.#intake.started,
    });
  }

  /** A start in the middle of a transaction shows as an impossible order of events. */
  #startsInside(error: ReplicationError): ReplicationError {
    const { start } = this.#options;
    if (error.code !== "GRAMMAR" || this.#intake.transactions > 0 || start.kind !== "file") return error;
    return new ReplicationError("POSITION_NOT_FOUND", `the start point lies inside a transaction: ${error.message}`, {
      where: { file: start.file, position: start.position },
      hint: "give the position of a transaction's start (SHOW BINLOG EVENTS IN … on the source)",
      cause: error,
    });
  }

  #checkSilence(isSecondLook = false): void {
    const { clock, heartbeatMs, paused } = this.#options;
    if (paused()) this.#lastPacketAtMs = clock.nowMs();
    const silenceMax = Math.max(2 * heartbeatMs, this.#begun ? 0 : FIRST_EVENT_SILENCE_MS_MAX);
    const silence = clock.nowMs() - this.#lastPacketAtMs;
    if (silence <= silenceMax) return;
    if (!isSecondLook) {
      // Perhaps it was us who were busy: what waits in the socket is read before the second look.
      setImmediate(() => this.#checkSilence(true));
      return;
    }
    this.end(
      new ReplicationError(
        "CONNECTION_LOST",
        `${this.#connection.server} sent neither event nor heartbeat for ${silence} ms`,
      ),
    );
  }
}
