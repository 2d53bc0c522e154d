import { accountOf, counted, type Findings, listed } from "./findings.ts";
import { hasGlobal, hasOnSchema } from "./grants.ts";
import type { PreflightOptions } from "./report.ts";
import type { CheckedServer } from "./server.ts";

/** What the user on the source may do; `schemas`: the user schemas that it can see. */
export async function checkSourceGrants(
  source: CheckedServer,
  schemas: readonly string[],
  options: PreflightOptions,
  findings: Findings,
): Promise<void> {
  const { session, grants } = source;
  const { serverVersion } = session;
  const account = await accountOf(session);
  const grant = (privilege: string, on = "*.*"): string => `GRANT ${privilege} ON ${on} TO ${account}`;

  if (hasGlobal(grants, "REPLICATION SLAVE")) findings.ok("source-grant-stream", "the user may read the binlog");
  else
    findings.error(
      "source-grant-stream",
      "the user may not read the binlog: REPLICATION SLAVE is missing",
      grant("REPLICATION SLAVE"),
    );

  const monitor =
    serverVersion.flavour === "mariadb" && serverVersion.atLeast(10, 5, 2) ? "BINLOG MONITOR" : "REPLICATION CLIENT";
  if (hasGlobal(grants, "SUPER", monitor, "REPLICATION CLIENT"))
    findings.ok("source-grant-position", "the user may ask for the binlog's position");
  else if (options.init === true) {
    findings.error("source-grant-position", `the copy cannot know its position: ${monitor} is missing`, grant(monitor));
  } else {
    findings.warning(
      "source-grant-position",
      `the lag in bytes, and a start from now without GTIDs, are not to be had: ${monitor} is missing`,
      grant(monitor),
    );
  }
  if (options.init === true) checkCopyGrants(source, schemas, grant, findings);
  else checkVisible(source, schemas, grant, findings);
}

type Grant = (privilege: string, on?: string) => string;

function checkCopyGrants(source: CheckedServer, schemas: readonly string[], grant: Grant, findings: Findings): void {
  const { grants, session } = source;
  const { serverVersion } = session;
  if (hasGlobal(grants, "RELOAD", "FLUSH_TABLES"))
    findings.ok("source-grant-lock", "the user may lock the source for the moment of the snapshot");
  else if (serverVersion.has("binlog-snapshot-status")) {
    findings.warning(
      "source-grant-lock",
      "on a busy source the snapshot needs a lock: RELOAD is missing",
      grant("RELOAD"),
    );
  } else {
    const privilege = serverVersion.atLeast(8, 0, 23) ? "FLUSH_TABLES" : "RELOAD";
    findings.error(
      "source-grant-lock",
      `the snapshot needs the global read lock for a moment: ${privilege} is missing`,
      grant(privilege),
    );
  }
  checkVisible(source, schemas, grant, findings);
  for (const [privilege, what] of [
    ["SHOW VIEW", "views"],
    ["TRIGGER", "triggers"],
    ["EVENT", "events"],
  ] as const) {
    const id = `source-grant-${privilege.toLowerCase().replace(" ", "-")}`;
    const missing = schemas.filter((schema) => !hasOnSchema(grants, privilege, schema));
    if (missing.length === 0 && (schemas.length > 0 || hasGlobal(grants, privilege)))
      findings.ok(id, `the user may read ${what}`);
    else
      findings.error(
        id,
        `${what} would be missed by the copy: ${privilege} is missing${onSchemas(missing)}`,
        grant(privilege),
      );
  }
  // Up to 8.0.19 and MariaDB 11.2 only SELECT on mysql.proc shows the bodies of other users' routines.
  const isNewMysql = serverVersion.flavour === "mysql" && serverVersion.atLeast(8, 0, 20);
  const isNewMariadb = serverVersion.flavour === "mariadb" && serverVersion.atLeast(11, 3);
  const privilege = isNewMysql ? "SHOW_ROUTINE" : isNewMariadb ? "SHOW CREATE ROUTINE" : "SELECT";
  if (!hasGlobal(grants, "SELECT", privilege)) {
    findings.warning(
      "source-grant-routines",
      `routines of other users would be missed by the copy: ${privilege} is missing`,
      grant(privilege, isNewMysql || isNewMariadb ? "*.*" : "mysql.proc"),
    );
  }
}

/** A schema of which the user may see nothing is not even listed: only a global grant rules that out. */
function checkVisible(source: CheckedServer, schemas: readonly string[], grant: Grant, findings: Findings): void {
  const missing = schemas.filter((schema) => !hasOnSchema(source.grants, "SELECT", schema));
  if (hasGlobal(source.grants, "SELECT") && missing.length === 0) {
    findings.ok("source-grant-select", "the user may read all tables");
    return;
  }
  const seen = schemas.length - missing.length;
  const what = `the user may read the tables of ${seen === 0 ? "no schema" : `${counted(seen, "schema")} only`}${onSchemas(missing)}: others cannot be checked, compared or copied`;
  findings.warning("source-grant-select", what, grant("SELECT"));
}

function onSchemas(schemas: readonly string[]): string {
  return schemas.length === 0 ? "" : ` on ${listed(schemas)}`;
}
