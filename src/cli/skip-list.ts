import { ReplicationError } from "../base/error.ts";
import { formatMariadbGtid, parseMariadbGtid } from "../gtid/mariadb.ts";
import { GtidSet } from "../gtid/mysql.ts";

const HINT = "name them like uuid:5, uuid:5-9, 0-1-100 or binlog.000003:4711, with commas between them";
/** Somebody who names more than these means something else, and would lose it. */
const TRANSACTIONS_MAX = 10_000;
const MARIADB_GTID = /^\d+-\d+-\d+$/;
const PLACE = /^([^\s:]+\.\d+):0*(\d+)$/;

/**
 * The transactions that a list names, each by the one name that the engine knows it by: `uuid:gno`, `uuid:tag:gno`, `domain-server-sequence` or `file:position`.
 * @throws ReplicationError CONFIG with a hint on how to write it
 */
export function parseSkipList(text: string): string[] {
  const names = text.split(",").flatMap((part) => namesOf(part.trim()));
  if (names.length > TRANSACTIONS_MAX) throw tooMany();
  return [...new Set(names)];
}

function namesOf(part: string): string[] {
  const [, file, position] = PLACE.exec(part) ?? [];
  if (file !== undefined && position !== undefined) return [`${file}:${position}`];
  if (MARIADB_GTID.test(part)) return [formatMariadbGtid(read(part, () => parseMariadbGtid(part)))];
  const set = read(part, () => GtidSet.parse(part));
  if (set.isEmpty) throw unreadable(part);
  if (set.size > TRANSACTIONS_MAX) throw tooMany();
  return set.entries().flatMap(([uuid, tag, intervals]) => {
    const series = tag === "" ? uuid : `${uuid}:${tag}`;
    return intervals.flatMap(({ first, last }) =>
      Array.from({ length: Number(last - first) + 1 }, (_, i) => `${series}:${first + BigInt(i)}`),
    );
  });
}

function read<T>(part: string, parse: () => T): T {
  try {
    return parse();
  } catch (cause) {
    throw unreadable(part, cause);
  }
}

function unreadable(part: string, cause?: unknown): ReplicationError {
  return new ReplicationError("CONFIG", `"${part}" names no transaction`, { hint: HINT, cause });
}

function tooMany(): ReplicationError {
  return new ReplicationError("CONFIG", "that is too many", {
    hint: `name at most ${TRANSACTIONS_MAX} transactions; to begin further on, use --start-from with a new channel`,
  });
}
