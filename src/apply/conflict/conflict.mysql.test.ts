import { expect, test } from "vitest";
import { ConflictBench, describeConflicts, FOREIGN_UUID } from "../../../test/helpers/conflict-cases.ts";
import { withServer } from "../../../test/helpers/servers.ts";

describeConflicts("mysql-9.7");

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
