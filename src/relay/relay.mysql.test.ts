import { expect, test } from "vitest";
import { query, withConnection, withServer } from "../../test/helpers/servers.ts";
import { GtidSet } from "../gtid/mysql.ts";
import { findServer } from "../sandbox/find.ts";
import type { SandboxServer } from "../sandbox/start.ts";
import { copyAndCompare, queryValue } from "../../test/helpers/relay-server-files.ts";

async function load(server: SandboxServer): Promise<void> {
  await withConnection(server, async (connection) => {
    await connection.query("CREATE DATABASE d; CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(200)) ENGINE=InnoDB");
    for (let id = 0; id < 60; id++) {
      await connection.query(`BEGIN; INSERT INTO d.t VALUES (${id}, REPEAT('x', ${id})); UPDATE d.t SET v='y'; COMMIT`);
      if (id % 20 === 7) await connection.query("FLUSH BINARY LOGS");
    }
    await connection.query("XA START 'a'; DELETE FROM d.t WHERE id=3; XA END 'a'; XA PREPARE 'a'; XA COMMIT 'a'");
  });
}

const nothing = () => ({ kind: "mysql" as const, set: new GtidSet() });

async function executed(server: SandboxServer): Promise<string> {
  return GtidSet.parse(await queryValue(server, "SELECT @@global.gtid_executed")).toString();
}

test.each([
  { checksum: "CRC32", compression: "OFF" },
  { checksum: "NONE", compression: "OFF" },
  { checksum: "CRC32", compression: "ON" },
])("mysqlbinlog 9.7 reads in our files what it reads in the server's (%o)", async ({ checksum, compression }) => {
  const options = [`--binlog-checksum=${checksum}`, `--binlog-transaction-compression=${compression}`];
  await withServer("mysql-9.7", { options }, async (server) => {
    await load(server);
    await query(server, "SET gtid_next='AUTOMATIC:mytag'; INSERT INTO d.t VALUES (1000, 'tagged')");
    const gtids = await copyAndCompare(server, nothing());
    expect(gtids).toBe(await executed(server));
    expect(gtids).toContain("mytag");
  });
});

test("files of a 5.6 source are read by a newer mysqlbinlog, and hold its GTIDs", async () => {
  await withServer("mysql-5.6", {}, async (server) => {
    await load(server);
    expect(await copyAndCompare(server, nothing(), await findServer("mysql-9.7"))).toBe(await executed(server));
  });
});
