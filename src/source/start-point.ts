import { unreachable } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import { MariadbGtidPosition } from "../gtid/mariadb.ts";
import { GtidSet } from "../gtid/mysql.ts";

/**
 * Where a new stream begins. GTIDs name what is already there: the stream brings what is not. A file position is the start of a transaction. `now` is
 * whatever the source has executed when it is asked.
 */
export type StartPoint =
  | { kind: "mysql-gtid"; set: GtidSet }
  | { kind: "mariadb-gtid"; position: MariadbGtidPosition }
  | { kind: "file"; file: string; position: number }
  | { kind: "now" };

const HINT = "write uuid:1-5,… or 0-1-100,… or binlog.000003:4711 or now";
const UUID = "[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}";
const MYSQL_GTID = new RegExp(`^${UUID}:`);
const MARIADB_GTID = /^\d+-\d+-\d+$/;
/** Before the first event a binlog file has four magic bytes. */
const FIRST_POSITION = 4;

/** @throws ReplicationError CONFIG that quotes the text */
export function parseStartPoint(text: string): StartPoint {
  const trimmed = text.trim();
  if (trimmed === "now") return { kind: "now" };
  if (MYSQL_GTID.test(trimmed)) {
    const set = parsed(trimmed, () => GtidSet.parse(trimmed));
    // The server reads 5-1 as nothing: as a start it would mean everything from the beginning.
    if (set.isEmpty) throw noStartPoint(trimmed);
    return { kind: "mysql-gtid", set };
  }
  if (trimmed.split(",").every((part) => MARIADB_GTID.test(part.trim()))) {
    return { kind: "mariadb-gtid", position: parsed(trimmed, () => MariadbGtidPosition.parse(trimmed)) };
  }
  const match = /^(.+):(\d+)$/.exec(trimmed);
  if (match === null) throw noStartPoint(trimmed);
  const position = Number(match[2]);
  if (position < FIRST_POSITION || !Number.isSafeInteger(position)) {
    throw new ReplicationError("CONFIG", `${trimmed} cannot be a start: position ${match[2]} is in no binlog file`, {
      hint: `the first event of a file is at position ${FIRST_POSITION}`,
    });
  }
  return { kind: "file", file: match[1] as string, position };
}

/** As `parseStartPoint` reads it. */
export function describeStartPoint(start: StartPoint): string {
  switch (start.kind) {
    case "mysql-gtid":
      return start.set.toString();
    case "mariadb-gtid":
      return start.position.toString();
    case "file":
      return `${start.file}:${start.position}`;
    case "now":
      return "now";
    default:
      return unreachable(start);
  }
}

function parsed<T>(text: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw noStartPoint(text, cause);
  }
}

function noStartPoint(text: string, cause?: unknown): ReplicationError {
  return new ReplicationError("CONFIG", `${text} is no start point`, { hint: HINT, cause });
}
