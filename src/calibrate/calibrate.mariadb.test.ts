import { expect, it } from "vitest";
import { query, withServer } from "../../test/helpers/servers.ts";
import { calibrate } from "./calibrate.ts";
import { SCRATCH } from "./scratch.ts";

it("measures MariaDB and leaves nothing behind", async () => {
  await withServer("mariadb-10.11", {}, async (server) => {
    const log = { info: () => {}, warn: () => {} };
    const costs = await calibrate({ target: server.address, log, onProgress: () => {} });
    // What is small may come out as nothing on a busy machine; a run and its commit never do.
    expect(costs.roundTripUs).toBeGreaterThanOrEqual(0);
    expect(costs.target.runUs + costs.target.commitUs + costs.flushUs).toBeGreaterThan(0);
    expect(await query(server, `SHOW DATABASES LIKE '${SCRATCH}'`)).toEqual([]);
  });
}, 120_000);
