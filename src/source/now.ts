import type { SourcePosition } from "../transaction/transaction.ts";
import { MariadbGtidPosition } from "../gtid/mariadb.ts";
import { GtidSet } from "../gtid/mysql.ts";
import { ReplicationError } from "../base/error.ts";
import type { GtidState } from "../relay/state.ts";
import type { Session } from "../wire/session.ts";
import { sqlText } from "../wire/sql-text.ts";
import type { SourceFacts } from "./facts.ts";

/** One point of the source, named in both ways that it knows. */
export interface SourceNow {
  /** Undefined when we may not ask for it (REPLICATION CLIENT, BINLOG MONITOR) and the GTIDs say enough. */
  source: SourcePosition | undefined;
  gtids: GtidState;
}

/**
 * Where the source is now.
 * @throws ReplicationError ACCESS_DENIED when only file and position could tell and we may not ask for them, BINLOG_OFF
 */
export async function readNow(session: Session, facts: Pick<SourceFacts, "gtids">): Promise<SourceNow> {
  let status: Record<string, string | null> | undefined;
  try {
    status = (await session.query(session.serverVersion.showBinlogStatus))[0];
  } catch (error) {
    if (!(error instanceof ReplicationError) || error.code !== "ACCESS_DENIED") throw error;
    if (facts.gtids === "none") throw grantMissing(session, error);
    return { source: undefined, gtids: await gtidsOnly(session, facts.gtids) };
  }
  const file = status?.["File"];
  if (status === undefined || file === undefined || file === null) {
    throw new ReplicationError("BINLOG_OFF", "the source has no binlog file", { where: { server: session.server } });
  }
  const source = { file, position: Number(status["Position"]) };
  if (facts.gtids === "none") return { source, gtids: { kind: "none" } };
  if (facts.gtids === "mysql") {
    // The statement gives position and set of the same instant; it wraps long sets over lines.
    const text = (status["Executed_Gtid_Set"] ?? "").replaceAll("\n", "");
    return { source, gtids: { kind: "mysql", set: GtidSet.parse(text) } };
  }
  const text = await session.queryValue(`SELECT BINLOG_GTID_POS(${sqlText(file)}, ${source.position})`);
  return { source, gtids: { kind: "mariadb", position: MariadbGtidPosition.parse(text ?? "") } };
}

async function gtidsOnly(session: Session, kind: "mysql" | "mariadb"): Promise<GtidState> {
  if (kind === "mysql") {
    return { kind, set: GtidSet.parse((await session.queryValue("SELECT @@global.gtid_executed")) ?? "") };
  }
  return {
    kind,
    position: MariadbGtidPosition.parse((await session.queryValue("SELECT @@global.gtid_binlog_pos")) ?? ""),
  };
}

function grantMissing(session: Session, cause: ReplicationError): ReplicationError {
  const grant = session.serverVersion.has("show-replica-status") && session.serverVersion.flavour === "mariadb";
  return new ReplicationError("ACCESS_DENIED", cause.message, {
    where: { server: session.server },
    hint: `run on the source: GRANT ${grant ? "BINLOG MONITOR" : "REPLICATION CLIENT"} ON *.* TO the user, or start from a position`,
    cause,
  });
}
