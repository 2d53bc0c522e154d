import { expect, it } from "vitest";
import { query, withServer } from "../../test/helpers/servers.ts";
import { calibrate } from "./calibrate.ts";
import { SCRATCH } from "./scratch.ts";

const QUIET = { log: { info: () => {}, warn: () => {} }, onProgress: () => {} };

it.each(["mysql-9.7", "mysql-5.6"] as const)(
  "%s: measures with an account that has rights on its scratch schema only, and leaves nothing behind",
  async (flavour) => {
    await withServer(flavour, {}, async (server) => {
      const right = flavour === "mysql-9.7" ? "REPLICATION_APPLIER" : "SUPER";
      await query(server, "CREATE USER calibrator@'127.0.0.1' IDENTIFIED BY 'secret'");
      await query(server, `GRANT ${right} ON *.* TO calibrator@'127.0.0.1'`);
      await query(server, `GRANT ALL ON ${SCRATCH}.* TO calibrator@'127.0.0.1'`);
      const target = { ...server.address, user: "calibrator", password: "secret" };
      const costs = await calibrate({ target, cores: 3, ...QUIET });
      expect(costs.cores).toBe(3);
      expect(costs.roundTripUs).toBeGreaterThan(0);
      expect(costs.target.runUs + costs.target.commitUs + costs.flushUs).toBeGreaterThan(0);
      expect(await query(server, `SHOW DATABASES LIKE '${SCRATCH}'`)).toEqual([]);
    });
  },
  120_000,
);

it("a schema of that name that holds something else is not touched; without rights on it the error says so", async () => {
  await withServer("mysql-9.7", {}, async (server) => {
    await query(server, `CREATE DATABASE ${SCRATCH}; CREATE TABLE ${SCRATCH}.precious (id INT PRIMARY KEY)`);
    await expect(calibrate({ target: server.address, ...QUIET })).rejects.toMatchObject({ code: "CONFIG" });
    expect(await query(server, `SHOW TABLES FROM ${SCRATCH}`)).toHaveLength(1);
    await query(server, "CREATE USER nobody@'127.0.0.1' IDENTIFIED BY 'secret'");
    const target = { ...server.address, user: "nobody", password: "secret" };
    await expect(calibrate({ target, ...QUIET })).rejects.toMatchObject({ code: "ACCESS_DENIED" });
  });
}, 120_000);
