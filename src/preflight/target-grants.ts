import { LockWaits } from "../apply/lock-waits.ts";
import { formatStatement } from "../apply/row-injection.ts";
import { EVENT_HEADER_LENGTH } from "../binlog/event.ts";
import type { BinlogFormat } from "../binlog/format.ts";
import type { Session } from "../wire/session.ts";
import { SqlError } from "../wire/sql-error.ts";
import { accountOf, type Findings, grantFor, listed } from "./findings.ts";
import { hasGlobal, hasOnSchema } from "./grants.ts";
import type { CheckedServer } from "./server.ts";

/** Statements that the applier depends on and that change nothing when tried: the server itself says which privilege is missing, whatever its version. */
interface Probe {
  id: string;
  sql: string;
  what: string;
}

const PROBES: Record<"mysql" | "mariadb", readonly Probe[]> = {
  mysql: [
    { id: "target-grant-gtid", sql: "SET GTID_NEXT='AUTOMATIC'", what: "transactions get their GTIDs" },
    {
      id: "target-grant-session",
      sql: "SET SESSION pseudo_thread_id=@@pseudo_thread_id",
      what: "statements run as in the source's session",
    },
    {
      id: "target-grant-session",
      sql: "SET SESSION sql_require_primary_key=@@sql_require_primary_key",
      what: "DDL runs as in the source's session",
    },
    {
      id: "target-grant-session",
      sql: "SET SESSION default_table_encryption=@@default_table_encryption",
      what: "DDL runs as in the source's session",
    },
    {
      id: "target-grant-session",
      sql: "SET SESSION sql_generate_invisible_primary_key=@@sql_generate_invisible_primary_key",
      what: "DDL runs as in the source's session",
    },
  ],
  mariadb: [
    {
      id: "target-grant-annotate",
      sql: "SET SESSION binlog_annotate_row_events=OFF",
      what: "the target does not log every row event twice",
    },
    {
      id: "target-grant-session",
      sql: "SET SESSION pseudo_thread_id=@@pseudo_thread_id",
      what: "statements run as in the source's session",
    },
  ],
};

/** ER_UNKNOWN_SYSTEM_VARIABLE: a version without it needs no right to it. */
const UNKNOWN_VARIABLE = 1193;

/** What the user on the target may do. `probe`: a session of its own, which is of no use afterwards. */
export async function checkTargetGrants(
  target: CheckedServer,
  probe: Session,
  schemas: readonly string[],
  findings: Findings,
): Promise<void> {
  const { flavour } = target.session.serverVersion;
  const reported = new Set<string>();
  const tried = [
    ...PROBES[flavour],
    { id: "target-grant-binlog", sql: formatStatement(ANY_FORMAT, "mysql"), what: "row events are applied" },
  ];
  for (const { id, sql, what } of tried) {
    try {
      await probe.execute(sql);
    } catch (error) {
      if (!(error instanceof SqlError) || error.code === "CONNECTION_LOST") throw error;
      if (error.sqlCode === UNKNOWN_VARIABLE) continue;
      const remedy = await grantFor(target.session, error);
      if (remedy === undefined) {
        findings.warning(id, `could not be tried: ${error.message}`, "check it as a user who may");
      } else if (!reported.has(remedy)) {
        findings.error(id, `needed so that ${what}: ${error.message}`, remedy);
        reported.add(remedy);
      }
    }
  }
  if (reported.size === 0)
    findings.ok("target-grant-apply", "the user may apply row events and take the source's session settings");
  await checkLockWaits(target, findings);
  await checkTableGrants(target, schemas, findings);
}

/** With several workers in the source's order, one that waits for a lock of a later one is found by asking; without the right to ask, by waiting. */
async function checkLockWaits({ session }: CheckedServer, findings: Findings): Promise<void> {
  const { cannotBecause } = await LockWaits.open(session);
  if (cannotBecause === undefined) {
    findings.ok("target-grant-locks", "the target says which session waits for which");
    return;
  }
  const [why = "", privilege] = cannotBecause.split("; grant the target's user ");
  findings.warning(
    "target-grant-locks",
    `the target does not say which session waits for which, so a worker that waits for a later one is noticed after 0.1 s or more: ${why}`,
    privilege === undefined
      ? "set performance_schema=ON on the target, and restart it"
      : `GRANT ${privilege} TO ${await accountOf(session)}`,
  );
}

/** A format that every server since MySQL 5.6 knows: BINLOG takes it in, and waits for rows that never come. */
const ANY_FORMAT: BinlogFormat = {
  binlogVersion: 4,
  serverVersion: "",
  flavour: "mariadb",
  checksum: "none",
  headerLength: EVENT_HEADER_LENGTH,
  postHeaderLengths: new Uint8Array(),
};

/** Rows go in as the server's own replica would write them; statements, DDL and the initial copy need the user's own rights. */
async function checkTableGrants(target: CheckedServer, schemas: readonly string[], findings: Findings): Promise<void> {
  const { grants, session } = target;
  const account = await accountOf(session);
  const missingIn = (schema: string, wanted: readonly string[]): string[] =>
    wanted.filter((privilege) => !hasOnSchema(grants, privilege, schema));
  const ours = missingIn("abreast", OURS);
  if (ours.length === 0) findings.ok("target-grant-checkpoint", "the user may keep the checkpoint in schema abreast");
  else {
    findings.error(
      "target-grant-checkpoint",
      `the checkpoint cannot be kept: ${ours.join(", ")} on abreast.* is missing`,
      `GRANT ${OURS.join(", ")} ON abreast.* TO ${account}`,
    );
  }
  const places = schemas.length === 0 ? ["any"] : schemas;
  const lacking = places.filter((schema) => missingIn(schema, [...ROWS, ...DEFINITIONS]).length > 0);
  const missing = [...new Set(lacking.flatMap((schema) => missingIn(schema, [...ROWS, ...DEFINITIONS])))];
  const remedy = `GRANT ${missing.join(", ")} ON *.* TO ${account}`;
  const on = schemas.length === 0 ? "" : ` on ${listed(lacking)}`;
  if (missing.length === 0) findings.ok("target-grant-tables", "the user may change and define tables");
  else if (missing.some((privilege) => ROWS.includes(privilege))) {
    findings.error("target-grant-tables", `${missing.join(", ")} is missing${on}`, remedy);
  } else {
    findings.warning(
      "target-grant-tables",
      `${missing.join(", ")} is missing${on}: such DDL of the source would stop the replication`,
      remedy,
    );
  }
}

const OURS = ["SELECT", "INSERT", "UPDATE", "DELETE", "CREATE"];
const ROWS = ["SELECT", "INSERT", "UPDATE", "DELETE"];
const DEFINITIONS = [
  "CREATE",
  "DROP",
  "ALTER",
  "INDEX",
  "REFERENCES",
  "CREATE VIEW",
  "CREATE ROUTINE",
  "ALTER ROUTINE",
  "TRIGGER",
  "EVENT",
  "CREATE TEMPORARY TABLES",
];

/** The right to make objects of other users: `SET_ANY_DEFINER` and its forerunners. */
export function definerPrivilege({ session }: CheckedServer): string {
  const { serverVersion } = session;
  if (serverVersion.flavour === "mariadb") return serverVersion.atLeast(10, 5, 2) ? "SET USER" : "SUPER";
  if (serverVersion.atLeast(8, 2)) return "SET_ANY_DEFINER, ALLOW_NONEXISTENT_DEFINER";
  return serverVersion.atLeast(8, 0) ? "SET_USER_ID" : "SUPER";
}

export function maySetDefiner(target: CheckedServer): boolean {
  return hasGlobal(target.grants, "SUPER", ...definerPrivilege(target).split(", "));
}
