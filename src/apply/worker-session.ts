import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import { type BinlogFormat, isSameFormat } from "../binlog/format.ts";
import type { Transaction } from "../transaction/transaction.ts";
import type { ExecuteResult, Session } from "../wire/session.ts";
import type { WorkerKey } from "./checkpoint.ts";
import { BinlogStatementBuilder, formatStatement } from "./row-injection.ts";
import { StepBuilder } from "./statement/steps.ts";
import type { TargetFacts } from "./statement/target.ts";

/** Batches of a transaction's body events, from memory or, for a big one, from the relay log. */
export type BodyBatches = AsyncIterable<Iterable<Buffer>> | Iterable<Iterable<Buffer>>;

export interface WorkerSettings extends WorkerKey {
  gtid: "own" | "preserve";
  facts: TargetFacts;
  readBody: (transaction: Transaction) => BodyBatches;
}

const AUTOMATIC = "SET GTID_NEXT='AUTOMATIC'";
/** Events per BINLOG statement: enough to make the round trip cheap, little enough to show progress and to stay below any max_allowed_packet. */
const STATEMENT_EVENT_BYTES_MAX = 2 * 1024 * 1024;
/** The statements around a BINLOG in the same query: a GTID set may be long. */
const PREFIX_BYTES_RESERVED = 64 * 1024;

/**
 * One session and what must be remembered of it: the format that its server-side reader was told, and the settings that statements have left.
 * A new session is a new WorkerSession: nothing of an old one may be believed.
 */
export class WorkerSession {
  readonly session: Session;
  readonly settings: WorkerSettings;
  #steps: StepBuilder | undefined;
  /** Bytes of events applied since `useFormat`: progress inside a big transaction. */
  eventBytesApplied = 0;
  readonly #packetBytesMax: number;
  #format: BinlogFormat | undefined;
  #builder: BinlogStatementBuilder | undefined;
  /** Builds what comes next while the other one is in the middle of a transaction. */
  #aheadBuilder: BinlogStatementBuilder | undefined;

  /** `packetBytesMax`: max_allowed_packet of this session; a change on the server holds for later ones. */
  constructor(session: Session, settings: WorkerSettings, packetBytesMax: number) {
    this.session = session;
    this.settings = settings;
    this.#packetBytesMax = packetBytesMax;
  }

  get steps(): StepBuilder {
    return (this.#steps ??= new StepBuilder(this.settings.facts));
  }

  /** Nothing is known of the session's settings: after a failure, and when BINLOG is sent past the step builder (it changes TIMESTAMP and the checks). */
  forgetSettings(): void {
    this.#steps?.forget();
  }

  /** Whether the server can read events of this format now. */
  knows(format: BinlogFormat): boolean {
    return this.#format !== undefined && isSameFormat(format, this.#format);
  }

  /** Tells the server the format of the events to come, unless it knows. */
  async useFormat(format: BinlogFormat): Promise<void> {
    this.eventBytesApplied = 0;
    if (this.knows(format)) return;
    const statement = formatStatement(format, this.settings.facts.flavour);
    if (this.settings.facts.flavour === "mysql") {
      // With the GTID of the transaction before it the statement is refused, and after it GTID_NEXT is undetermined: then all but SET is refused, ROLLBACK too.
      await this.session.execute(`${AUTOMATIC};${statement}`);
      await this.session.execute(AUTOMATIC);
    } else await this.session.execute(statement);
    this.#format = format;
    const room = Math.floor(((this.#packetBytesMax - PREFIX_BYTES_RESERVED) * 3) / 4);
    const makeBuilder = (): BinlogStatementBuilder =>
      new BinlogStatementBuilder({
        source: format.flavour,
        target: this.settings.facts.flavour,
        bytesMax: Math.min(STATEMENT_EVENT_BYTES_MAX, room),
      });
    this.#builder = makeBuilder();
    this.#aheadBuilder = makeBuilder();
  }

  /** What must come before a BEGIN or a statement with an implicit commit. */
  gtidNext(transaction: Transaction | undefined): string[] {
    if (this.settings.facts.flavour === "mariadb") return [];
    if (this.settings.gtid === "own" || transaction === undefined) return [AUTOMATIC];
    if (transaction.id.kind !== "mysql") {
      throw new ReplicationError("UNSUPPORTED", "a transaction without a GTID cannot keep its GTID on the target", {
        where: transaction.end,
        hint: "use --gtid own, or gtid_mode=ON on the source",
      });
    }
    const { uuid, tag, gno } = transaction.id;
    return [`SET GTID_NEXT='${uuid}:${tag === "" ? "" : `${tag}:`}${gno}'`];
  }

  /**
   * Sends row events as BINLOG statements, the statements of `before` in the same query as the first one, and waits until all are executed.
   * `mergeStatements`: as the builder's; for packed transactions.
   * @returns the results of `before`, which also runs when there are no rows
   */
  async sendRows(
    before: readonly string[],
    events: BodyBatches,
    { mergeStatements = false } = {},
  ): Promise<ExecuteResult> {
    const builder = this.#builder;
    assert(builder !== undefined, "useFormat comes first");
    builder.mergeStatements = mergeStatements;
    const prefix = Buffer.from(before.map((statement) => `${statement};`).join(""));
    let results: ExecuteResult | undefined;
    let eventBytes = 0;
    const send = async (statement: Buffer[]): Promise<void> => {
      this.#checkPacket(statement);
      const sentBytes = eventBytes;
      eventBytes = 0;
      if (results === undefined) results = await this.session.execute([prefix, ...statement]);
      else await this.session.execute(statement);
      this.eventBytesApplied += sentBytes;
    };
    try {
      for await (const batch of events) {
        for (const event of batch) {
          const full = builder.add(event);
          if (full !== undefined) await send(full);
          eventBytes += event.length;
        }
      }
    } catch (error) {
      builder.finish();
      throw error;
    }
    const last = builder.finish();
    if (last !== undefined) await send(last);
    if (results === undefined && before.length > 0) results = await this.session.execute(before.join(";"));
    return results ?? [];
  }

  /**
   * The queries that `sendRows` would send for packed transactions, made beforehand; of a format that the session knows.
   * @throws ReplicationError UNSUPPORTED
   */
  buildRows(before: readonly string[], batches: Iterable<Iterable<Buffer>>): Buffer[][] {
    const builder = this.#aheadBuilder;
    assert(builder !== undefined, "the format is known");
    builder.mergeStatements = true;
    const statements: Buffer[][] = [];
    for (const batch of batches) {
      for (const event of batch) {
        const full = builder.add(event);
        if (full !== undefined) statements.push(full);
      }
    }
    const last = builder.finish();
    if (last !== undefined) statements.push(last);
    for (const statement of statements) this.#checkPacket(statement);
    const prefix = Buffer.from(before.map((statement) => `${statement};`).join(""));
    const [first, ...others] = statements;
    return first === undefined ? [[Buffer.from(before.join(";"))]] : [[prefix, ...first], ...others];
  }

  /** Sends the first query at once, each further one when the one before it has succeeded. @returns the results of the first */
  async sendBuilt([first, ...others]: readonly Buffer[][], eventBytes: number): Promise<ExecuteResult> {
    assert(first !== undefined, "there is always a first query");
    this.eventBytesApplied = 0;
    const results = await this.session.execute(first);
    for (const query of others) await this.session.execute(query);
    this.eventBytesApplied = eventBytes;
    return results;
  }

  #checkPacket(statement: Buffer[]): void {
    const bytes = statement.reduce((sum, part) => sum + part.length, PREFIX_BYTES_RESERVED);
    if (bytes <= this.#packetBytesMax) return;
    const enough = Math.min(2 ** Math.ceil(Math.log2(bytes)), 1024 ** 3);
    throw new ReplicationError(
      "UNSUPPORTED",
      `a row needs a packet of ${bytes} bytes, and the target's max_allowed_packet is ${this.#packetBytesMax}`,
      { hint: `on the target, SET GLOBAL max_allowed_packet=${enough}; then start again` },
    );
  }
}
