import { ReplicationError } from "../../base/error.ts";
import { EVENT_TYPE, eventTypeName } from "../../binlog/event-type.ts";
import { eventFlags, eventTimestamp, eventType } from "../../binlog/event.ts";
import { decodeIntvar } from "../../binlog/events/intvar.ts";
import { decodeDeleteFile, decodeExecuteLoadQuery } from "../../binlog/events/load-data.ts";
import { decodeQuery, type QueryEvent } from "../../binlog/events/query.ts";
import { decodeRand } from "../../binlog/events/rand.ts";
import { isRowsType, ROWS_FLAG, rowsFlags } from "../../binlog/events/rows.ts";
import { decodeUserVar } from "../../binlog/events/user-var.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import type { SourcePosition } from "../../transaction/transaction.ts";
import { classify, type StatementClass, withoutSettings } from "./classify.ts";
import { characterSetOnTarget } from "./collations.ts";
import { ContextState, inUtf8, sessionContextSql, type StatementContext, utf8mb4Collation } from "./context.ts";
import {
  dropsOnlyWhatIsThere,
  fixedUtf8mb4Collation,
  mentionsCollation,
  showStatement,
  translateDdl,
  translateDml,
  type TranslateContext,
} from "./ddl-translate.ts";
import { lex, type LexContext, type Token } from "./lexer.ts";
import { LoadedFiles, localLoadData } from "./load-data.ts";
import { serverKind, type ServerKind, type TargetFacts } from "./target.ts";
import { setUserVariable } from "./user-variable.ts";

/**
 * What a worker does, in order, to execute the body of a `mixed`, `ddl` or XA transaction.
 *
 * - `rows`: row events for one BINLOG statement or more ([Table_map, rows…]*); a source's statement that is cut by `push` has its table maps again in the
 *   next step. They leave the session's TIMESTAMP, foreign_key_checks and unique_checks
 *   changed: the builder knows.
 * - `statement`: run every `setup` statement, then `text`. `setup` is text to be sent in UTF-8, `text` are bytes in the event's character set.
 * - `load-data`: the same, and the session answers the server's LOCAL INFILE request with `data`.
 */
export type Step = { kind: "rows"; events: Buffer[] } | StatementStep | LoadDataStep;

interface ExecutedStep {
  setup: string[];
  text: Buffer;
  /** An error number that the source itself met; 0 for none. The statement is right when the target answers the same. */
  expectedError: number;
  /** The statement for error messages and the log, passwords removed, cut to a readable length. */
  shown: string;
}

export interface StatementStep extends ExecutedStep {
  kind: "statement";
  /** Undefined: the statement is part of the open transaction. Otherwise it commits by itself, and the worker must go by the intent protocol. */
  ddl: DdlFacts | undefined;
}

export interface LoadDataStep extends ExecutedStep {
  kind: "load-data";
  data: Buffer[];
}

export interface DdlFacts {
  /** Schemas whose objects it may change: what schemaFingerprint has to look at. */
  schemas: string[];
  /** Users, roles or grants change: the fingerprint has to include accounts. */
  accounts: boolean;
  /**
   * When a former engine was killed between the statement and its checkpoint: the fingerprint differs from the intent's when it had
   * run or, with several objects, begun. `repeat`: run it again, it does no harm; no intent is needed. `compare`: with another fingerprint it is done. `tolerate`: with
   * another fingerprint it may be half done: run it again and take the errors of `alreadyDone` for success.
   */
  resume: StatementClass["resume"];
  /**
   * `CREATE TABLE … START TRANSACTION`: it opens a transaction in which only `rows` steps and COMMIT may follow (MySQL 8.0.21+): the checkpoint is written after
   * that COMMIT, guarded by the intent like a DDL. Otherwise rows that follow a DDL step are one transaction with the checkpoint, after the DDL.
   */
  opensTransaction: boolean;
}

/** Errors that say that the source ended the statement in its middle: what it had done until then is unknown (`check_expected_error`, sql/log_event.cc). */
const INTERRUPTED = new Set([1053, 1158, 1160, 1184, 1317, 1927]);

/**
 * Turns bodies into steps for ONE session, whose settings it remembers so that only what changes is set.
 *
 * Invariant: the steps are executed in order, on that session, each `setup` whole before its `text`. When a step failed, or someone else changed settings, `forget`
 * must be called: otherwise the next statement runs with settings that the session does not have.
 */
export class StepBuilder {
  readonly #target: TargetFacts;
  readonly #state = new ContextState();
  readonly #files = new LoadedFiles();
  /** SET statements for the next statement alone: INSERT_ID, user variables, … */
  #before: string[] = [];
  #rows: Buffer[] = [];
  /** Table maps of the source's statement whose rows are being read; it may be cut between two rows steps. */
  #tableMaps: Buffer[] = [];
  #statementEnded = true;
  #source: { format: BinlogFormat; kind: ServerKind } | undefined;

  constructor(target: TargetFacts) {
    this.#target = target;
  }

  /**
   * The steps of these body events. A giant transaction may be pushed in several calls, cut anywhere; `last` on its last one.
   * @throws ReplicationError UNSUPPORTED before anything of the offending event ran
   */
  push(events: Iterable<Buffer>, about: { format: BinlogFormat; start: SourcePosition }, last: boolean): Step[] {
    const steps: Step[] = [];
    try {
      for (const event of events) this.#event(event, about.format, steps);
    } catch (error) {
      this.forget();
      throw error instanceof ReplicationError ? error.at(about.start) : error;
    }
    this.#flushRows(steps);
    if (last) {
      this.#before = [];
      this.#files.clear();
    }
    return steps;
  }

  /** Must be called when a step failed, a transaction was rolled back or the session is a new one: nothing is known of its settings any more. */
  forget(): void {
    this.#state.forget();
    this.#before = [];
    this.#rows = [];
    this.#tableMaps = [];
    this.#statementEnded = true;
    this.#files.clear();
  }

  #event(event: Buffer, format: BinlogFormat, steps: Step[]): void {
    const type = eventType(event);
    if (type === EVENT_TYPE.TABLE_MAP) return this.#tableMap(event);
    if (isRowsType(type)) return this.#rowEvent(event, format);
    this.#flushRows(steps);
    switch (type) {
      case EVENT_TYPE.INTVAR: {
        const { variable, value } = decodeIntvar(event, format);
        this.#before.push(`SET ${variable === "insert-id" ? "INSERT_ID" : "LAST_INSERT_ID"}=${value}`);
        break;
      }
      case EVENT_TYPE.RAND: {
        const { seed1, seed2 } = decodeRand(event, format);
        this.#before.push(`SET @@RAND_SEED1=${seed1},@@RAND_SEED2=${seed2}`);
        break;
      }
      case EVENT_TYPE.USER_VAR: {
        const variable = setUserVariable(decodeUserVar(event, format), this.#sourceKind(format), this.#target);
        this.#before.push(...inUtf8(variable, this.#state));
        break;
      }
      case EVENT_TYPE.BEGIN_LOAD_QUERY:
      case EVENT_TYPE.APPEND_BLOCK:
        this.#files.block(event, format);
        break;
      case EVENT_TYPE.DELETE_FILE:
        this.#files.drop(decodeDeleteFile(event, format).fileId);
        break;
      case EVENT_TYPE.EXECUTE_LOAD_QUERY:
        steps.push(this.#loadData(event, format));
        break;
      case EVENT_TYPE.QUERY:
        steps.push(...this.#statement(event, format));
        break;
      default:
        throw new ReplicationError(
          "UNSUPPORTED",
          `a ${eventTypeName(type, format.flavour)} event cannot be applied: servers since 5.0 do not write it`,
        );
    }
  }

  #tableMap(event: Buffer): void {
    if (this.#statementEnded) this.#tableMaps = [];
    this.#statementEnded = false;
    this.#tableMaps.push(event);
    this.#rows.push(event);
  }

  #rowEvent(event: Buffer, format: BinlogFormat): void {
    if (this.#rows.length === 0) this.#rows.push(...this.#tableMaps);
    this.#rows.push(event);
    this.#statementEnded = (rowsFlags(event, format) & ROWS_FLAG.STATEMENT_END) !== 0;
  }

  #flushRows(steps: Step[]): void {
    if (this.#rows.length === 0) return;
    steps.push({ kind: "rows", events: this.#rows });
    this.#rows = [];
    this.#state.forgetAfterRows();
  }

  #sourceKind(format: BinlogFormat): ServerKind {
    if (this.#source?.format !== format) this.#source = { format, kind: serverKind(format.serverVersion) };
    return this.#source.kind;
  }

  #statement(event: Buffer, format: BinlogFormat): StatementStep[] {
    const query = decodeQuery(event, format);
    const source = this.#sourceKind(format);
    const context = contextOf(event, query, source);
    const lexContext = lexContextOf(query, source, this.#target);
    const found = classify(withoutSettings(lex(query.sql, lexContext)));
    const tokens = found.commits ? [...withoutSettings(lex(query.sql, lexContext))] : [];
    const shown = showStatement(query.sql, tokens);
    refuseInterrupted(query, shown);
    const translate: TranslateContext = {
      source,
      target: this.#target,
      lex: lexContext,
      invoker: invokerOf(query),
      utf8mb4Collation: unsaidUtf8mb4(context, this.#target),
      shown,
    };
    const texts = found.commits
      ? translateDdl(query.sql, tokens, translate)
      : [this.#translateDml(query.sql, lexContext, translate)];
    const setup = this.#setup(context, needsOf(found, tokens, shown));
    if (dropsSchema(tokens)) this.#state.schema = undefined;
    return texts.map((text, i) => ({
      kind: "statement",
      setup: i === 0 ? setup : [],
      text,
      // With IF EXISTS the target meets no error of what was not there.
      expectedError: dropsOnlyWhatIsThere(tokens, source) ? 0 : query.errorCode,
      shown,
      ddl: found.commits ? ddlFacts(found, query, lexContext) : undefined,
    }));
  }

  #translateDml(sql: Buffer, lexContext: LexContext, translate: TranslateContext): Buffer {
    return mentionsCollation(sql) ? translateDml(sql, lex(sql, lexContext), translate) : sql;
  }

  #loadData(event: Buffer, format: BinlogFormat): LoadDataStep {
    const load = decodeExecuteLoadQuery(event, format);
    const data = this.#files.take(load.fileId);
    const query: QueryEvent = { ...load, kind: "query" };
    const shown = showStatement(load.sql, []);
    refuseInterrupted(query, shown);
    const setup = this.#setup(contextOf(event, query, this.#sourceKind(format)), {
      connectionCollation: true,
      serverCollation: false,
      definition: false,
      shown,
    });
    return { kind: "load-data", setup, text: localLoadData(load), data, expectedError: load.errorCode, shown };
  }

  #setup(context: StatementContext, needs: Parameters<typeof sessionContextSql>[1]): string[] {
    const setup = [...this.#before, ...sessionContextSql(context, needs, this.#state, this.#target)];
    this.#before = [];
    return setup;
  }
}

const contextOf = (event: Buffer, query: QueryEvent, source: ServerKind): StatementContext => ({
  source,
  timestamp: eventTimestamp(event),
  flags: eventFlags(event),
  threadId: query.threadId,
  schema: query.schema,
  status: query.status,
});

const ANSI_QUOTES = 4n;
const NO_BACKSLASH_ESCAPES = 1_048_576n;

function lexContextOf({ status }: QueryEvent, source: ServerKind, target: TargetFacts): LexContext {
  const sqlMode = status.sqlMode ?? 0n;
  return {
    ansiQuotes: (sqlMode & ANSI_QUOTES) !== 0n,
    noBackslashEscapes: (sqlMode & NO_BACKSLASH_ESCAPES) !== 0n,
    characterSet: characterSetOnTarget(status.characterSetClient ?? 33, source, target) ?? "utf8mb3",
    server: target,
  };
}

function refuseInterrupted(query: QueryEvent, shown: string): void {
  if (!INTERRUPTED.has(query.errorCode)) return;
  throw new ReplicationError(
    "UNSUPPORTED",
    `the source ended this statement in its middle (error ${query.errorCode}), and what it had changed until then cannot be known: ${shown}`,
    { hint: "compare the tables with verify, repair what differs, then start behind this statement" },
  );
}

const invokerOf = ({ status }: QueryEvent): TranslateContext["invoker"] =>
  status.invokerUser === undefined ? undefined : { user: status.invokerUser, host: status.invokerHost ?? "" };

/** The collation that has to be written into the text, since the target takes bare utf8mb4 for another one and no variable changes that. */
function unsaidUtf8mb4(context: StatementContext, target: TargetFacts): string | undefined {
  const wanted = utf8mb4Collation(context);
  const fixed = fixedUtf8mb4Collation(target);
  if (fixed !== undefined) return wanted === fixed ? undefined : wanted;
  // MySQL's variable knows only its own two defaults; MariaDB's takes any.
  if (target.flavour === "mariadb") return undefined;
  return /^utf8mb4_(general_ci|0900_ai_ci|uca1400_nopad_ai_ci)$/.test(wanted) ? undefined : wanted;
}

const CREATES_CODE = new Set("PROCEDURE FUNCTION TRIGGER EVENT VIEW SELECT".split(" "));

function needsOf(
  found: StatementClass,
  tokens: readonly Token[],
  shown: string,
): Parameters<typeof sessionContextSql>[1] {
  const words = tokens.filter(({ kind }) => kind === "word").map(({ text }) => text);
  const aboutSchema = words.slice(1, 3).some((word) => word === "DATABASE" || word === "SCHEMA");
  return {
    connectionCollation: !found.commits || words.some((word) => CREATES_CODE.has(word)),
    serverCollation:
      aboutSchema && words[0] !== "DROP" && !words.some((word) => /^(COLLATE|CHARSET|CHARACTER)$/.test(word)),
    definition: found.commits,
    shown,
  };
}

/** Without its schema the session has none, whatever USE said before. */
const dropsSchema = (tokens: readonly Token[]): boolean =>
  tokens[0]?.text === "DROP" && (tokens[1]?.text === "DATABASE" || tokens[1]?.text === "SCHEMA");

function ddlFacts(found: StatementClass, query: QueryEvent, { characterSet }: LexContext): DdlFacts {
  const isUtf8 = characterSet.startsWith("utf8");
  const { updatedSchemas } = query.status;
  const schemas = new Set(found.schemas.map((name) => (isUtf8 ? Buffer.from(name, "latin1").toString("utf8") : name)));
  if (query.schema !== "") schemas.add(query.schema);
  if (updatedSchemas !== undefined && updatedSchemas !== "*") for (const schema of updatedSchemas) schemas.add(schema);
  return {
    schemas: [...schemas],
    accounts: found.accounts,
    resume: found.resume,
    opensTransaction: found.opensTransaction,
  };
}
