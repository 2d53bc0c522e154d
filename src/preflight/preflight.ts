import { ReplicationError } from "../base/error.ts";
import { describeAddress, type ServerAddress } from "../base/server-url.ts";
import { NOT_SYSTEM_SCHEMA } from "../schema/names.ts";
import { Session } from "../wire/session.ts";
import { Findings } from "./findings.ts";
import type { PreflightOptions, PreflightReport } from "./report.ts";
import { checkSameServer } from "./same-server.ts";
import { type CheckedServer, readServer } from "./server.ts";
import { checkSourceGrants } from "./source-grants.ts";
import { checkSourceSettings } from "./source-settings.ts";
import { checkTables } from "./tables.ts";
import { checkTargetGrants } from "./target-grants.ts";
import { checkTargetSettings } from "./target-settings.ts";

/**
 * Looks at both servers for whatever would make a replication unsafe, slow or impossible, before it starts; changes nothing on either. A server that cannot be reached
 * is a check that failed; what depends on it is left out.
 * @throws ReplicationError CONNECTION_LOST when a server goes away in the middle
 */
export async function preflight(servers: {
  source: ServerAddress;
  target: ServerAddress;
  options?: PreflightOptions;
}): Promise<PreflightReport> {
  const options = servers.options ?? {};
  const ofSource = new Findings(`source ${describeAddress(servers.source)}`);
  const ofTarget = new Findings(`target ${describeAddress(servers.target)}`);
  const [source, target] = await Promise.all([
    reach(servers.source, "source-reachable", ofSource),
    reach(servers.target, "target-reachable", ofTarget),
  ]);
  try {
    const schemas = source === undefined ? [] : await userSchemas(source);
    if (source !== undefined) {
      await checkSourceSettings(source, options, ofSource);
      await checkSourceGrants(source, schemas, options, ofSource);
    }
    if (source !== undefined && target !== undefined) checkSameServer(source, target, ofTarget);
    if (target !== undefined) {
      await checkTargetSettings(target, source, options, ofTarget);
      await withSession(servers.target, (probe) => checkTargetGrants(target, probe, schemas, ofTarget));
    }
    if (source !== undefined) {
      await ofSource.look("tables", source.session, () => checkTables(source, target, options, ofSource));
    }
  } finally {
    await Promise.all([source?.session.close(), target?.session.close()]);
  }
  const checks = [...ofSource.checks, ...ofTarget.checks];
  return { ok: checks.every((check) => check.level !== "error"), checks };
}

async function reach(address: ServerAddress, id: string, findings: Findings): Promise<CheckedServer | undefined> {
  let session: Session;
  try {
    session = await Session.connect(address);
  } catch (error) {
    if (!(error instanceof ReplicationError)) throw error;
    findings.error(id, error.message, error.hint ?? "check address, user and password, and that the server runs");
    return undefined;
  }
  findings.ok(id, "answers");
  return readServer(session);
}

async function withSession(address: ServerAddress, work: (session: Session) => Promise<void>): Promise<void> {
  const session = await Session.connect(address);
  try {
    await work(session);
  } finally {
    session.destroy();
  }
}

async function userSchemas({ session }: CheckedServer): Promise<string[]> {
  const rows = await session.query(
    `SELECT SCHEMA_NAME AS s FROM information_schema.SCHEMATA WHERE SCHEMA_NAME ${NOT_SYSTEM_SCHEMA}`,
  );
  return rows.map((row) => row["s"] ?? "");
}
