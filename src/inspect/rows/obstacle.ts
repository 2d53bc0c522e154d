import { COLUMN_TYPE } from "../../binlog/columns/types.ts";
import type { TableMapEvent } from "../../binlog/events/table-map.ts";
import type { Table } from "../../schema/catalog.ts";

/** Why no statement does a change, so that it is only a comment. */
export interface Obstacle {
  /** Told of a table, behind its name and a colon. */
  reason: string;
  hint?: string;
}

/** Of the two directions that a change can be written in. */
export interface Obstacles {
  repeat: Obstacle | undefined;
  undo: Obstacle | undefined;
}

const VERSIONED: Obstacle = {
  reason: "it is system-versioned, and the server alone writes its periods and its former rows",
};
const SEQUENCE: Obstacle = { reason: "it is a sequence: numbers that were taken do not come back" };
const OTHER_DEFINITION = "definitions of the time of the log, or binlog_row_metadata=FULL on the source";

/** MariaDB's `sql/sql_sequence.cc`: a sequence is a table of these columns. */
const SEQUENCE_NAMES = [
  "next_not_cached_value",
  "minimum_value",
  "maximum_value",
  "start_value",
  "increment",
  "cache_size",
  "cycle_option",
  "cycle_count",
];
const { LONGLONG, TINY, TIMESTAMP2 } = COLUMN_TYPE;
const SEQUENCE_TYPES = Buffer.of(LONGLONG, LONGLONG, LONGLONG, LONGLONG, LONGLONG, LONGLONG, TINY, LONGLONG);
const PERIOD_NAMES = ["row_start", "row_end"];
const PERIOD_DIGITS = 6;

/**
 * `names`: of the columns, where the log or a definition that fits tells them. `table`: the definition that was found, whether it fits or not. `isAsked`: somebody gave definitions.
 */
export function obstaclesOf(
  map: TableMapEvent,
  flavour: "mysql" | "mariadb",
  names: readonly string[] | undefined,
  table: Table | undefined,
  isAsked: boolean,
): Obstacles {
  if (table?.kind === "system-versioned") return { repeat: VERSIONED, undo: VERSIONED };
  if (flavour === "mariadb" && table === undefined) {
    if (names !== undefined && hasPeriod(map, names)) return { repeat: VERSIONED, undo: VERSIONED };
    if (map.types.equals(SEQUENCE_TYPES)) {
      if (names === undefined) {
        const reason = "it has the columns of a sequence, or nobody told their names";
        return both({ reason, hint: hintFor(isAsked) });
      }
      if (names.every((name, i) => name === SEQUENCE_NAMES[i])) return { repeat: undefined, undo: SEQUENCE };
    }
  }
  if (names !== undefined) return both(undefined);
  if (table !== undefined) {
    const reason = `its definition has ${table.columns.length} columns, and in the log it has ${map.columnCount}`;
    return both({ reason, hint: OTHER_DEFINITION });
  }
  const reason = isAsked
    ? "the definitions that were given do not have it, so the names of its columns are not known"
    : "nobody told the names of its columns";
  return both({ reason, hint: hintFor(isAsked) });
}

const both = (obstacle: Obstacle | undefined): Obstacles => ({ repeat: obstacle, undo: obstacle });

const hintFor = (isAsked: boolean): string =>
  isAsked ? OTHER_DEFINITION : "--schema DUMP.sql, or --source, or binlog_row_metadata=FULL on the source";

/** The columns that MariaDB adds to a table WITH SYSTEM VERSIONING come last. */
function hasPeriod({ types, metadata }: TableMapEvent, names: readonly string[]): boolean {
  const first = types.length - PERIOD_NAMES.length;
  return PERIOD_NAMES.every(
    (name, i) => names[first + i] === name && types[first + i] === TIMESTAMP2 && metadata[first + i] === PERIOD_DIGITS,
  );
}
