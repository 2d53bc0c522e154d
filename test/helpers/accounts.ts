import type { ServerAddress } from "../../src/base/server-url.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { query } from "./servers.ts";

let made = 0;

/** Makes a user with these grants (`REPLICATION SLAVE`, `ALL PRIVILEGES`; none: may only log in) and gives the address to log in with. */
export async function makeUser(
  server: SandboxServer,
  grants: readonly string[],
  account: { identified?: string; password?: string } = {},
): Promise<ServerAddress> {
  const user = `test_user_${++made}`;
  const password = account.password ?? "s3cret";
  const name = `'${user}'@'%'`;
  await query(server, `CREATE USER ${name} ${account.identified ?? `IDENTIFIED BY '${password}'`}`);
  if (grants.length > 0) await query(server, `GRANT ${grants.join(", ")} ON *.* TO ${name}`);
  return { ...server.address, user, password };
}
