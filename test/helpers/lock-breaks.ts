import { beforeAll, describe, expect, test } from "vitest";
import type { ServerAddress } from "../../src/base/server-url.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { catchUp, channelOptions, rows, run } from "./channel.ts";
import { useServer } from "./servers.ts";

const LONG = 4_000;
const SHORT = 12;

/**
 * One long transaction that comes to a hot row last, and short ones behind it that begin with that row: with wrong guesses (policy optimistic) the short ones hold the row
 * and wait for their turn, and the long one waits for the row.
 */
export function testLockBreaks(flavour: ServerFlavour): void {
  const source = useServer(flavour);
  const target = useServer(flavour, { options: ["--innodb-lock-wait-timeout=40"] });
  let from = "";

  beforeAll(async () => {
    await run(source(), "CREATE DATABASE d", "CREATE TABLE d.t(id INT PRIMARY KEY, v INT)");
    const executed = flavour.startsWith("mariadb-") ? "@@gtid_current_pos" : "@@GLOBAL.gtid_executed";
    from = (await rows(source(), `SELECT ${executed}`))[0]?.[0] ?? "";
    const values = Array.from({ length: LONG }, (_, id) => `(${id},0)`).join(",");
    await run(source(), `INSERT INTO d.t VALUES ${values}`);
    for (let round = 0; round < 3; round++) {
      await run(
        source(),
        `BEGIN; UPDATE d.t SET v=v+1 WHERE id > 0; UPDATE d.t SET v=(v*3+1) % 100003 WHERE id=0; COMMIT`,
      );
      await run(
        source(),
        ...Array.from({ length: SHORT }, (_, n) => `UPDATE d.t SET v=(v*3+${n}) % 100003 WHERE id=0`),
      );
    }
  });

  const apply = async (address: ServerAddress): Promise<void> => {
    await run(
      target(),
      "DROP DATABASE IF EXISTS d",
      "CREATE DATABASE d",
      "CREATE TABLE d.t(id INT PRIMARY KEY, v INT)",
    );
    const timeouts = "SHOW GLOBAL STATUS LIKE 'Innodb_row_lock_time_max'";
    const engine = await catchUp({
      ...channelOptions(source(), target(), { startFrom: from, policy: "optimistic", workers: 8 }),
      packTransactionsMax: 1,
      target: address,
    });
    const { applied } = engine.status();
    expect(applied.lockBreaks).toBeGreaterThan(0);
    expect(applied.transactions).toBe(1 + 3 * (1 + SHORT));
    // Nobody waited until the target's patience was at its end.
    expect(Number((await rows(target(), timeouts))[0]?.[1])).toBeLessThan(40_000);
    const sums = "SELECT COUNT(*), SUM(v), MAX(IF(id=0,v,0)) FROM d.t";
    expect(await rows(target(), sums)).toEqual(await rows(source(), sums));
  };

  describe("a transaction that waits for a lock of a later one goes on, and the later one is applied after it", () => {
    test("when the target says who waits for whom", async () => {
      await apply(target().address);
    });

    test("when the target's account may not ask", async () => {
      const grants = flavour.startsWith("mariadb-")
        ? [
            "GRANT ALL ON d.* TO blind@'%'",
            "GRANT ALL ON abreast.* TO blind@'%'",
            "GRANT BINLOG REPLAY, BINLOG ADMIN ON *.* TO blind@'%'",
          ]
        : [
            "GRANT ALL ON d.* TO blind@'%'",
            "GRANT ALL ON abreast.* TO blind@'%'",
            "GRANT REPLICATION_APPLIER, SESSION_VARIABLES_ADMIN ON *.* TO blind@'%'",
          ];
      await run(target(), "CREATE USER blind@'%' IDENTIFIED BY 'x'", ...grants);
      await apply({ ...target().address, user: "blind", password: "x" });
    });
  });
}
