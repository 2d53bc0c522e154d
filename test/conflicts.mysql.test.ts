import { beforeAll, describe, expect, test } from "vitest";
import { ReplicationError } from "../src/base/error.ts";
import type { EngineOptions } from "../src/engine/options.ts";
import { beginChannel, catchUp, channelOptions, rows, run } from "./helpers/channel.ts";
import { useServer } from "./helpers/servers.ts";

const source = useServer("mysql-9.7");
const target = useServer("mysql-9.7");

/** Three rows of the source, of which the target has one more, one changed and one less. */
async function withDifferingTarget(): Promise<EngineOptions> {
  await run(source(), "CREATE DATABASE d", "CREATE TABLE d.t(id INT PRIMARY KEY, v VARCHAR(20))");
  await run(source(), "INSERT INTO d.t VALUES (1,'one'),(2,'two'),(3,'three')");
  const options = channelOptions(source(), target(), { startFrom: "binlog.000001:4" });
  await catchUp(options);
  await run(target(), "INSERT INTO d.t VALUES (4,'theirs')", "DELETE FROM d.t WHERE id=2");
  return options;
}

const changes = [
  "INSERT INTO d.t VALUES (4,'four')",
  "UPDATE d.t SET v='zwei' WHERE id=2",
  "DELETE FROM d.t WHERE id=1",
];
const target4 = (): Promise<(string | null)[][]> => rows(target(), "SELECT id, v FROM d.t ORDER BY id");

describe("a target that differs", () => {
  let options: EngineOptions;

  beforeAll(async () => {
    options = await withDifferingTarget();
    await run(source(), ...changes);
  });

  test("stops at the row, and says which one, with both values, the GTID and the position", async () => {
    const error = await catchUp(options).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ReplicationError);
    const { code, message, where, hint } = error as ReplicationError;
    expect(code).toBe("CONFLICT");
    expect(message).toContain("d.t");
    expect(message).toContain("PRIMARY");
    expect(message).toContain("four");
    expect(message).toContain("theirs");
    expect(where.gtid).toMatch(/:\d+$/);
    expect(where.position).toBeGreaterThan(4);
    expect(hint).toContain("--on-conflict");
  });

  test("a transaction that is named to be skipped is passed over, and counted", async () => {
    const stopped = (await catchUp(options).catch((caught: unknown) => caught)) as ReplicationError;
    const next = (await catchUp({ ...options, skip: [stopped.where.gtid ?? ""] }).catch(
      (caught: unknown) => caught,
    )) as ReplicationError;
    // The next one is the update of the missing row.
    expect(next.message).toContain("id=2");
    expect(next.message).toContain("no such row");
    expect(await target4()).toEqual([
      ["1", "one"],
      ["3", "three"],
      ["4", "theirs"],
    ]);
  });

  test("rows that conflict are left out on request, counted, and all the rest is applied", async () => {
    const engine = await catchUp({ ...options, onConflict: "skip" });
    expect(engine.status().applied).toMatchObject({ conflictsSkipped: 1, conflictsOverwritten: 0 });
    expect(await target4()).toEqual([
      ["3", "three"],
      ["4", "theirs"],
    ]);
  });
});

test("rows that conflict are overwritten on request, also in a packed run, and only those are counted", async () => {
  await run(source(), "CREATE DATABASE o", "CREATE TABLE o.t(id INT PRIMARY KEY, v VARCHAR(20) UNIQUE)");
  const options = channelOptions(source(), target());
  await run(target(), "CREATE DATABASE o", "CREATE TABLE o.t(id INT PRIMARY KEY, v VARCHAR(20) UNIQUE)");
  await beginChannel(options);
  await run(target(), "INSERT INTO o.t VALUES (7,'x7'),(50,'x9')");
  await run(source(), ...Array.from({ length: 20 }, (_, id) => `INSERT INTO o.t VALUES (${id},'x${id}')`));
  const engine = await catchUp({ ...options, onConflict: "overwrite" });
  expect(engine.status().applied).toMatchObject({ conflictsSkipped: 0, conflictsOverwritten: 2 });
  const sql = "SELECT id, v FROM o.t ORDER BY id";
  expect(await rows(target(), sql)).toEqual(await rows(source(), sql));
});
