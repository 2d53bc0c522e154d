import { ReplicationError } from "../../base/error.ts";
import { EVENT_FLAG } from "../../binlog/event.ts";
import { QUERY_FLAG2, type QueryStatus } from "../../binlog/events/query.ts";
import { characterSetOnTarget, collationIdOnTarget, collationOnTarget } from "./collations.ts";
import { characterSetOf, collationName } from "../../schema/collation-names.ts";
import { sqlModeOnTarget } from "./sql-mode.ts";
import { isMariadb, isMysql, type ServerKind, type TargetFacts } from "./target.ts";

/** Where and how a statement ran on the source: what its event says. */
export interface StatementContext {
  source: ServerKind;
  /** The event's header: seconds since 1970, flags. */
  timestamp: number;
  flags: number;
  threadId: number;
  schema: string;
  status: QueryStatus;
}

/** What the statement may depend on: a setting that the target cannot have matters only then. */
export interface StatementNeeds {
  /** Literals may be compared or stored with the connection's collation: routines, views, triggers, statements that change rows. */
  connectionCollation: boolean;
  /** CREATE DATABASE without a character set or collation of its own. */
  serverCollation: boolean;
  /** It may define something. Some of what decides about definitions cannot be set inside a transaction, where no definition is either. */
  definition: boolean;
  /** For error messages. */
  shown: string;
}

/**
 * What a session's settings are known to be. Invariant: a name is here only with the value that the session has; after anything that may have changed it
 * (a failed SET, row events) it must be forgotten, or a statement runs in another one's context.
 */
export class ContextState {
  readonly #values = new Map<string, string>();
  schema: string | undefined;

  get(variable: string): string | undefined {
    return this.#values.get(variable);
  }

  set(variable: string, value: string): void {
    this.#values.set(variable, value);
  }

  /** Row events bring their own time and checks into the session. */
  forgetAfterRows(): void {
    for (const variable of ["TIMESTAMP", "foreign_key_checks", "unique_checks", "check_constraint_checks"]) {
      this.#values.delete(variable);
    }
  }

  forget(): void {
    this.#values.clear();
    this.schema = undefined;
  }
}

/**
 * The statements that give a session the context of the event, in order, and into `state` what it has then; only what differs from `state`.
 * Text in UTF-8; the last one may change the character set in which the server reads what follows.
 * @throws ReplicationError UNSUPPORTED when the target cannot have a setting that matters to the statement
 */
export function sessionContextSql(
  context: StatementContext,
  needs: StatementNeeds,
  state: ContextState,
  target: TargetFacts,
): string[] {
  const wanted = wantedSettings(context, needs, target);
  const statements: string[] = [];
  const isUse = context.schema !== "" && (context.flags & EVENT_FLAG.SUPPRESS_USE) === 0;
  if (isUse && context.schema !== state.schema) {
    statements.push(...inUtf8(`USE ${identifier(context.schema)}`, state));
    state.schema = context.schema;
    // USE sets it.
    state.set("collation_database", "DEFAULT");
  }
  const changed = [...wanted].filter(([variable, value]) => state.get(variable) !== value);
  for (const [variable, value] of changed) state.set(variable, value);
  if (changed.length > 0)
    statements.push(`SET ${changed.map(([variable, value]) => `${variable}=${value}`).join(",")}`);
  return statements;
}

/** A statement of ours with text beyond ASCII, whatever character set the session was left with. */
export function inUtf8(statement: string, state: ContextState): string[] {
  // eslint-disable-next-line no-control-regex
  if (/^[\x00-\x7f]*$/.test(statement) || state.get("character_set_client") === "utf8mb4") return [statement];
  state.set("character_set_client", "utf8mb4");
  return ["SET character_set_client=utf8mb4", statement];
}

/** An identifier in backticks. */
export const identifier = (name: string): string => `\`${name.replaceAll("`", "``")}\``;

type Settings = Map<string, string>;

function wantedSettings(context: StatementContext, needs: StatementNeeds, target: TargetFacts): Settings {
  const settings: Settings = new Map();
  const { status, timestamp } = context;
  const fraction = status.microseconds ? `.${String(status.microseconds).padStart(6, "0")}` : "";
  settings.set("TIMESTAMP", `${timestamp}${fraction}`);
  settings.set("pseudo_thread_id", String(context.threadId));
  flagSettings(context, target, settings);
  if (status.sqlMode !== undefined) {
    const { names, missing } = sqlModeOnTarget(status.sqlMode, context.source, target);
    if (missing.length > 0) {
      throw new ReplicationError(
        "UNSUPPORTED",
        `the target has no sql_mode ${missing.join(", ")}, in which the source ran: ${needs.shown}`,
        { hint: "make this change on the target by hand and start behind it" },
      );
    }
    settings.set("sql_mode", `'${names}'`);
  }
  settings.set("auto_increment_increment", String(status.autoIncrementIncrement ?? 1));
  settings.set("auto_increment_offset", String(status.autoIncrementOffset ?? 1));
  if (status.timeZone !== undefined) settings.set("time_zone", `'${status.timeZone.replaceAll("'", "''")}'`);
  settings.set("lc_time_names", String(status.lcTimeNames ?? 0));
  if (needs.definition) definitionSettings(context, target, settings);
  collationSettings(context, needs, target, settings);
  return settings;
}

/** The bits of Q_FLAGS2. Whether the source's session was in autocommit says nothing to us: transactions are ours. */
function flagSettings({ status }: StatementContext, target: ServerKind, settings: Settings): void {
  const { flags2 } = status;
  if (flags2 === undefined) return;
  const off = (bit: number): string => ((flags2 & bit) === 0 ? "1" : "0");
  const on = (bit: number): string => ((flags2 & bit) === 0 ? "0" : "1");
  settings.set("foreign_key_checks", off(QUERY_FLAG2.NO_FOREIGN_KEY_CHECKS));
  settings.set("unique_checks", off(QUERY_FLAG2.RELAXED_UNIQUE_CHECKS));
  settings.set("sql_auto_is_null", on(QUERY_FLAG2.AUTO_IS_NULL));
  if (target.flavour === "mysql") return;
  if (isMariadb(target, 10, 2, 1)) {
    settings.set("check_constraint_checks", off(QUERY_FLAG2.NO_CHECK_CONSTRAINT_CHECKS));
  }
  if (isMariadb(target, 10, 5, 2)) settings.set("sql_if_exists", on(QUERY_FLAG2.IF_EXISTS));
  if (isMariadb(target, 10, 11)) settings.set("system_versioning_insert_history", on(QUERY_FLAG2.INSERT_HISTORY));
}

/** Settings that decide what a definition means where it says nothing itself. */
function definitionSettings({ status, source }: StatementContext, target: ServerKind, settings: Settings): void {
  const explicitDefaults = explicitDefaultsForTimestamp(status, source);
  // A session can set it in MySQL 8.0 and in MariaDB since 10.8.4 (and 10.6.10).
  if (explicitDefaults !== undefined && (isMysql(target, 8) || isMariadb(target, 10, 8, 4))) {
    settings.set("explicit_defaults_for_timestamp", explicitDefaults ? "1" : "0");
  }
  // The source has allowed it, and its log does not say so.
  if (isMariadb(target, 10, 3, 4)) settings.set("system_versioning_alter_history", "KEEP");
  if (isMysql(target, 8, 0, 13)) settings.set("sql_require_primary_key", String(status.sqlRequirePrimaryKey ?? 0));
  if (isMysql(target, 8, 0, 16)) settings.set("default_table_encryption", String(status.defaultTableEncryption ?? 0));
  // The source has added the key to the text where it wanted one.
  if (isMysql(target, 8, 0, 30)) settings.set("sql_generate_invisible_primary_key", "0");
  // Before 8.4 a foreign key might refer to a part of a key.
  if (isMysql(target, 8, 4) && !isMysql(source, 8, 4)) settings.set("restrict_fk_on_non_standard_key", "0");
  if (isMysql(target, 9, 7) && status.enableCascadeTriggers !== undefined) {
    settings.set("enable_cascade_triggers", String(status.enableCascadeTriggers));
  }
}

/** Undefined: the statement does not depend on it. MySQL 5.7+ writes it where it matters, MariaDB 10.8.4+ always; before that it was the server's and off by default. */
function explicitDefaultsForTimestamp(status: QueryStatus, source: ServerKind): boolean | undefined {
  if (source.flavour === "mariadb") {
    if (!isMariadb(source, 10, 8, 4)) return false;
    return status.flags2 === undefined
      ? undefined
      : (status.flags2 & QUERY_FLAG2.EXPLICIT_DEFAULTS_FOR_TIMESTAMP) !== 0;
  }
  return status.explicitDefaultsForTimestamp ?? (isMysql(source, 5, 7) ? undefined : false);
}

function collationSettings(
  context: StatementContext,
  needs: StatementNeeds,
  target: TargetFacts,
  settings: Settings,
): void {
  const { status, source } = context;
  const utf8mb4 = utf8mb4Collation(context);
  const utf8mb4OnTarget = collationOnTarget(utf8mb4, source, target);
  if (isMysql(target, 8, 0, 11) && utf8mb4OnTarget !== undefined && SETTABLE_UTF8MB4.has(utf8mb4OnTarget)) {
    settings.set("default_collation_for_utf8mb4", utf8mb4OnTarget);
  }
  if (isMariadb(target, 11, 2)) settings.set("character_set_collations", characterSetCollations(context, target));
  if (status.characterSetClient === undefined) return;
  const client = characterSetOnTarget(status.characterSetClient, source, target);
  if (client === undefined) throw missing("character set", status.characterSetClient, context, needs);
  const connection = status.collationConnection ?? status.characterSetClient;
  const equal = collationIdOnTarget(connection, source, target);
  if (equal === undefined && needs.connectionCollation) throw missing("collation", connection, context, needs);
  const server = status.collationServer ?? 0;
  const serverEqual = server === 0 ? undefined : collationIdOnTarget(server, source, target);
  if (server !== 0 && serverEqual === undefined && needs.serverCollation) {
    throw missing("collation", server, context, needs);
  }
  const database = status.collationDatabase ?? 0;
  const databaseEqual = database === 0 ? "DEFAULT" : collationIdOnTarget(database, source, target);
  if (databaseEqual !== undefined) settings.set("collation_database", databaseEqual);
  if (serverEqual !== undefined) settings.set("collation_server", serverEqual);
  // What the statement does not depend on may be any of the right character set.
  settings.set("character_set_client", client);
  if (equal !== undefined) settings.set("collation_connection", equal);
  else settings.set("collation_connection", binCollation(connection, context, target));
}

function binCollation(id: number, { source }: StatementContext, target: TargetFacts): string {
  const characterSet = characterSetOnTarget(id, source, target) ?? "utf8mb4";
  return characterSet === "binary" ? characterSet : `${characterSet}_bin`;
}

function missing(
  what: "character set" | "collation",
  id: number,
  { source }: StatementContext,
  { shown }: StatementNeeds,
): ReplicationError {
  const name = collationName(id, source.flavour);
  const named = name === undefined ? `number ${id}` : what === "collation" ? name : characterSetOf(name);
  return new ReplicationError(
    "UNSUPPORTED",
    `the target has no ${what} equal to ${named}, in which the source ran: ${shown}`,
    {
      hint: "use character sets and collations that both servers know, or make this change on the target by hand and start behind it",
    },
  );
}

/** All that default_collation_for_utf8mb4 takes. */
const SETTABLE_UTF8MB4 = new Set(["utf8mb4_0900_ai_ci", "utf8mb4_general_ci"]);

const UTF8MB4_GENERAL_CI = 45;

/** What CHARACTER SET utf8mb4 without COLLATE meant to the source's session. */
export function utf8mb4Collation({ status, source }: StatementContext): string {
  const mapped = status.characterSetCollations?.find(({ characterSet }) => {
    const name = collationName(characterSet, source.flavour);
    return name !== undefined && characterSetOf(name) === "utf8mb4";
  });
  const id = mapped?.collation ?? status.defaultCollationForUtf8mb4 ?? UTF8MB4_GENERAL_CI;
  return collationName(id, source.flavour) ?? "utf8mb4_general_ci";
}

/** MariaDB 11.2+: `'utf8mb4=utf8mb4_uca1400_ai_ci,…'`; a bare character set that is not listed means what it always meant. */
function characterSetCollations(context: StatementContext, target: TargetFacts): string {
  const pairs = (context.status.characterSetCollations ?? []).flatMap(({ collation }) => {
    const equal = collationIdOnTarget(collation, context.source, target);
    return equal === undefined ? [] : [`${characterSetOf(equal)}=${equal}`];
  });
  if (context.source.flavour === "mysql") {
    const equal = collationOnTarget(utf8mb4Collation(context), context.source, target);
    if (equal !== undefined) pairs.push(`utf8mb4=${equal}`);
  }
  return `'${pairs.join(",")}'`;
}
