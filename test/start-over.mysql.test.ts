import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { rows, run } from "./helpers/channel.ts";
import { CliProcess } from "./helpers/engine-process.ts";
import { useServer } from "./helpers/servers.ts";

const source = useServer("mysql-9.7");
const target = useServer("mysql-9.7");

test("a channel whose binlogs were purged says so, and --init=restart brings it back; its files are its user's alone", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "abreast-start-over-"));
  const replicate = async (...more: string[]): Promise<{ end: unknown; errors: string }> => {
    const servers = [`--source=${source().url}`, `--target=${target().url}`];
    const cli = new CliProcess(["replicate", ...servers, `--folder=${folder}/channel`, "--until=now", ...more]);
    return { end: await cli.ended, errors: cli.errors };
  };
  try {
    await run(
      source(),
      "CREATE DATABASE shop",
      "CREATE TABLE shop.t(id INT PRIMARY KEY)",
      "INSERT INTO shop.t VALUES (1)",
    );
    expect(await replicate("--init")).toMatchObject({ end: 0 });

    await run(source(), "INSERT INTO shop.t VALUES (2)", "FLUSH BINARY LOGS", "INSERT INTO shop.t VALUES (3)");
    const [status] = await rows(source(), "SHOW BINARY LOG STATUS");
    await run(source(), `PURGE BINARY LOGS TO '${status?.[0]}'`);
    const purged = await replicate("--init");
    expect(purged.end).toBe(3);
    expect(purged.errors).toContain("GTID_PURGED");
    expect(purged.errors).toContain("--init=restart");

    expect(await replicate("--init=restart")).toMatchObject({ end: 0 });
    expect(await rows(target(), "SELECT id FROM shop.t ORDER BY id")).toEqual([["1"], ["2"], ["3"]]);
    await run(source(), "INSERT INTO shop.t VALUES (4)");
    expect(await replicate("--init")).toMatchObject({ end: 0 });
    expect(await rows(target(), "SELECT MAX(id) FROM shop.t")).toEqual([["4"]]);

    const relay = path.join(folder, "channel", "relay");
    expect((await stat(relay)).mode & 0o077).toBe(0);
    for (const file of await readdir(relay)) expect((await stat(path.join(relay, file))).mode & 0o077, file).toBe(0);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}, 120_000);
