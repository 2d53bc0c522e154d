import { eventTypeName } from "../../binlog/event-type.ts";
import type { BinlogInput, Fault } from "../input/input.ts";
import type { ParallelismReport } from "../parallelism/parallelism.ts";
import type {
  FileReport,
  InspectReport,
  PatternsReport,
  StatementReport,
  TableReport,
  TransactionReport,
} from "../report.ts";
import { CommitGroups } from "./commit-groups.ts";
import { GtidRuns } from "./gtid-runs.ts";
import { HotRows } from "./hot-rows.ts";
import { isoTime } from "./iso-time.ts";
import { DDL_LISTED, type PartSummary, STATEMENTS_LISTED, TABLES_MAX, TRANSACTIONS_LISTED } from "./part.ts";
import { RateCurve } from "./rate-curve.ts";
import { addTableCounts, type TableCounts } from "./table-counts.ts";
import { TopList } from "./top-list.ts";

const FAULTS_MAX = 1000;
const PATTERN_TABLES_MAX = 20;

interface FileCounts {
  bytes: number;
  transactions: number;
  events: number;
  serverVersion: string | null;
  checksum: FileReport["checksum"];
  firstAtUs: number;
  lastAtUs: number;
}

/** Adds up the parts of a log, in their order, and makes the report. Memory does not grow with the log. */
export class LogSummary {
  readonly #files = new Map<number, FileCounts>();
  readonly #eventsByType = new Map<number, { events: number; bytes: number }>();
  #flavour: "mysql" | "mariadb" = "mysql";
  #transactions = 0;
  #events = 0;
  #bytes = 0;
  #unpackedBytes = 0;
  #firstAtUs = 0;
  #lastAtUs = 0;
  #earliestUs = 0;
  #latestUs = 0;
  readonly #rate = new RateCurve();
  readonly #tables = new Map<string, TableCounts>();
  #tablesLeftOut = 0;
  readonly #hotRows = new HotRows();
  readonly #insertedAgain = { inside: 0, across: 0 };
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

  get transactions(): number {
    return this.#transactions;
  }

  add(part: PartSummary): void {
    this.#addFile(part);
    this.#addEvents(part);
    this.#addTimes(part);
    this.#transactions += part.transactions;
    this.#bytes += part.bytes;
    this.#unpackedBytes += part.unpackedBytes;
    this.#rate.merge(part.rate);
    for (const counts of part.tables) this.#addTable(counts);
    this.#tablesLeftOut += part.tablesLeftOut;
    this.#hotRows.addPart(part.hotRows, part.untoldChanges);
    this.#insertedAgain.inside += part.insertedAgain.inside;
    this.#insertedAgain.across += part.insertedAgain.across;
    for (const transaction of part.largest) this.#largest.add(transaction);
    for (const transaction of part.longest) this.#longest.add(transaction);
    this.#ddlCount += part.ddlCount;
    this.#ddl.push(...part.ddl.slice(0, DDL_LISTED - this.#ddl.length));
    this.#statementCount += part.statementCount;
    for (const statement of part.statements) this.#statements.add(statement);
    for (const name of ["small", "medium", "large", "bulk"] as const) this.#sizeClasses[name] += part.sizeClasses[name];
    this.#gtids.merge(part.gtids);
    this.#groups.merge(part.groups);
    for (const [power, count] of part.commitParentDistance.entries()) {
      this.#distances[power] = (this.#distances[power] ?? 0) + count;
    }
    for (const fault of part.faults) this.fault(fault);
  }

  fault(fault: Fault): void {
    if (this.#faults.length < FAULTS_MAX) this.#faults.push(fault);
  }

  report(
    inputs: readonly BinlogInput[],
    options: { parallelism: ParallelismReport | undefined; checksumsVerified: boolean },
  ): InspectReport {
    const seconds = (this.#latestUs - this.#earliestUs) / 1_000_000;
    const all = [...this.#tables.values()];
    const rows = {
      inserted: sum(all, ({ inserts }) => inserts),
      updated: sum(all, ({ updates }) => updates),
      deleted: sum(all, ({ deletes }) => deletes),
    };
    const changed = all.filter((table) => table.inserts + table.updates + table.deletes > 0);
    const tables = changed.toSorted((a, b) => b.bytes - a.bytes);
    return {
      files: inputs.map((input, number) => this.#file(input, number)),
      transactions: this.#transactions,
      events: this.#events,
      eventsByType: this.#types(),
      rows,
      bytes: this.#bytes,
      unpackedBytes: this.#unpackedBytes,
      firstAt: isoTime(this.#firstAtUs),
      lastAt: isoTime(this.#lastAtUs),
      seconds,
      rate: this.#rate.report(seconds, isWhole(this.#earliestUs) && isWhole(this.#latestUs)),
      tables: tables.map(tableReport),
      tablesLeftOut: this.#tablesLeftOut,
      patterns: this.#patterns(tables, rows.inserted + rows.updated + rows.deleted),
      largest: this.#largest.items,
      longest: this.#longest.items,
      ddl: this.#ddl,
      ddlCount: this.#ddlCount,
      statements: this.#statements.items,
      statementCount: this.#statementCount,
      sizeClasses: this.#sizeClasses,
      gtids: this.#gtids.report(),
      groupCommit: this.#groups.report(),
      parallelism: {
        policies: options.parallelism?.policies ?? [],
        commitParentDistance: Array.from(this.#distances, (transactions: number | undefined, power) => ({
          upTo: 2 ** power,
          transactions: transactions ?? 0,
        })),
        window: options.parallelism?.window ?? 0,
      },
      checksumsVerified: options.checksumsVerified,
      faults: this.#faults,
    };
  }

  #addFile(part: PartSummary): void {
    const file = this.#files.get(part.file) ?? {
      bytes: 0,
      transactions: 0,
      events: 0,
      serverVersion: null,
      checksum: null,
      firstAtUs: 0,
      lastAtUs: 0,
    };
    file.bytes += part.bytes;
    file.transactions += part.transactions;
    file.events += part.events;
    file.serverVersion ??= part.serverVersion;
    file.checksum ??= part.checksum;
    if (file.firstAtUs === 0) file.firstAtUs = part.firstAtUs;
    if (part.lastAtUs > 0) file.lastAtUs = part.lastAtUs;
    this.#files.set(part.file, file);
    if (part.flavour !== null) this.#flavour = part.flavour;
  }

  #addEvents(part: PartSummary): void {
    this.#events += part.events;
    for (const [type, events] of part.eventsByType.entries()) {
      if (events === 0) continue;
      const known = this.#eventsByType.get(type) ?? { events: 0, bytes: 0 };
      known.events += events;
      known.bytes += part.bytesByType[type] ?? 0;
      this.#eventsByType.set(type, known);
    }
  }

  #addTimes({ firstAtUs, lastAtUs, earliestUs, latestUs }: PartSummary): void {
    if (this.#firstAtUs === 0) this.#firstAtUs = firstAtUs;
    if (lastAtUs > 0) this.#lastAtUs = lastAtUs;
    if (earliestUs > 0 && (this.#earliestUs === 0 || earliestUs < this.#earliestUs)) this.#earliestUs = earliestUs;
    this.#latestUs = Math.max(this.#latestUs, latestUs);
  }

  #addTable(counts: TableCounts): void {
    const name = `${counts.schema}.${counts.table}`;
    const known = this.#tables.get(name);
    if (known !== undefined) addTableCounts(known, counts);
    else if (this.#tables.size < TABLES_MAX) this.#tables.set(name, counts);
    else this.#tablesLeftOut++;
  }

  #file(input: BinlogInput, number: number): FileReport {
    const counts = this.#files.get(number);
    return {
      name: input.name,
      bytes: counts?.bytes ?? 0,
      fileBytes: input.bytes ?? null,
      transactions: counts?.transactions ?? 0,
      events: counts?.events ?? 0,
      serverVersion: counts?.serverVersion ?? null,
      checksum: counts?.checksum ?? null,
      firstAt: isoTime(counts?.firstAtUs ?? 0),
      lastAt: isoTime(counts?.lastAtUs ?? 0),
    };
  }

  #types(): InspectReport["eventsByType"] {
    return [...this.#eventsByType]
      .map(([code, counts]) => ({ type: eventTypeName(code, this.#flavour), code, ...counts }))
      .toSorted((a, b) => b.events - a.events || a.code - b.code);
  }

  #patterns(tables: readonly TableCounts[], changedRows: number): PatternsReport {
    const savableBytes = sum(tables, (table) => table.savableBytes);
    const again = tables
      .map(({ schema, table, insertedAgainInside, insertedAgainAcross }) => ({
        schema,
        table,
        count: insertedAgainInside + insertedAgainAcross,
      }))
      .filter(({ count }) => count > 0)
      .toSorted((a, b) => b.count - a.count);
    return {
      deleteThenInsert: { ...this.#insertedAgain, tables: again.slice(0, PATTERN_TABLES_MAX) },
      hotRows: this.#hotRows.report(changedRows),
      emptyUpdates: sum(tables, (table) => table.emptyUpdates),
      tablesWithoutKey: tables
        .filter(({ keyFrom }) => keyFrom === "none")
        .map(({ schema, table }) => `${schema}.${table}`),
      savableBytes,
      savableShare: this.#unpackedBytes === 0 ? 0 : savableBytes / this.#unpackedBytes,
    };
  }
}

const isWhole = (atUs: number): boolean => atUs % 1_000_000 === 0;

function tableReport(counts: TableCounts): TableReport {
  const { schema, table, inserts, updates, deletes, transactions, bytes, savableBytes, emptyUpdates, keyFrom, key } =
    counts;
  return { schema, table, inserts, updates, deletes, transactions, bytes, savableBytes, emptyUpdates, keyFrom, key };
}

const sum = <Item>(items: readonly Item[], of: (item: Item) => number): number =>
  items.reduce((total, item) => total + of(item), 0);
