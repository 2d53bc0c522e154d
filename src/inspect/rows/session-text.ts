import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { EVENT_FLAG, eventFlags, eventTimestamp, eventType } from "../../binlog/event.ts";
import { decodeIntvar } from "../../binlog/events/intvar.ts";
import { decodeQuery, QUERY_FLAG2, type QueryEvent } from "../../binlog/events/query.ts";
import { decodeRand } from "../../binlog/events/rand.ts";
import { ROWS_FLAG, rowsFlags } from "../../binlog/events/rows.ts";
import { decodeUserVar, type UserVarEvent } from "../../binlog/events/user-var.ts";
import { decimalText } from "../../binlog/columns/value-number.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import { characterSetOf, collationName } from "../../schema/collation-names.ts";
import { quoteName } from "../../schema/names.ts";
import type { SqlText } from "./sql-text.ts";

/** Zero is a value of an AUTO_INCREMENT column, days that no calendar has are values too, and a value that a column cannot hold cannot come. */
const ROWS_SQL_MODE = "'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'";

const CHECKS = ROWS_FLAG.NO_FOREIGN_KEY_CHECKS | ROWS_FLAG.RELAXED_UNIQUE_CHECKS | ROWS_FLAG.NO_CHECK_CONSTRAINT_CHECKS;

const COMMENT = /\s(?:--|#)|\/\*/;

/**
 * Writes statements and the settings that they, and rows, are to run with: for a server of the log's own kind, which knows its own numbers.
 *
 * Invariant: `#values` has what the session that runs the text has at this place of it. After something that may have set other values (a dropped schema) a name is forgotten.
 */
export class SessionText {
  readonly #sql: SqlText;
  readonly #values = new Map<string, string>();
  #schema: string | undefined;
  /** The session is as rows with these flags need it. */
  #rowsFlags: number | undefined;
  /** INSERT_ID, user variables and the like, for the next statement. */
  #before: string[] = [];

  constructor(sql: SqlText) {
    this.#sql = sql;
  }

  /** What literals of rows need, and what the source checked when it changed these. */
  forRows(event: Buffer, format: BinlogFormat): void {
    const flags = rowsFlags(event, format) & CHECKS;
    if (flags === this.#rowsFlags) return;
    this.#rowsFlags = flags;
    if (this.#values.get("NAMES") !== "utf8mb4") {
      this.#sql.ascii("SET NAMES utf8mb4;\n");
      for (const name of CHARACTER_SETS) this.#values.delete(name);
      this.#values.set("NAMES", "utf8mb4");
    }
    const settings = [
      ["time_zone", "'+00:00'"],
      ["sql_mode", ROWS_SQL_MODE],
      ["foreign_key_checks", (flags & ROWS_FLAG.NO_FOREIGN_KEY_CHECKS) === 0 ? "1" : "0"],
      ["unique_checks", (flags & ROWS_FLAG.RELAXED_UNIQUE_CHECKS) === 0 ? "1" : "0"],
    ] as [string, string][];
    if (format.flavour === "mariadb" && (flags & ROWS_FLAG.NO_CHECK_CONSTRAINT_CHECKS) !== 0) {
      settings.push(["check_constraint_checks", "0"]);
    } else if (this.#values.has("check_constraint_checks")) {
      settings.push(["check_constraint_checks", "1"]);
    }
    this.#set(settings);
  }

  /** Events that stand before a statement for its sake. False: the event is a statement, or part of a LOAD DATA. */
  takeContext(event: Buffer, format: BinlogFormat): boolean {
    switch (eventType(event)) {
      case EVENT_TYPE.INTVAR: {
        const { variable, value } = decodeIntvar(event, format);
        this.#before.push(`SET ${variable === "insert-id" ? "INSERT_ID" : "LAST_INSERT_ID"}=${value};\n`);
        return true;
      }
      case EVENT_TYPE.RAND: {
        const { seed1, seed2 } = decodeRand(event, format);
        this.#before.push(`SET @@RAND_SEED1=${seed1}, @@RAND_SEED2=${seed2};\n`);
        return true;
      }
      case EVENT_TYPE.USER_VAR:
        this.#before.push(userVariable(decodeUserVar(event, format), format));
        return true;
      default:
        return false;
    }
  }

  /** A QUERY event's statement as it is, behind the settings that it ran with. */
  statement(event: Buffer, format: BinlogFormat): void {
    this.#rowsFlags = undefined;
    const query = decodeQuery(event, format);
    if (query.schema !== "" && query.schema !== this.#schema && (eventFlags(event) & EVENT_FLAG.SUPPRESS_USE) === 0) {
      this.#sql.text(`USE ${quoteName(query.schema)};\n`);
      this.#schema = query.schema;
    }
    this.#set(settingsOf(query, eventFlags(event)));
    const { microseconds } = query.status;
    const fraction = microseconds === undefined ? "" : `.${String(microseconds).padStart(6, "0")}`;
    this.#sql.ascii(`SET TIMESTAMP=${eventTimestamp(event)}${fraction};\n`);
    for (const setting of this.#before) this.#sql.text(setting);
    this.#before = [];
    const text = query.sql.toString("latin1");
    if (/^\s*DROP\s+(?:DATABASE|SCHEMA)\b/i.test(text)) this.#schema = undefined;
    if (query.errorCode !== 0) this.#sql.ascii(`-- the source met error ${query.errorCode} in it\n`);
    this.#terminated(query.sql, text);
  }

  /** Statements with semicolons inside need another end. */
  #terminated(sql: Buffer, text: string): void {
    if (!text.includes(";")) {
      this.#sql.bytes(sql);
      // A comment at its end would take in what follows.
      this.#sql.ascii(COMMENT.test(text) ? "\n;\n" : ";\n");
      return;
    }
    let delimiter = "$$";
    while (text.includes(delimiter)) delimiter += "$";
    this.#sql.ascii(`DELIMITER ${delimiter}\n`);
    this.#sql.bytes(sql);
    this.#sql.ascii(`\n${delimiter}\nDELIMITER ;\n`);
  }

  #set(settings: readonly [string, string][]): void {
    let list = "";
    for (const [name, value] of settings) {
      if (this.#values.get(name) === value) continue;
      this.#values.set(name, value);
      if (CHARACTER_SETS.has(name)) this.#values.delete("NAMES");
      list += `${list === "" ? "SET SESSION " : ", "}${name}=${value}`;
    }
    if (list !== "") this.#sql.text(`${list};\n`);
  }
}

const CHARACTER_SETS = new Set(["character_set_client", "collation_connection"]);

/** Numbers stand for themselves: of modes, collations and locales. */
function settingsOf({ status, threadId }: QueryEvent, flags: number): [string, string][] {
  const settings: [string, string][] = [];
  const add = (name: string, value: number | bigint | string | undefined): void => {
    if (value !== undefined) settings.push([name, String(value)]);
  };
  const { flags2 } = status;
  add("sql_mode", status.sqlMode);
  if (flags2 !== undefined) {
    add("foreign_key_checks", (flags2 & QUERY_FLAG2.NO_FOREIGN_KEY_CHECKS) === 0 ? 1 : 0);
    add("unique_checks", (flags2 & QUERY_FLAG2.RELAXED_UNIQUE_CHECKS) === 0 ? 1 : 0);
    add("sql_auto_is_null", (flags2 & QUERY_FLAG2.AUTO_IS_NULL) === 0 ? 0 : 1);
  }
  add("auto_increment_increment", status.autoIncrementIncrement ?? 1);
  add("auto_increment_offset", status.autoIncrementOffset ?? 1);
  if (status.characterSetClient !== undefined) {
    add("character_set_client", status.characterSetClient);
    add("collation_connection", status.collationConnection);
    add("collation_server", status.collationServer);
  }
  add("default_collation_for_utf8mb4", status.defaultCollationForUtf8mb4);
  add(
    "explicit_defaults_for_timestamp",
    status.explicitDefaultsForTimestamp === undefined ? undefined : Number(status.explicitDefaultsForTimestamp),
  );
  if (status.timeZone !== undefined) add("time_zone", `'${status.timeZone}'`);
  add("lc_time_names", status.lcTimeNames);
  add("sql_require_primary_key", status.sqlRequirePrimaryKey);
  // Whose temporary tables are meant.
  if ((flags & EVENT_FLAG.THREAD_SPECIFIC) !== 0) add("pseudo_thread_id", threadId);
  return settings;
}

function userVariable(variable: UserVarEvent, { flavour }: BinlogFormat): string {
  return `SET @${quoteName(variable.name.toString("utf8"))}:=${userValue(variable, flavour)};\n`;
}

function userValue({ type, value, collation, unsigned }: UserVarEvent, flavour: BinlogFormat["flavour"]): string {
  switch (type) {
    case "null":
      return "NULL";
    case "integer":
      return unsigned ? `CAST(${value.readBigUInt64LE()} AS UNSIGNED)` : String(value.readBigInt64LE());
    case "real":
      return value.readDoubleLE().toExponential();
    case "decimal":
      return decimalText(value, 2, value.length, value[0] ?? 0, value[1] ?? 0);
    case "string": {
      const name = collationName(collation, flavour) ?? "binary";
      const hex = `_${characterSetOf(name)} X'${value.toString("hex")}'`;
      return name === "binary" ? hex : `${hex} COLLATE ${name}`;
    }
  }
}
