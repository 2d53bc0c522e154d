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

/**
 * Takes the source's word where it is as good as ours: `logical-clock` from MySQL 8.4 on, where WRITESET is the only tracking left; `writeset` for any other source, whose
 * clock counts group commits or which has none. Until it has seen a server: `writeset`, which suits all.
 */
export function autoPolicy(options: WritesetOptions): AutoPolicy {
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
      const choice = choose(flavour, serverVersion);
      if (choice !== policy.name) policy = choice === "writeset" ? writesetPolicy(options) : logicalClockPolicy();
    },
    dependencies: (transaction) => policy.dependencies(transaction),
  };
}

/** The choice and its reason in one sentence, for the log and the status. */
export function explainChoice(flavour: Flavour, serverVersion: string): string {
  const server = `${flavour === "mysql" ? "MySQL" : "MariaDB"} ${/^[\d.]+/.exec(numberOf(serverVersion))?.[0] ?? serverVersion}`;
  if (choose(flavour, serverVersion) === "logical-clock")
    return `Policy logical-clock: the logical clock of ${server} counts writesets already.`;
  const why =
    flavour === "mariadb"
      ? "tells group commits only"
      : atLeast(serverVersion, 5, 7)
        ? "may count group commits only"
        : "writes no logical clock";
  return `Policy writeset: ${server} ${why}, so what depends on what is computed here from the rows.`;
}

const choose = (flavour: Flavour, serverVersion: string): Choice =>
  flavour === "mysql" && atLeast(serverVersion, 8, 4) ? "logical-clock" : "writeset";

function atLeast(serverVersion: string, major: number, minor: number): boolean {
  const [itsMajor = 0, itsMinor = 0] = serverVersion.split(".").map((part) => Number.parseInt(part, 10) || 0);
  return itsMajor > major || (itsMajor === major && itsMinor >= minor);
}

/** Older MariaDB servers put 5.5.5- before their own number, for replicas that would take a first digit of 10 for 1. */
const numberOf = (serverVersion: string): string => serverVersion.replace(/^5\.5\.5-(?=\d+\.)/, "");
