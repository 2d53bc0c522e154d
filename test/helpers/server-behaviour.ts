import { access } from "node:fs/promises";
import type { RowDataPacket } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { startServer } from "../../src/sandbox/start.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { query, useServer, withServer } from "./servers.ts";

/** What every local server promises, whatever its flavour. */
export function describeServer(flavour: ServerFlavour): void {
  const product = flavour.startsWith("mariadb") ? "mariadb" : "mysql";

  describe(flavour, () => {
    const server = useServer(flavour);

    test("is of its series and reachable as root with every privilege", async () => {
      const row = await firstRow(server(), "SELECT VERSION() AS version, CURRENT_USER() AS user");
      expect(row["version"]).toContain(server().version);
      expect(server().version.startsWith(flavour.replace(/^\w+-/, ""))).toBe(true);
      expect(row["user"]).toBe("root@127.0.0.1");
      await query(server(), "CREATE USER u@'%'; GRANT ALL ON *.* TO u@'%' WITH GRANT OPTION; DROP USER u@'%'");
      expect(server().url).toBe(`${product}://root@127.0.0.1:${server().address.port}`);
    });

    test("has a row-format binlog, its own server id and GTIDs", async () => {
      const row = await firstRow(
        server(),
        "SELECT @@log_bin AS logBin, @@binlog_format AS format, @@server_id AS serverId",
      );
      expect(row).toEqual({ logBin: 1, format: "ROW", serverId: server().serverId });
      if (product === "mariadb") {
        await query(server(), "CREATE DATABASE gtid; DROP DATABASE gtid");
        expect((await firstRow(server(), "SELECT @@gtid_binlog_pos AS gtid"))["gtid"]).toMatch(/^0-\d+-\d+$/);
      } else {
        expect((await firstRow(server(), "SELECT @@gtid_mode AS mode"))["mode"]).toBe("ON");
      }
    });

    test("runs beside another one of its flavour, with another identity", async () => {
      await withServer(flavour, {}, async (other) => {
        expect(other.address.port).not.toBe(server().address.port);
        expect(other.serverId).not.toBe(server().serverId);
        expect(other.dataFolder).not.toBe(server().dataFolder);
        if (product === "mysql") {
          const uuid = "SELECT @@server_uuid AS uuid";
          expect(await firstRow(other, uuid)).not.toEqual(await firstRow(server(), uuid));
        }
      });
    });

    test("keeps data, port and server id over a restart, and takes new options", async () => {
      await query(
        server(),
        "CREATE DATABASE kept; CREATE TABLE kept.t (id INT PRIMARY KEY); INSERT INTO kept.t VALUES (1)",
      );
      const { url, pid } = server();
      await server().restart(["--max-connections=77"]);
      expect(server().url).toBe(url);
      expect(server().pid).not.toBe(pid);
      const row = await firstRow(
        server(),
        "SELECT id, @@max_connections AS connections, @@server_id AS serverId FROM kept.t",
      );
      expect(row).toEqual({ id: 1, connections: 77, serverId: server().serverId });
    });

    test("recovers committed data after kill -9", async () => {
      await query(server(), "CREATE DATABASE crash; CREATE TABLE crash.t (id INT PRIMARY KEY) ENGINE=InnoDB");
      await query(server(), "INSERT INTO crash.t VALUES (42)");
      await server().kill();
      expect(server().isRunning()).toBe(false);
      await expect(query(server(), "SELECT 1")).rejects.toThrow("ECONNREFUSED");
      await server().restart();
      expect(await firstRow(server(), "SELECT id FROM crash.t")).toEqual({ id: 42 });
    });
  });

  test(`${flavour} leaves no process and no file when it stops`, async () => {
    const server = await startServer({ flavour });
    await server.stop();
    expect(server.isRunning()).toBe(false);
    await expect(access(`/proc/${server.pid}`)).rejects.toThrow("ENOENT");
    await expect(access(server.runFolder)).rejects.toThrow("ENOENT");
    // Once more does no harm.
    await server.stop();
  });
}

export async function firstRow(server: SandboxServer, sql: string): Promise<RowDataPacket> {
  const [row] = await query<RowDataPacket[]>(server, sql);
  if (row === undefined) throw new Error(`no row for ${sql}`);
  return row;
}
