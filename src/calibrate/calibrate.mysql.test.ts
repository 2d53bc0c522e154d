import { expect, it } from "vitest";
import { ReplicationError } from "../base/error.ts";
import type { ServerAddress } from "../base/server-url.ts";
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
      // What is small may come out as nothing on a busy machine; a run and its commit never do.
      expect(costs.roundTripUs).toBeGreaterThanOrEqual(0);
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
    await expect(calibrate({ target, ...QUIET })).rejects.toMatchObject({
      code: "ACCESS_DENIED",
      hint: expect.stringMatching(/ALL ON abreast_calibration\.\*.*REPLICATION_APPLIER.*SUPER/),
    });
  });
}, 120_000);

/** Ends it when the sessions are at work. @returns what it said */
async function endedEarly(target: ServerAddress, binlog: boolean): Promise<string[]> {
  const stop = new AbortController();
  const said: string[] = [];
  const onProgress = (text: string): void => {
    said.push(text);
    if (text.includes("one session")) setTimeout(() => stop.abort(new ReplicationError("STOPPED", "enough")), 300);
  };
  const ended = calibrate({ target, binlog, signal: stop.signal, log: QUIET.log, onProgress });
  await expect(ended).rejects.toMatchObject({ code: "STOPPED" });
  return said;
}

it("ended early it leaves nothing behind, nor in the binlog, unless that is wanted or the account may not leave it out", async () => {
  await withServer("mysql-9.7", {}, async (server) => {
    await query(server, "CREATE USER calibrator@'127.0.0.1' IDENTIFIED BY 'secret'");
    await query(server, "GRANT REPLICATION_APPLIER ON *.* TO calibrator@'127.0.0.1'");
    await query(server, `GRANT ALL ON ${SCRATCH}.* TO calibrator@'127.0.0.1'`);
    const state = async () =>
      JSON.stringify([await query(server, "SELECT @@gtid_executed AS gtids"), await query(server, "SHOW BINARY LOGS")]);
    const before = await state();

    expect((await endedEarly(server.address, false))[0]).toContain("the target's binlog is left out");
    expect(await state()).toBe(before);
    expect(await query(server, `SHOW DATABASES LIKE '${SCRATCH}'`)).toEqual([]);

    const account = { ...server.address, user: "calibrator", password: "secret" };
    expect((await endedEarly(account, false))[0]).toContain("the account may not leave it out");
    expect(await state()).not.toBe(before);
    expect(await query(server, `SHOW DATABASES LIKE '${SCRATCH}'`)).toEqual([]);

    expect((await endedEarly(server.address, true))[0]).toMatch(/into the target's binlog, with GTIDs of its own$/);
    expect(await query(server, `SHOW DATABASES LIKE '${SCRATCH}'`)).toEqual([]);
  });
}, 120_000);
