import { quoteText } from "../schema/names.ts";
import type { Session } from "../wire/session.ts";
import { SqlError } from "../wire/sql-error.ts";
import type { Check } from "./report.ts";

const TABLES_SHOWN_MAX = 10;

/** Collects what the checks of one server find. What the user may not look at is a finding too, never the end. */
export class Findings {
  readonly checks: Check[] = [];
  readonly #where: string;

  constructor(where: string) {
    this.#where = where;
  }

  ok(id: string, what: string): void {
    this.checks.push({ id, level: "ok", what, where: this.#where });
  }

  warning(id: string, what: string, remedy: string, where = this.#where): void {
    this.checks.push({ id, level: "warning", what, where, remedy });
  }

  error(id: string, what: string, remedy: string, where = this.#where): void {
    this.checks.push({ id, level: "error", what, where, remedy });
  }

  /** Runs a check; a statement that is denied becomes a warning with the missing grant. */
  async look(id: string, session: Session, check: () => Promise<void> | void): Promise<void> {
    try {
      await check();
    } catch (error) {
      if (!(error instanceof SqlError) || error.code === "CONNECTION_LOST") throw error;
      const remedy = await grantFor(session, error);
      this.warning(id, `could not be checked: ${error.message}`, remedy ?? "check it as a user who may look");
    }
  }
}

/** `a.t, a.u and 3 more` */
export function listed(names: readonly string[]): string {
  const shown = names.slice(0, TABLES_SHOWN_MAX).join(", ");
  return names.length > TABLES_SHOWN_MAX ? `${shown} and ${names.length - TABLES_SHOWN_MAX} more` : shown;
}

/** `1 table`, `3 tables` */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** `'user'@'host'` of the session's account, for a GRANT. */
export async function accountOf(session: Session): Promise<string> {
  const account = (await session.queryValue("SELECT CURRENT_USER()")) ?? "";
  const at = account.lastIndexOf("@");
  return `${quoteText(account.slice(0, at))}@${quoteText(account.slice(at + 1))}`;
}

/** The least of several privileges of which one would do, smallest first. */
const SMALLEST_FIRST = [
  "REPLICATION_APPLIER",
  "SESSION_VARIABLES_ADMIN",
  "BINLOG REPLAY",
  "BINLOG ADMIN",
  "BINLOG MONITOR",
  "SLAVE MONITOR",
  "REPLICATION CLIENT",
  "FLUSH_TABLES",
  "RELOAD",
];

/** The GRANT that a denied statement asks for in its own words: `you need (at least one of) the A, B or C privilege(s)` (error 1227). */
export async function grantFor(session: Session, error: SqlError): Promise<string | undefined> {
  const privileges = privilegesAskedFor(error.message);
  const privilege = SMALLEST_FIRST.find((name) => privileges.includes(name)) ?? privileges.at(-1);
  return privilege === undefined ? undefined : `GRANT ${privilege} ON *.* TO ${await accountOf(session)}`;
}

export function privilegesAskedFor(message: string): string[] {
  const list = /\(at least one of\) the (.+?) privilege\(s\)/.exec(message)?.[1];
  return list === undefined ? [] : list.split(/, | or /);
}
