import type { SourcePosition } from "../transaction/transaction.ts";

/** A place in the source's binlog; `gtids` is the GTID set (MySQL) or GTID position (MariaDB) there, empty without GTIDs. */
export interface VerifyPosition extends SourcePosition {
  gtids: string;
}

/** A row that differs. `row` is its key, or its first values when the table has no key. */
export interface DifferentRow {
  row: string;
  what: "only on source" | "only on target" | "values differ";
}

/** Rows between two keys, both included, that differ; null: open at that end (or a table without a usable key). */
export interface Difference {
  keyFrom: string | null;
  keyTo: string | null;
  /** Rows in the range that was compared last, differing or not. */
  sourceRows: number;
  targetRows: number;
  /** The differing rows, as many as were asked for; empty when enough were shown before. */
  rows: DifferentRow[];
}

export interface TableReport {
  schema: string;
  table: string;
  /** Rows of the source (of the target for a table that is only there). */
  rows: number;
  chunks: number;
  identical: boolean;
  differences: Difference[];
  /** The table is missing on the other side. */
  onlyOn?: "source" | "target";
  /** Columns that the other side does not have; their table is not compared. */
  columnsOnlyOn?: { source: string[]; target: string[] };
  /** What differs in the definition without making the rows differ. */
  warnings: string[];
}

export interface VerifyReport {
  identical: boolean;
  tables: TableReport[];
  /** Where in the source's binlog the comparison stands; undefined when the source does not tell (no binlog, no right to ask). */
  position: VerifyPosition | undefined;
  /** What makes the comparison itself less certain, such as a target that stands at another position. */
  warnings: string[];
  durationMs: number;
}

export interface VerifyProgress {
  tablesDone: number;
  tablesTotal: number;
  rowsDone: number;
  /** By the source's estimate; at least `rowsDone`. */
  rowsTotal: number;
  rowsPerSecond: number;
  /** undefined: not known yet. */
  etaSeconds: number | undefined;
  differingTables: number;
  /** `schema.table` last worked on. */
  table: string;
}
