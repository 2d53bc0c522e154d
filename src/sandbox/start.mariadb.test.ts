import { execFileSync } from "node:child_process";
import { access, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { describeServer, firstRow } from "../../test/helpers/server-behaviour.ts";
import { query, withServer } from "../../test/helpers/servers.ts";

describeServer("mariadb-10.11");
describeServer("mariadb-11.8");

test("mariadb-10.11's client and mysqlbinlog run", async () => {
  await withServer("mariadb-10.11", {}, async (server) => {
    const client = server.command("mysql", ["--batch", "--skip-column-names", "--execute=SELECT 6*7"]);
    expect(execFileSync(client.file, client.args, { env: client.env, encoding: "utf8" })).toBe("42\n");
    const mysqlbinlog = server.command("mysqlbinlog", [join(server.dataFolder, "binlog.000001")]);
    expect(execFileSync(mysqlbinlog.file, mysqlbinlog.args, { env: mysqlbinlog.env, encoding: "utf8" })).toContain(
      "DELIMITER",
    );
  });
});

test("a data folder of the caller's is filled once, kept at the end and used again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "abreast-test data-"));
  try {
    await withServer("mariadb-10.11", { dataFolder: folder }, async (server) => {
      await query(server, "CREATE DATABASE mine");
    });
    await access(folder);
    await withServer("mariadb-10.11", { dataFolder: folder }, async (server) => {
      expect(await firstRow(server, "SHOW DATABASES LIKE 'mine'")).toBeDefined();
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a data folder whose filling was interrupted is filled again", async () => {
  const folder = await mkdtemp(join(tmpdir(), "abreast-test-"));
  try {
    await writeFile(join(folder, "ibdata1"), "half a file");
    await writeFile(join(folder, "abreast-filling"), "");
    await withServer("mariadb-10.11", { dataFolder: folder }, async (server) => {
      expect(await firstRow(server, "SELECT 1 AS one")).toEqual({ one: 1 });
    });
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a server stopped with keepData starts again on its temporary data", async () => {
  await withServer("mariadb-10.11", {}, async (server) => {
    await query(server, "CREATE DATABASE kept");
    await server.stop({ keepData: true });
    expect(server.isRunning()).toBe(false);
    await server.restart();
    expect(await firstRow(server, "SHOW DATABASES LIKE 'kept'")).toBeDefined();
    await server.stop();
    await expect(server.restart()).rejects.toMatchObject({
      code: "SANDBOX",
      message: expect.stringContaining("removed"),
    });
  });
});
