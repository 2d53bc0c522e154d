export type CheckLevel = "ok" | "warning" | "error";

export interface Check {
  /** Stable, for scripts: `source-binlog-format`. */
  id: string;
  level: CheckLevel;
  /** What was found, one sentence. */
  what: string;
  /** The server, or the tables it is about. */
  where: string;
  /** Of a check that is not ok: a statement to run where there is one, else what to do. */
  remedy?: string;
}

export interface PreflightReport {
  /** No check is an error. */
  ok: boolean;
  checks: Check[];
}

/** What is going to be done, as far as it decides what is needed. */
export interface PreflightOptions {
  /** An initial copy comes first. */
  init?: boolean;
  /** Of the engine; undefined: not known yet. */
  serverId?: number | undefined;
  gtid?: "own" | "preserve";
  semiSync?: boolean;
  /** The stream begins at a former point of the source: the target's tables may be what the source's were then. */
  behind?: boolean;
}
