import type { Findings } from "./findings.ts";
import { type CheckedServer, variable } from "./server.ts";

/**
 * A server that replicates into itself applies its own changes again, for ever. MySQL names itself (server_uuid, one per data folder); of MariaDB host name, port, data
 * folder and server id together do: two containers may share any three of them.
 */
export function checkSameServer(source: CheckedServer, target: CheckedServer, findings: Findings): void {
  const [a, b] = [identityOf(source), identityOf(target)];
  if (a === undefined || a !== b) return findings.ok("target-is-source", "source and target are two servers");
  findings.error(
    "target-is-source",
    "source and target are the same server: it would apply its own changes again",
    variable(target, "server_uuid") === undefined
      ? "look at host and port of both: give another --target"
      : "look at host and port of both: give another --target; if one is a copy of the other's data folder, remove auto.cnf from it and restart it",
  );
}

/** Undefined where a server does not tell enough. */
function identityOf(server: CheckedServer): string | undefined {
  const uuid = variable(server, "server_uuid");
  if (uuid !== undefined && uuid !== "") return uuid;
  const parts = ["hostname", "port", "datadir", "server_id"].map((name) => variable(server, name));
  return parts.includes(undefined) ? undefined : JSON.stringify(parts);
}
