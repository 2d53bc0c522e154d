import type { Session } from "../wire/session.ts";
import { type Grants, parseGrants } from "./grants.ts";

/** One server as the checks see it. */
export interface CheckedServer {
  session: Session;
  /** Global variables, names in lower case. */
  variables: ReadonlyMap<string, string>;
  grants: Grants;
}

/** Everyone may ask for these. */
export async function readServer(session: Session): Promise<CheckedServer> {
  const variables = await session.query("SHOW GLOBAL VARIABLES");
  const grants = await session.execute("SHOW GRANTS");
  return {
    session,
    variables: new Map(variables.map((row) => [String(row["Variable_name"]).toLowerCase(), row["Value"] ?? ""])),
    grants: parseGrants((grants.at(-1)?.rows ?? []).map((row) => row[0] ?? "")),
  };
}

/** The first of several names that this server has: variables were renamed. */
export function variable(server: CheckedServer, ...names: string[]): string | undefined {
  const name = names.find((candidate) => server.variables.has(candidate));
  return name === undefined ? undefined : server.variables.get(name);
}

export function isOn(server: CheckedServer, ...names: string[]): boolean {
  return variable(server, ...names)?.toUpperCase() === "ON" || variable(server, ...names) === "1";
}

export function describeServer({ session }: CheckedServer): string {
  return `${session.serverVersion.flavour === "mysql" ? "MySQL" : "MariaDB"} ${session.serverVersion.number}`;
}
