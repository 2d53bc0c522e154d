import { BinlogStatementBuilder, formatStatement } from "../../src/apply/row-injection.ts";
import { StepBuilder, type Step } from "../../src/apply/statement/steps.ts";
import { readTargetFacts, type TargetFacts } from "../../src/apply/statement/target.ts";
import type { BinlogFormat } from "../../src/binlog/format.ts";
import { quoteName } from "../../src/schema/names.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import type { Transaction } from "../../src/transaction/transaction.ts";
import { Session } from "../../src/wire/session.ts";
import { SqlError } from "../../src/wire/sql-error.ts";
import { assembleFiles, binlogFiles } from "./assemble.ts";

/**
 * The least that executes a source's binlog on a target: every transaction after the first `skip`, in order, on one session, without checkpoints.
 * Returns how many transactions the source's files hold.
 */
export async function replay(source: SandboxServer, target: SandboxServer, skip = 0): Promise<number> {
  const { transactions } = assembleFiles(await binlogFiles(source));
  const session = await openSession(target);
  try {
    const player = new Player(session, await readTargetFacts(rowsOf(session)));
    for (const transaction of transactions.slice(skip)) await player.play(transaction);
  } finally {
    await session.close();
  }
  return transactions.length;
}

export const openSession = (server: SandboxServer): Promise<Session> =>
  Session.connect(server.address, { localFiles: true });

export const rowsOf = (session: Session): { rows: (sql: string) => Promise<(string | null)[][]> } => ({
  rows: async (sql) => (await session.execute(sql)).at(-1)?.rows ?? [],
});

/** Runs the statements one after another in one session. */
export async function runAll(server: SandboxServer, statements: readonly (string | Buffer)[]): Promise<void> {
  const session = await openSession(server);
  try {
    for (const statement of statements) await session.execute(statement);
  } finally {
    await session.close();
  }
}

class Player {
  readonly #session: Session;
  readonly #facts: TargetFacts;
  readonly #builder: StepBuilder;
  #format: BinlogFormat | undefined;

  constructor(session: Session, facts: TargetFacts) {
    this.#session = session;
    this.#facts = facts;
    this.#builder = new StepBuilder(facts);
  }

  async play(transaction: Transaction): Promise<void> {
    const events = "events" in transaction.body ? transaction.body.events : [];
    const steps = this.#builder.push(events, transaction, true);
    if (steps.length === 0) return;
    await this.#useFormat(transaction.format);
    let open = false;
    for (const step of steps) {
      const ddl = step.kind === "statement" ? step.ddl : undefined;
      if (ddl === undefined && !open) await this.#session.execute("BEGIN");
      open = ddl === undefined || ddl.opensTransaction;
      await this.#run(step, transaction.format);
    }
    if (open) await this.#session.execute(transaction.ending === "rollback" ? "ROLLBACK" : "COMMIT");
  }

  async #useFormat(format: BinlogFormat): Promise<void> {
    if (format === this.#format) return;
    this.#format = format;
    await this.#session.execute(formatStatement(format, this.#facts.flavour));
    if (this.#facts.flavour === "mysql") await this.#session.execute("SET GTID_NEXT='AUTOMATIC'");
    else await this.#session.execute("SET binlog_annotate_row_events=OFF");
  }

  async #run(step: Step, format: BinlogFormat): Promise<void> {
    if (step.kind === "rows") {
      const builder = new BinlogStatementBuilder({
        source: format.flavour,
        target: this.#facts.flavour,
        bytesMax: 1 << 20,
      });
      const statements = step.events.flatMap((event) => [builder.add(event) ?? []]);
      for (const statement of [...statements, builder.finish() ?? []]) {
        if (statement.length > 0) await this.#session.execute(statement);
      }
      return;
    }
    for (const sql of step.setup) await this.#session.execute(sql);
    try {
      if (step.kind === "load-data") await this.#session.executeWithFile(step.text, step.data);
      else await this.#session.execute(step.text);
    } catch (error) {
      if (!(error instanceof SqlError) || error.sqlCode !== step.expectedError) throw error;
    }
  }
}

/** Rows of every base table of a schema, in the order of all columns, as the server prints them; tables by name. */
export async function contents(server: SandboxServer, schema: string): Promise<Record<string, (string | null)[][]>> {
  const session = await openSession(server);
  try {
    const { rows } = rowsOf(session);
    await session.execute("SET time_zone='+00:00'");
    const found: Record<string, (string | null)[][]> = {};
    const tables = await rows(
      `SELECT TABLE_NAME FROM information_schema.TABLES WHERE TABLE_SCHEMA='${schema}' AND TABLE_TYPE='BASE TABLE' ORDER BY 1`,
    );
    for (const [table] of tables) {
      const columns = await rows(
        `SELECT COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT FROM information_schema.COLUMNS WHERE TABLE_SCHEMA='${schema}' AND TABLE_NAME='${table}' ORDER BY ORDINAL_POSITION`,
      );
      const names = columns.map(([name]) => `HEX(${quoteName(name ?? "")})`).join(",");
      const order = columns.map((_, i) => i + 1).join(",");
      found[String(table)] = [
        columns.map(([name, type, nullable]) => `${name} ${plainType(type ?? "")} ${nullable}`),
        ...(await rows(`SELECT ${names} FROM \`${schema}\`.${quoteName(table ?? "")} ORDER BY ${order}`)),
      ];
    }
    return found;
  } finally {
    await session.close();
  }
}

/** Routines, triggers, views, events and keys of a schema, and the schema's own defaults, one line each; sql_mode without what only one of the servers calls a mode. */
export async function definitions(server: SandboxServer, schema: string): Promise<(string | null)[][]> {
  const session = await openSession(server);
  try {
    const { rows } = rowsOf(session);
    const parts = [
      `'schema',REPLACE(CONCAT(DEFAULT_CHARACTER_SET_NAME,';'),'utf8;','utf8mb3;') FROM information_schema.SCHEMATA WHERE SCHEMA_NAME`,
      `ROUTINE_NAME,ROUTINE_TYPE,ROUTINE_DEFINITION,DEFINER,SECURITY_TYPE,REPLACE(REPLACE(REPLACE(SQL_MODE,'NO_AUTO_CREATE_USER,',''),',TIME_TRUNCATE_FRACTIONAL',''),',TIME_ROUND_FRACTIONAL','') FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA`,
      `TRIGGER_NAME,EVENT_MANIPULATION,ACTION_STATEMENT,ACTION_TIMING,DEFINER FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA`,
      `TABLE_NAME,DEFINER,SECURITY_TYPE,CHECK_OPTION FROM information_schema.VIEWS WHERE TABLE_SCHEMA`,
      `EVENT_NAME,DEFINER,EVENT_DEFINITION,INTERVAL_VALUE,INTERVAL_FIELD,EVENT_COMMENT FROM information_schema.EVENTS WHERE EVENT_SCHEMA`,
      `TABLE_NAME,INDEX_NAME,SEQ_IN_INDEX,COLUMN_NAME,NON_UNIQUE FROM information_schema.STATISTICS WHERE TABLE_SCHEMA`,
    ];
    const found: (string | null)[][] = [];
    for (const part of parts)
      found.push(
        ...(await rows(`SELECT ${part}='${schema}' ORDER BY 1,2,3`.replace(/(FROM .*SCHEMATA.*) ORDER.*/, "$1"))),
      );
    return found;
  } finally {
    await session.close();
  }
}

/** Display widths of integers are gone in newer servers. */
const plainType = (type: string): string => type.replace(/^((?:big|small|medium|tiny)?int|year)\(\d+\)/, "$1");
