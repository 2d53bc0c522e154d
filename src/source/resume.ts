import { unreachable } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import type { RelayLog } from "../relay/relay-log.ts";
import type { GtidState } from "../relay/state.ts";
import type { Session } from "../wire/session.ts";
import type { StreamStart } from "./connect.ts";
import type { SourceFacts } from "./facts.ts";
import { readNow } from "./now.ts";
import type { StartPoint } from "./start-point.ts";

/**
 * Where the next stream begins: after what the relay log has, or at the start point when it has nothing yet. GTIDs go before positions wherever both are
 * known: they hold on every server. A relay log that begins at GTIDs is told so, that its own account of GTIDs is complete.
 */
export async function resolveStart(
  session: Session,
  facts: SourceFacts,
  relay: RelayLog,
  start: StartPoint,
): Promise<StreamStart> {
  const { gtids, source } = relay.received;
  if (gtids.kind !== "none") return fromGtids(gtids);
  if (source !== undefined) return { kind: "file", ...source };
  switch (start.kind) {
    case "file":
      return { kind: "file", file: start.file, position: start.position };
    case "mysql-gtid":
      return begin(relay, { kind: "mysql", set: start.set });
    case "mariadb-gtid":
      return begin(relay, { kind: "mariadb", position: start.position });
    case "now": {
      const now = await readNow(session, facts);
      if (now.gtids.kind !== "none") return begin(relay, now.gtids);
      if (now.source !== undefined) return { kind: "file", ...now.source };
      throw new ReplicationError("SOURCE", "the source does not say where it is", {
        where: { server: session.server },
      });
    }
    default:
      return unreachable(start);
  }
}

async function begin(relay: RelayLog, gtids: Exclude<GtidState, { kind: "none" }>): Promise<StreamStart> {
  await relay.reset(gtids);
  return fromGtids(gtids);
}

function fromGtids(gtids: Exclude<GtidState, { kind: "none" }>): StreamStart {
  return gtids.kind === "mysql"
    ? { kind: "mysql-gtid", executed: gtids.set }
    : { kind: "mariadb-gtid", position: gtids.position };
}
