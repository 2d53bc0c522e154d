/**
 * One error type for everything an operator can meet, and one table of its codes (docs/errors.md is made from it).
 * Our own mistakes are not errors but failed assertions: see assert.ts.
 */

/** Whether doing the same thing again can help: `never`; `now` (a deadlock); `later` (with back-off, a lost connection). */
export type Retry = "never" | "now" | "later";

/** Every code with what it means and the default advice. The table is the documentation: keep a row readable. */
export const ERROR_CODES = {
  CONFIG: { retry: "never", means: "An option, environment variable or options file is wrong." },
  CONNECT: { retry: "later", means: "A server cannot be reached, or refused the connection." },
  CONNECTION_LOST: { retry: "later", means: "An established connection ended." },
  ACCESS_DENIED: { retry: "never", means: "User, password or a grant is missing." },
  DUPLICATE_SERVER_ID: {
    retry: "never",
    means: "Another replica of this source uses our server id or UUID.",
  },
  BINLOG_OFF: { retry: "never", means: "The source writes no binlog." },
  BINLOG_FORMAT: {
    retry: "never",
    means: "The source's binlog holds something that cannot be replicated safely.",
  },
  GTID_PURGED: { retry: "never", means: "The source no longer has transactions that we need." },
  POSITION_NOT_FOUND: {
    retry: "never",
    means: "The source has no such binlog file or position, or the position is no event's start.",
  },
  SOURCE: { retry: "never", means: "The source ended the stream with an error of its own." },
  CORRUPT_EVENT: { retry: "later", means: "A binlog event's bytes contradict themselves or its checksum." },
  UNKNOWN_EVENT: { retry: "never", means: "A binlog event of a type we do not know, not flagged ignorable." },
  GRAMMAR: { retry: "never", means: "Events came in an order that no transaction has." },
  UNSUPPORTED: { retry: "never", means: "The event is known, but cannot be applied on this target." },
  INCIDENT: { retry: "never", means: "The source logged that events may be missing from its binlog." },
  ENCRYPTED: { retry: "never", means: "The binlog file is encrypted." },
  RELAY_LOG: { retry: "never", means: "The relay log cannot be written or read." },
  DISK_FULL: { retry: "later", means: "No space is left for the relay log." },
  APPLY: { retry: "never", means: "The target refused a transaction." },
  APPLY_TEMPORARY: { retry: "now", means: "The target rolled a transaction back: deadlock or lock wait." },
  CONFLICT: { retry: "never", means: "A row to change is missing, or a row to insert is already there." },
  FENCED: { retry: "never", means: "Another engine applies this channel to this target." },
  CHECKPOINT: { retry: "never", means: "The checkpoint on the target is missing or contradicts the source." },
  NOT_EMPTY: { retry: "never", means: "The initial copy found tables already in the target." },
  SCHEMA_CHANGED: { retry: "never", means: "Something was defined anew on the source while it was being copied." },
  PREFLIGHT: { retry: "never", means: "The preflight found something unsafe." },
  SANDBOX: { retry: "never", means: "A local server cannot be fetched, started or stopped." },
  OUTPUT: { retry: "never", means: "Standard output, or a file that was asked for, cannot be written." },
  NOT_REACHED: { retry: "never", means: "The engine did not get to a place in the time that was given." },
  NOT_RUNNING: { retry: "never", means: "No engine answers at this place." },
  STOPPED: { retry: "never", means: "The work was ended on request." },
  DEFECT: { retry: "never", means: "A mistake in Abreast itself. Please report it with the whole message." },
} as const satisfies Record<string, { retry: Retry; means: string }>;

export type ErrorCode = keyof typeof ERROR_CODES;

/** Where it happened. Every field is optional; `position` is a byte offset in `file`. */
export interface Where {
  server?: string;
  file?: string;
  position?: number;
  gtid?: string;
  worker?: number;
  table?: string;
}

export interface ErrorDetails {
  retry?: Retry;
  where?: Where;
  /** One imperative sentence, shown after `Try:`. */
  hint?: string;
  cause?: unknown;
}

export class ReplicationError extends Error {
  readonly code: ErrorCode;
  readonly retry: Retry;
  readonly where: Where;
  readonly hint: string | undefined;

  constructor(code: ErrorCode, what: string, details: ErrorDetails = {}) {
    super(what, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = "ReplicationError";
    this.code = code;
    this.retry = details.retry ?? ERROR_CODES[code].retry;
    this.where = details.where ?? {};
    this.hint = details.hint;
  }

  /** The same error with more of `where` filled in; fields already known win. */
  at(where: Where): ReplicationError {
    return new ReplicationError(this.code, this.message, {
      retry: this.retry,
      where: { ...where, ...this.where },
      ...(this.hint === undefined ? {} : { hint: this.hint }),
      cause: this.cause,
    });
  }
}

/** `file mysql-bin.000003, position 4711, GTID …, worker 2`; empty when nothing is known. */
export function describeWhere(where: Where): string {
  const parts: string[] = [];
  if (where.server !== undefined) parts.push(`server ${where.server}`);
  if (where.table !== undefined) parts.push(`table ${where.table}`);
  if (where.file !== undefined) parts.push(`file ${where.file}`);
  if (where.position !== undefined) parts.push(`position ${where.position}`);
  if (where.gtid !== undefined) parts.push(`GTID ${where.gtid}`);
  if (where.worker !== undefined) parts.push(`worker ${where.worker}`);
  return parts.join(", ");
}

/** What the operator sees: what, where, `Try:`; one line each, the last two only when known. */
export function describeError(error: unknown): string {
  if (!(error instanceof ReplicationError)) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error);
  }
  const where = describeWhere(error.where);
  return [
    `${error.code}: ${error.message}`,
    ...(where === "" ? [] : [`  at ${where}`]),
    ...(error.hint === undefined ? [] : [`  Try: ${error.hint}`]),
  ].join("\n");
}
