import type { Policy } from "../policy.ts";
import { logicalClockPolicy } from "./logical-clock.ts";
import { writesetPolicy, type WritesetOptions } from "./writeset.ts";

type Flavour = "mysql" | "mariadb";
type Choice = "logical-clock" | "writeset";

/** `auto` must hear which server wrote the log, before the first transaction and whenever that changes. */
export interface AutoPolicy extends Policy {
  /**
   * @param serverVersion of the server whose binlog it is, as the server or a format description event tells it: `8.4.5`, `10.11.19-MariaDB-log`.
   * When the choice changes, the new policy knows nothing of former transactions, and its first one waits for all of them.
   */
  see(flavour: Flavour, serverVersion: string): void;
}

export interface AutoOptions extends WritesetOptions {
  /** Runs are packed and committed in the source's order: with a backlog one session then carries nearly all, whatever the policy. */
  packed?: boolean;
}

/**
 * Takes the source's word where it is as good as ours: `logical-clock` from MySQL 8.4 on, where WRITESET is the only tracking left. While runs are packed in order any clock is good
 * enough, and costs nothing: also that of MySQL 5.7 and 8.0, and MariaDB's group commits. `writeset` for all else. Until it has seen a server: `writeset`, which suits all.
 */
export function autoPolicy(options: AutoOptions): AutoPolicy {
  const packed = options.packed ?? false;
  let policy = writesetPolicy(options);
  return {
    get name() {
      return policy.name;
    },
    get needsWriteset() {
      return policy.needsWriteset;
    },
    get speculative() {
      return policy.speculative;
    },
    see(flavour, serverVersion) {
      const choice = choose(flavour, serverVersion, packed);
      if (choice !== policy.name) policy = choice === "writeset" ? writesetPolicy(options) : logicalClockPolicy();
    },
    dependencies: (transaction) => policy.dependencies(transaction),
  };
}

/** The choice and its reason in one sentence, for the log and the status. */
export function explainChoice(flavour: Flavour, serverVersion: string, packed = false): string {
  const server = `${flavour === "mysql" ? "MySQL" : "MariaDB"} ${/^[\d.]+/.exec(numberOf(serverVersion))?.[0] ?? serverVersion}`;
  if (countsWritesets(flavour, serverVersion)) {
    return `Policy logical-clock: the logical clock of ${server} counts writesets already.`;
  }
  const tells =
    flavour === "mariadb"
      ? "tells group commits only"
      : hasClock(flavour, serverVersion)
        ? "may count group commits only"
        : "writes no logical clock";
  return choose(flavour, serverVersion, packed) === "logical-clock"
    ? `Policy logical-clock: ${server} ${tells}, which is enough while runs are packed in order.`
    : `Policy writeset: ${server} ${tells}, so what depends on what is computed here from the rows.`;
}

const choose = (flavour: Flavour, serverVersion: string, packed: boolean): Choice =>
  countsWritesets(flavour, serverVersion) || (packed && hasClock(flavour, serverVersion))
    ? "logical-clock"
    : "writeset";

const countsWritesets = (flavour: Flavour, serverVersion: string): boolean =>
  flavour === "mysql" && atLeast(serverVersion, 8, 4);

const hasClock = (flavour: Flavour, serverVersion: string): boolean =>
  flavour === "mariadb" || atLeast(serverVersion, 5, 7);

function atLeast(serverVersion: string, major: number, minor: number): boolean {
  const [itsMajor = 0, itsMinor = 0] = serverVersion.split(".").map((part) => Number.parseInt(part, 10) || 0);
  return itsMajor > major || (itsMajor === major && itsMinor >= minor);
}

/** Older MariaDB servers put 5.5.5- before their own number, for replicas that would take a first digit of 10 for 1. */
const numberOf = (serverVersion: string): string => serverVersion.replace(/^5\.5\.5-(?=\d+\.)/, "");
