import { readdirSync } from "node:fs";
import type { RowDataPacket } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { makeUser } from "../../test/helpers/accounts.ts";
import { query, useServer } from "../../test/helpers/servers.ts";
import type { SandboxServer } from "../sandbox/start.ts";
import { Session } from "./session.ts";

describe.each(["mariadb-10.11", "mariadb-11.8"] as const)("%s", (flavour) => {
  const server = useServer(flavour, { options: ["--max-allowed-packet=1G"] });

  test("mysql_native_password logs in, with and without a password", async () => {
    const address = await makeUser(server(), []);
    for (const login of [address, server().address]) {
      const session = await Session.connect(login);
      expect(session.serverVersion.flavour).toBe("mariadb");
      expect(session.serverVersion.number).toBe(/^\d+\.\d+\.\d+/.exec(server().version)?.[0]);
      await session.close();
    }
  });

  // PARSEC came with 11.6.
  for (const plugin of flavour === "mariadb-11.8" ? ["ed25519", "parsec"] : ["ed25519"]) {
    test(`${plugin} logs in, with passwords of any length, and refuses a wrong one`, async () => {
      expect(await installPlugin(server(), plugin)).toBe(true);
      for (const password of ["s3cret", "x".repeat(32), "ä long one, longer than thirty-two bytes"]) {
        const identified = `IDENTIFIED VIA ${plugin} USING PASSWORD('${password}')`;
        const address = await makeUser(server(), [], { identified, password });
        const session = await Session.connect(address);
        expect(await session.queryValue("SELECT 1")).toBe("1");
        await session.close();
        await expect(Session.connect({ ...address, password: "wrong" })).rejects.toMatchObject({
          code: "ACCESS_DENIED",
        });
      }
    });
  }

  test("40 MB go both ways", async () => {
    const session = await Session.connect(server().address);
    const big = Buffer.alloc(40_000_000, "abcdefghijklm");
    const [result] = await session.execute([Buffer.from("SELECT '"), big, Buffer.from("'")], { binary: true });
    expect(result?.rows[0]?.[0]?.equals(big)).toBe(true);
    await session.close();
  });

  test("deadlock and lock wait are temporary", async () => {
    const [one, two] = await Promise.all([Session.connect(server().address), Session.connect(server().address)]);
    await one.execute(
      "CREATE DATABASE locks; CREATE TABLE locks.t(id INT PRIMARY KEY, v INT); INSERT INTO locks.t VALUES(1,0),(2,0)",
    );
    await one.execute("BEGIN; UPDATE locks.t SET v=1 WHERE id=1");
    await two.execute("SET innodb_lock_wait_timeout=1; BEGIN; UPDATE locks.t SET v=2 WHERE id=2");
    const waits = one.execute("UPDATE locks.t SET v=1 WHERE id=2").catch((error: unknown) => error);
    const other = two.execute("UPDATE locks.t SET v=2 WHERE id=1").catch((error: unknown) => error);
    expect(await Promise.all([waits, other])).toContainEqual(
      expect.objectContaining({ code: "APPLY_TEMPORARY", sqlCode: 1213, sqlState: "40001" }),
    );
    await Promise.all([one.execute("ROLLBACK"), two.execute("ROLLBACK")]);
    await one.execute("BEGIN; UPDATE locks.t SET v=3 WHERE id=1");
    await expect(two.execute("UPDATE locks.t SET v=4 WHERE id=1")).rejects.toMatchObject({
      code: "APPLY_TEMPORARY",
      sqlCode: 1205,
    });
    await Promise.all([one.close(), two.close()]);
  });

  test("a killed idle session is lost, with the server's reason if it gives one", async () => {
    const session = await Session.connect(server().address);
    const closed = new Promise<{ code: string }>((resolve) => (session.onClosed = resolve));
    await query(server(), `KILL ${session.connectionId}`);
    expect((await closed).code).toBe("CONNECTION_LOST");
  });

  test("BINLOG at the end of a query of several statements ends the answer there", async () => {
    const session = await Session.connect(server().address);
    const results = await Promise.allSettled([
      session.execute("SELECT 1; BINLOG 'nonsense'"),
      session.execute("SELECT 2"),
    ]);
    expect(results[0]).toMatchObject({ status: "rejected", reason: { code: "APPLY" } });
    expect(results[1]).toMatchObject({ status: "fulfilled", value: [{ rows: [["2"]] }] });
    await session.close();
  });
});

/** Whether this build has it at all. */
async function installPlugin(server: SandboxServer, plugin: string): Promise<boolean> {
  const [row] = await query<RowDataPacket[]>(server, "SELECT @@plugin_dir AS folder");
  if (!readdirSync(String(row?.["folder"])).includes(`auth_${plugin}.so`)) return false;
  await query(server, `INSTALL SONAME 'auth_${plugin}'`);
  return true;
}
