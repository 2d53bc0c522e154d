import { expect, test } from "vitest";
import { describeConflict } from "./describe.ts";
import {
  ConflictBench,
  describeConflicts,
  describeConflictsAcross,
  FOREIGN_UUID,
} from "../../../test/helpers/conflict-cases.ts";
import { withServer } from "../../../test/helpers/servers.ts";

describeConflicts("mysql-9.7");
describeConflictsAcross("mysql-9.7", "mysql-5.6");

test("a key that the target made for itself shifts its columns, and the row is found all the same", async () => {
  await withServer("mysql-9.7", {}, async (server) => {
    const bench = new ConflictBench(() => server);
    await bench.open("own");
    await bench.run(
      "CREATE DATABASE c",
      "CREATE TABLE c.t(a INT, d DATE)",
      "INSERT INTO c.t VALUES (1,'2026-07-05'),(2,NULL)",
    );
    const transaction = await bench.logged("DELETE FROM c.t WHERE a=1");
    await bench.run("SET sql_generate_invisible_primary_key=ON", "DROP TABLE c.t", "CREATE TABLE c.t(a INT, d DATE)");
    expect(await describeConflict(bench.worker, bench.job(transaction))).toMatchObject({
      kind: "missing",
      keyValues: "a=1, d=2026-07-05",
      target: undefined,
    });
    expect(await bench.resolve(transaction, "overwrite")).toMatchObject({ skipped: 1, overwritten: 0 });
    bench.close();
  });
});

test("with preserved GTIDs each transaction keeps its own, also one of which nothing is left", async () => {
  await withServer("mysql-9.7", {}, async (server) => {
    const bench = new ConflictBench(() => server);
    await bench.open("preserve");
    await bench.run("CREATE DATABASE c", "CREATE TABLE c.t(id INT PRIMARY KEY, v INT)");
    const transaction = await bench.logged("INSERT INTO c.t VALUES (1,1)");
    expect(await bench.resolve(transaction, "skip")).toMatchObject({ skipped: 1 });
    const second = await bench.logged("INSERT INTO c.t VALUES (2,1)");
    expect(await bench.resolve(second, "overwrite")).toMatchObject({ overwritten: 1 });
    const executed = await bench.rows(`SELECT GTID_SUBSET('${FOREIGN_UUID}:1-2',@@GLOBAL.gtid_executed)`);
    expect(executed).toEqual([["1"]]);
    bench.close();
  });
});
