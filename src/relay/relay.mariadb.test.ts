import { expect, test } from "vitest";
import { withConnection, withServer } from "../../test/helpers/servers.ts";
import { MariadbGtidPosition } from "../gtid/mariadb.ts";
import type { SandboxServer } from "../sandbox/start.ts";
import { copyAndCompare, queryValue } from "../../test/helpers/relay-server-files.ts";

async function load(server: SandboxServer): Promise<void> {
  await withConnection(server, async (connection) => {
    await connection.query("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(200)) ENGINE=InnoDB");
    for (let id = 0; id < 60; id++) {
      await connection.query(`SET gtid_domain_id=${id % 3}`);
      await connection.query(`BEGIN; INSERT INTO d.t VALUES (${id}, REPEAT('x', ${id})); UPDATE d.t SET v='y'; COMMIT`);
      if (id % 20 === 7) await connection.query("FLUSH BINARY LOGS");
    }
    await connection.query("SET SESSION binlog_alter_two_phase=1; ALTER TABLE d.t ADD c INT, ALGORITHM=COPY");
    await connection.query("XA START 'a'; DELETE FROM d.t WHERE id=3; XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'");
  });
}

test.each([
  { flavour: "mariadb-10.11", options: [] },
  { flavour: "mariadb-10.11", options: ["--binlog-checksum=NONE"] },
  { flavour: "mariadb-10.11", options: ["--log-bin-compress=1", "--log-bin-compress-min-len=10"] },
  { flavour: "mariadb-11.8", options: [] },
] as const)("its mysqlbinlog reads in our files what it reads in the server's (%o)", async ({ flavour, options }) => {
  await withServer(flavour, { options }, async (server) => {
    await load(server);
    const gtids = await copyAndCompare(server, { kind: "mariadb", position: new MariadbGtidPosition() });
    const current = await queryValue(server, "SELECT @@global.gtid_binlog_pos");
    expect(gtids).toBe(MariadbGtidPosition.parse(current).toString());
    expect(gtids.split(",")).toHaveLength(3);
  });
});
