import { expect, test } from "vitest";
import { describeLockWaits } from "../../test/helpers/lock-cases.ts";
import { withSession } from "../../test/helpers/channel.ts";
import { withServer } from "../../test/helpers/servers.ts";
import { LockWaits } from "./lock-waits.ts";

describeLockWaits("mysql-9.7");
describeLockWaits("mysql-5.6");

test("with performance_schema off MySQL 8 and later show no waits at all: that is said, not taken for none", async () => {
  await withServer("mysql-9.7", { options: ["--performance-schema=OFF"] }, (server) =>
    withSession(server, async (session) => {
      const waits = await LockWaits.open(session);
      expect(await waits.read([1])).toBeUndefined();
      expect(waits.cannotBecause).toBe("performance_schema is off on the target");
    }),
  );
});
