import { assert } from "../../base/assert.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { SourcePosition } from "../../transaction/transaction.ts";
import type { TargetFacts } from "./target.ts";

/**
 * What a worker does, in order, to execute the body of a `mixed`, `ddl` or XA transaction.
 *
 * - `rows`: row events for one BINLOG statement or more ([Table_map, rows…]*). They leave the session's TIMESTAMP, foreign_key_checks and unique_checks
 *   changed: the builder knows.
 * - `statement`: run every `setup` statement, then `text`. `setup` is text to be sent in UTF-8, `text` are bytes in the event's character set.
 * - `load-data`: the same, and the session answers the server's LOCAL INFILE request with `data`.
 */
export type Step =
  | { kind: "rows"; events: Buffer[] }
  | StatementStep
  | {
      kind: "load-data";
      setup: string[];
      text: Buffer;
      data: Buffer[];
      /** An error number that the source itself met; 0 for none. The statement is right when the target answers the same. */
      expectedError: number;
    };

export interface StatementStep {
  kind: "statement";
  setup: string[];
  text: Buffer;
  expectedError: number;
  /** Undefined: the statement is part of the open transaction. Otherwise it commits by itself, and the worker must go by the intent protocol. */
  ddl: DdlFacts | undefined;
}

export interface DdlFacts {
  /** Schemas whose objects it may change: what schemaFingerprint has to look at. */
  schemas: string[];
  /** Users, roles or grants change: the fingerprint has to include accounts. */
  accounts: boolean;
  /** Running it a second time leaves the same as running it once (TRUNCATE, ANALYZE, IF [NOT] EXISTS, OR REPLACE…): no fingerprint is needed. */
  repeatable: boolean;
  /**
   * `CREATE TABLE … START TRANSACTION`: it opens a transaction in which only `rows` steps and COMMIT may follow (MySQL 8.0.21+): the checkpoint is written after
   * that COMMIT, guarded by the intent like a DDL. Otherwise rows that follow a DDL step are one transaction with the checkpoint, after the DDL.
   */
  opensTransaction: boolean;
  /** The statement for error messages and the log, passwords removed, cut to a readable length. */
  shown: string;
}

/** Turns bodies into steps for ONE session, whose settings it remembers so that only what changes is set. */
export class StepBuilder {
  constructor(_target: TargetFacts) {
    assert(false, "not written yet");
  }

  /**
   * The steps of these body events. A giant transaction may be pushed in several calls, cut anywhere; `last` on its last one.
   * @throws ReplicationError UNSUPPORTED before anything of the offending event ran
   */
  push(_events: readonly Buffer[], _about: { format: BinlogFormat; start: SourcePosition }, _last: boolean): Step[] {
    return [];
  }

  /** Must be called when a step failed, a transaction was rolled back or the session is a new one: nothing is known of its settings any more. */
  forget(): void {}

  /** Statements that bring the session back to what our own SQL expects (utf8mb4, default sql_mode, TIMESTAMP=DEFAULT, checks on); empty if it already is. */
  restore(): string[] {
    return [];
  }
}
