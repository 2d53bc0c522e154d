import type { CopyPosition } from "./position.ts";

export interface CopyResult {
  /** Where replication starts: the oldest of the tables' positions. */
  position: CopyPosition;
  /**
   * Tables whose rows are of a later snapshot than `position`: events of such a table that lie before its own position are in its rows already and must be skipped.
   * Empty when the copy was not interrupted.
   */
  tableFrom: { schema: string; table: string; position: CopyPosition }[];
  tables: number;
  rows: number;
  /** What the user should know: approximations, things that are not copied. */
  warnings: string[];
  /** The copy had been finished before: nothing was done. */
  wasDone: boolean;
}

export interface CopyProgress {
  phase: "definitions" | "rows" | "objects" | "done";
  tablesDone: number;
  tablesTotal: number;
  /** In this run of the process. */
  rowsDone: number;
  /** By the source's estimate; at least `rowsDone`. */
  rowsTotal: number;
  /** Of the statements sent. */
  bytesDone: number;
  rowsPerSecond: number;
  /** undefined: not known yet. */
  etaSeconds: number | undefined;
  /** `schema.table` last worked on. */
  table: string;
}
