import { ReplicationError } from "../base/error.ts";
import { NOT_SYSTEM_SCHEMA, quoteName, quoteText } from "../schema/names.ts";
import type { Session } from "../wire/session.ts";
import { SqlError } from "../wire/sql-error.ts";

/** A view, trigger, routine or event. */
export interface StoredObject {
  kind: "view" | "trigger" | "procedure" | "function" | "event";
  schema: string;
  name: string;
  /** In the bytes of the character set that its author's client had. */
  statement: Buffer;
  /** What it was made under; empty where the kind has none. */
  sqlMode: string;
  characterSetClient: string;
  collationConnection: string;
  timeZone: string;
}

type Raw = Map<string, Buffer | null>;

/** Reads all of them, in an order in which they can be made again: routines (views and triggers may call them), views, triggers, events. */
export async function readStoredObjects(session: Session): Promise<{ objects: StoredObject[]; warnings: string[] }> {
  const objects: StoredObject[] = [];
  const warnings: string[] = [];
  const add = async (kind: StoredObject["kind"], schema: string, name: string): Promise<void> => {
    const full = `${quoteName(schema)}.${quoteName(name)}`;
    let row: Raw | undefined;
    try {
      [row] = await rawRows(session, `SHOW CREATE ${kind.toUpperCase()} ${full}`);
    } catch (error) {
      // A view on a table that is gone (1356), or a body that may not be seen.
      if (!(error instanceof SqlError)) throw error;
      warnings.push(`${kind} ${schema}.${name} is not copied: ${error.message}`);
      return;
    }
    const column = kind === "trigger" ? "SQL Original Statement" : `Create ${kind[0]?.toUpperCase()}${kind.slice(1)}`;
    const statement = row?.get(column);
    if (row === undefined || statement === undefined || statement === null) {
      warnings.push(`${kind} ${schema}.${name} is not copied: the user may not see its body`);
      return;
    }
    const text = (name: string): string => row.get(name)?.toString("utf8") ?? "";
    objects.push({
      kind,
      schema,
      name,
      statement: Buffer.from(statement),
      sqlMode: text("sql_mode"),
      characterSetClient: text("character_set_client"),
      collationConnection: text("collation_connection"),
      timeZone: text("time_zone"),
    });
  };
  const routines = await session.query(
    `SELECT ROUTINE_SCHEMA AS s, ROUTINE_NAME AS n, ROUTINE_TYPE AS k FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA ${NOT_SYSTEM_SCHEMA} ` +
      "ORDER BY 1, 3, 2",
  );
  for (const row of routines) {
    const kind = (row["k"] ?? "").toLowerCase();
    if (kind === "procedure" || kind === "function") await add(kind, row["s"] ?? "", row["n"] ?? "");
    else warnings.push(`${kind} ${row["s"]}.${row["n"]} is not copied`);
  }
  const lists: ["view" | "trigger" | "event", string][] = [
    [
      "view",
      `SELECT TABLE_SCHEMA AS s, TABLE_NAME AS n FROM information_schema.VIEWS WHERE TABLE_SCHEMA ${NOT_SYSTEM_SCHEMA} ORDER BY 1, 2`,
    ],
    [
      "trigger",
      "SELECT TRIGGER_SCHEMA AS s, TRIGGER_NAME AS n FROM information_schema.TRIGGERS " +
        `WHERE TRIGGER_SCHEMA ${NOT_SYSTEM_SCHEMA} ORDER BY TRIGGER_SCHEMA, EVENT_OBJECT_TABLE, ACTION_TIMING, EVENT_MANIPULATION, ACTION_ORDER, CREATED`,
    ],
    [
      "event",
      `SELECT EVENT_SCHEMA AS s, EVENT_NAME AS n FROM information_schema.EVENTS WHERE EVENT_SCHEMA ${NOT_SYSTEM_SCHEMA} ORDER BY 1, 2`,
    ],
  ];
  for (const [kind, list] of lists) {
    for (const row of await session.query(list)) await add(kind, row["s"] ?? "", row["n"] ?? "");
  }
  return { objects, warnings };
}

async function rawRows(session: Session, sql: string): Promise<Raw[]> {
  const result = (await session.execute(sql, { binary: true })).at(-1);
  return (result?.rows ?? []).map((row) => new Map(result?.columns.map((name, index) => [name, row[index] ?? null])));
}

/** Errors that go away once another object is there: no such table, routine, or a view on them (ER_NO_SUCH_TABLE, ER_SP_DOES_NOT_EXIST, ER_VIEW_INVALID). */
const NEEDS_ANOTHER = new Set([1146, 1305, 1356]);

export interface CreateObjectsResult {
  created: number;
  warnings: string[];
}

/**
 * Makes the objects on the target, replacing those of a former attempt. DEFINER stays as it is, also where that user is missing: any other would change what the
 * object may do. Events are made disabled, as on any replica. An object that another flavour does not understand is named in the warnings: rows do not need it.
 * @throws ReplicationError ACCESS_DENIED, APPLY (with the statement), CONNECTION_LOST
 */
export async function createStoredObjects(
  session: Session,
  objects: readonly StoredObject[],
  acrossFlavours: boolean,
): Promise<CreateObjectsResult> {
  const warnings: string[] = [];
  let created = 0;
  let waiting = [...objects];
  for (;;) {
    const failed: { object: StoredObject; error: SqlError }[] = [];
    for (const object of waiting) {
      try {
        await create(session, object);
        created++;
      } catch (error) {
        if (!(error instanceof SqlError) || error.code === "CONNECTION_LOST") throw error;
        failed.push({ object, error });
      }
    }
    const canWait = failed.length < waiting.length && failed.some(({ error }) => NEEDS_ANOTHER.has(error.sqlCode));
    waiting = failed.map(({ object }) => object);
    if (canWait) continue;
    for (const { object, error } of failed) {
      if (!acrossFlavours) throw explained(object, error);
      warnings.push(`${object.kind} ${object.schema}.${object.name} is not copied: ${error.message}`);
    }
    break;
  }
  const events = objects.filter(({ kind }) => kind === "event").length;
  if (events > 0)
    warnings.push(
      `${events === 1 ? "1 event is" : `${events} events are`} disabled on the target (DISABLE ON SLAVE): ALTER EVENT … ENABLE when it takes over`,
    );
  warnings.push(...(await missingDefiners(session, objects)));
  return { created, warnings };
}

async function create(session: Session, object: StoredObject): Promise<void> {
  const { kind, schema, name } = object;
  await session.execute(
    `SET NAMES utf8mb4;USE ${quoteName(schema)};DROP ${kind.toUpperCase()} IF EXISTS ${quoteName(name)}`,
  );
  let statement = object.statement;
  if (kind === "event") statement = disabledEvent(statement, session);
  await setSqlMode(session, object.sqlMode);
  const isAscii = statement.every((byte) => byte < 0x80);
  // A view's text is utf8 whatever its author's client spoke.
  if (object.characterSetClient !== "" && (isAscii || kind !== "view")) {
    await session.execute(`SET SESSION character_set_client=${object.characterSetClient}`);
  }
  // Another flavour may not know the collation: it only matters for literals without one of their own.
  if (object.collationConnection !== "") {
    await unlessUnknown(session.execute(`SET SESSION collation_connection=${object.collationConnection}`));
  }
  if (object.timeZone !== "") await session.execute(`SET SESSION time_zone=${quoteText(object.timeZone)}`);
  try {
    await session.execute(statement);
  } finally {
    await session.execute("SET NAMES utf8mb4;SET SESSION sql_mode='', SESSION time_zone='+00:00'");
  }
}

/** Modes that the target does not know any more (NO_AUTO_CREATE_USER) or yet are left out. */
async function setSqlMode(session: Session, sqlMode: string): Promise<void> {
  let modes = sqlMode.split(",");
  for (;;) {
    try {
      await session.execute(`SET SESSION sql_mode=${quoteText(modes.join(","))}`);
      return;
    } catch (error) {
      const refused =
        error instanceof SqlError && error.sqlCode === WRONG_VALUE ? /value of '(\w+)'/.exec(error.message) : null;
      if (refused === null || !modes.includes(refused[1] as string)) throw error;
      modes = modes.filter((mode) => mode !== refused[1]);
    }
  }
}

/** ER_WRONG_VALUE_FOR_VAR, ER_UNKNOWN_COLLATION */
const WRONG_VALUE = 1231;
const UNKNOWN_COLLATION = 1273;

async function unlessUnknown(work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof SqlError) || error.sqlCode !== UNKNOWN_COLLATION) throw error;
  }
}

/** What a replica does to a source's event. The clause stands before the body, which begins with DO. */
function disabledEvent(statement: Buffer, session: Session): Buffer {
  const { flavour } = session.serverVersion;
  const words = flavour === "mysql" && session.serverVersion.atLeast(8, 2) ? "DISABLE ON REPLICA" : "DISABLE ON SLAVE";
  const text = statement
    .toString("latin1")
    .replace(
      /(ON COMPLETION (?:NOT )?PRESERVE) (?:ENABLE|DISABLE ON SLAVE|DISABLE ON REPLICA|DISABLE)\b/,
      `$1 ${words}`,
    );
  return Buffer.from(text, "latin1");
}

/** ER_SPECIFIC_ACCESS_DENIED, ER_BINLOG_CREATE_ROUTINE_NEED_SUPER, ER_BINLOG_UNSAFE_ROUTINE */
const NEEDS_DEFINER_RIGHT = 1227;
const NEEDS_TRUST = new Set([1418, 1419]);

function explained(object: StoredObject, error: SqlError): ReplicationError {
  const hint = NEEDS_TRUST.has(error.sqlCode)
    ? "SET GLOBAL log_bin_trust_function_creators=1 on the target, then start again"
    : error.sqlCode === NEEDS_DEFINER_RIGHT
      ? "grant the target's user the right to set any DEFINER (MySQL 8.2 and later: SET_ANY_DEFINER and ALLOW_NONEXISTENT_DEFINER; 8.0: SET_USER_ID; MariaDB: SET USER; else SUPER)"
      : "look at the statement above; drop the object on the source or make it by hand, then start again";
  return new ReplicationError(
    error.code === "ACCESS_DENIED" ? "ACCESS_DENIED" : "APPLY",
    `${object.kind} ${object.schema}.${object.name} cannot be made on the target: ${error.message}\n${object.statement.toString("utf8")}`,
    { where: error.where, hint, cause: error },
  );
}

async function missingDefiners(session: Session, objects: readonly StoredObject[]): Promise<string[]> {
  let users: Set<string>;
  try {
    const rows = await session.query("SELECT User, Host FROM mysql.user");
    users = new Set(rows.map((row) => `${row["User"]}@${row["Host"]}`));
  } catch (error) {
    if (!(error instanceof SqlError)) throw error;
    return [];
  }
  const missing = new Map<string, number>();
  for (const { statement } of objects) {
    const match = /DEFINER=`((?:[^`]|``)*)`@`((?:[^`]|``)*)`/.exec(statement.toString("utf8"));
    const definer = match === null ? undefined : `${match[1]}@${match[2]}`;
    if (definer !== undefined && !users.has(definer)) missing.set(definer, (missing.get(definer) ?? 0) + 1);
  }
  return [...missing].map(
    ([user, count]) =>
      `the target has no user ${user}, who is the DEFINER of ${count} objects: they cannot run until it is created`,
  );
}
