import type { Fault } from "../input/input.ts";
import type { StatementReport, TransactionReport } from "../report.ts";
import { CommitGroups } from "./commit-groups.ts";
import { gtidText } from "./gtid-name.ts";
import { GtidRuns } from "./gtid-runs.ts";
import { isoTime } from "./iso-time.ts";
import type { OpenTransaction } from "./open-transaction.ts";
import {
  BULK_ROWS,
  DDL_LISTED,
  FAULTS_MAX,
  LARGE_BYTES,
  LARGE_ROWS,
  type PartSummary,
  SMALL_ROWS,
  STATEMENTS_LISTED,
  TABLES_MAX,
  TRANSACTIONS_LISTED,
} from "./part.ts";
import { RateCurve } from "./rate-curve.ts";
import { RowKeys } from "./row-keys.ts";
import { newTableCounts, type TableCounts } from "./table-counts.ts";
import { TopList } from "./top-list.ts";

/** Row changes of a part that are handed on for the whole log's hot rows. */
const HOT_ROWS_MAX = 100;
const TABLES_NAMED = 5;
const TYPES = 256;
/** A transaction's begin is told in whole seconds: what is shorter than this may have taken hardly any time. */
const LONG_SECONDS = 2;

/** Adds up one part of a log. The scanner counts in its fields where it is in a hurry. */
export class PartBuilder {
  readonly eventsByType = new Float64Array(TYPES);
  readonly bytesByType = new Float64Array(TYPES);
  readonly keys: RowKeys;
  bytes = 0;
  unpackedBytes = 0;
  insertedInside = 0;
  insertedAcross = 0;
  serverVersion: string | null = null;
  flavour: PartSummary["flavour"] = null;
  checksum: PartSummary["checksum"] = null;
  readonly #file: number;
  readonly #fileName: string;
  #transactions = 0;
  #firstAtUs = 0;
  #lastAtUs = 0;
  #earliestUs = 0;
  #latestUs = 0;
  readonly #rate = new RateCurve();
  readonly #tables = new Map<string, TableCounts>();
  #tablesLeftOut = 0;
  readonly #largest = new TopList<TransactionReport>(TRANSACTIONS_LISTED, ({ bytes }) => bytes);
  readonly #longest = new TopList<TransactionReport>(TRANSACTIONS_LISTED, ({ seconds }) => seconds);
  readonly #ddl: StatementReport[] = [];
  #ddlCount = 0;
  readonly #statements = new TopList<StatementReport>(STATEMENTS_LISTED, ({ executionSeconds }) => executionSeconds);
  #statementCount = 0;
  readonly #sizeClasses = { small: 0, medium: 0, large: 0, bulk: 0 };
  readonly #gtids = new GtidRuns();
  readonly #groups = new CommitGroups();
  readonly #distances: number[] = [];
  readonly #faults: Fault[] = [];

  /** `keys` is cleared, and used until `summary`. */
  constructor(file: number, fileName: string, keys: RowKeys) {
    this.#file = file;
    this.#fileName = fileName;
    this.keys = keys;
    keys.clear();
  }

  countsOf(schema: string, table: string, name: string): TableCounts {
    let counts = this.#tables.get(name);
    if (counts === undefined) {
      counts = newTableCounts(schema, table);
      if (this.#tables.size < TABLES_MAX) this.#tables.set(name, counts);
      else this.#tablesLeftOut++;
    }
    return counts;
  }

  /** A whole transaction. `endedAt`: its last event's clock, in seconds. */
  transaction(open: OpenTransaction, endedAt: number): void {
    const atUs = open.committedAtUs === 0 ? endedAt * 1_000_000 : open.committedAtUs;
    this.#transactions++;
    if (atUs > 0) this.#time(atUs);
    this.#rate.add(atUs, 1, open.rows, open.bytes);
    for (const { counts } of open.tables) counts.transactions++;
    this.#size(open.rows, open.unpackedBytes);
    if (open.gtidSource !== "") this.#gtids.add(open);
    if (open.commitId !== 0) this.#groups.add("commit id", this.#fileName, open.commitId);
    if (open.sequenceNumber > open.lastCommitted) this.#clock(open);
    const seconds = open.beganAt === 0 || atUs === 0 ? 0 : Math.max(0, atUs / 1_000_000 - open.beganAt);
    const isLarge = this.#largest.wants(open.bytes);
    const isLong = seconds >= LONG_SECONDS && this.#longest.wants(seconds);
    if (!isLarge && !isLong) return;
    const report = this.#told(open, atUs, seconds);
    if (isLarge) this.#largest.add(report);
    if (isLong) this.#longest.add(report);
  }

  ddl(statement: StatementReport): void {
    this.#ddlCount++;
    if (this.#ddl.length < DDL_LISTED) this.#ddl.push(statement);
  }

  /** Whether a statement that took so long would be listed. */
  wantsStatement(executionSeconds: number): boolean {
    this.#statementCount++;
    return this.#statements.wants(executionSeconds);
  }

  statement(statement: StatementReport): void {
    this.#statements.add(statement);
  }

  fault(offset: number, reason: string): void {
    if (this.#faults.length < FAULTS_MAX) this.#faults.push({ file: this.#fileName, offset, reason });
  }

  summary(): PartSummary {
    const hotRows = this.keys.changedRows(HOT_ROWS_MAX);
    return {
      file: this.#file,
      bytes: this.bytes,
      unpackedBytes: this.unpackedBytes,
      transactions: this.#transactions,
      events: this.eventsByType.reduce((sum, events) => sum + events, 0),
      eventsByType: this.eventsByType,
      bytesByType: this.bytesByType,
      firstAtUs: this.#firstAtUs,
      lastAtUs: this.#lastAtUs,
      earliestUs: this.#earliestUs,
      latestUs: this.#latestUs,
      rate: this.#rate.state(),
      tables: [...this.#tables.values()],
      tablesLeftOut: this.#tablesLeftOut,
      hotRows,
      untoldChanges: this.keys.untoldChanges(hotRows.length === HOT_ROWS_MAX ? hotRows.at(-1)?.count : undefined),
      insertedAgain: { inside: this.insertedInside, across: this.insertedAcross },
      largest: this.#largest.items,
      longest: this.#longest.items,
      ddl: this.#ddl,
      ddlCount: this.#ddlCount,
      statements: this.#statements.items,
      statementCount: this.#statementCount,
      sizeClasses: this.#sizeClasses,
      gtids: this.#gtids.state(),
      groups: this.#groups.state(),
      commitParentDistance: Array.from(this.#distances, (count: number | undefined) => count ?? 0),
      serverVersion: this.serverVersion,
      flavour: this.flavour,
      checksum: this.checksum,
      faults: this.#faults,
    };
  }

  #time(atUs: number): void {
    if (this.#firstAtUs === 0) this.#firstAtUs = atUs;
    this.#lastAtUs = atUs;
    if (this.#earliestUs === 0 || atUs < this.#earliestUs) this.#earliestUs = atUs;
    if (atUs > this.#latestUs) this.#latestUs = atUs;
  }

  #size(rows: number, bytes: number): void {
    const classes = this.#sizeClasses;
    if (rows >= LARGE_ROWS || bytes >= LARGE_BYTES) classes.large++;
    else if (rows < SMALL_ROWS) classes.small++;
    else {
      classes.medium++;
      if (rows >= BULK_ROWS) classes.bulk++;
    }
  }

  #clock({ lastCommitted, sequenceNumber }: OpenTransaction): void {
    this.#groups.add("last_committed", this.#fileName, lastCommitted);
    const power = Math.ceil(Math.log2(sequenceNumber - lastCommitted));
    this.#distances[power] = (this.#distances[power] ?? 0) + 1;
  }

  #told(open: OpenTransaction, atUs: number, seconds: number): TransactionReport {
    return {
      gtid: gtidText(open),
      file: this.#fileName,
      position: open.offset,
      bytes: open.bytes,
      rows: open.rows,
      at: isoTime(atUs),
      seconds: Math.floor(seconds),
      tables: open.tables.slice(0, TABLES_NAMED).map(({ name }) => name),
    };
  }
}
