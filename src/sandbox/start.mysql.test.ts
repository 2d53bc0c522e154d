import { execFileSync } from "node:child_process";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import type { RowDataPacket } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { describeServer, firstRow } from "../../test/helpers/server-behaviour.ts";
import { query, useServer } from "../../test/helpers/servers.ts";
import { startServer } from "./start.ts";

describeServer("mysql-9.7");
describeServer("mysql-5.6");

describe("mysql-9.7, more", () => {
  const server = useServer("mysql-9.7", { options: ["--sync-binlog=0", "--max-connections=88"] });

  test("the caller's options win over ours and the server's defaults", async () => {
    const row = await firstRow(server(), "SELECT @@sync_binlog AS syncBinlog, @@max_connections AS connections");
    expect(row).toEqual({ syncBinlog: 0, connections: 88 });
  });

  test("the semi-synchronous plugins can be installed", async () => {
    await query(
      server(),
      "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so';" +
        "INSTALL PLUGIN rpl_semi_sync_replica SONAME 'semisync_replica.so';" +
        "SET GLOBAL rpl_semi_sync_source_enabled = ON",
    );
    const rows = await query<RowDataPacket[]>(server(), "SHOW STATUS LIKE 'Rpl_semi_sync_source_status'");
    expect(rows[0]?.["Value"]).toBe("ON");
  });

  test("its client and its mysqlbinlog run", async () => {
    const client = server().command("mysql", ["--batch", "--skip-column-names", "--execute=SELECT 6*7"]);
    expect(execFileSync(client.file, client.args, { env: client.env, encoding: "utf8" })).toBe("42\n");
    const file = join(server().dataFolder, "binlog.000001");
    const mysqlbinlog = server().command("mysqlbinlog", [file]);
    expect(execFileSync(mysqlbinlog.file, mysqlbinlog.args, { env: mysqlbinlog.env, encoding: "utf8" })).toContain(
      "DELIMITER",
    );
  });

  test("it offers TLS", async () => {
    const rows = await query<RowDataPacket[]>(server(), "SHOW GLOBAL VARIABLES LIKE 'ssl_cert'");
    expect(rows[0]?.["Value"]).toBe("server-cert.pem");
  });

  test("its error log holds what it said", async () => {
    expect(await readFile(server().errorLogFile, "utf8")).toContain("ready for connections");
  });
});

test("an option that the server does not know fails with the server's words and a way out", async () => {
  const failure = startServer({ flavour: "mysql-9.7", options: ["--no-such-option=1"] });
  await expect(failure).rejects.toMatchObject({
    code: "SANDBOX",
    message: expect.stringContaining("no-such-option"),
    hint: "correct the options given to mysqld",
  });
});

test("a port that is taken fails, and says so", async () => {
  const stranger = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => stranger.once("listening", resolve));
  try {
    const { port } = stranger.address() as AddressInfo;
    await expect(startServer({ flavour: "mysql-9.7", port })).rejects.toMatchObject({
      code: "SANDBOX",
      message: expect.stringContaining(`port ${port} is taken`),
    });
  } finally {
    stranger.close();
  }
});
