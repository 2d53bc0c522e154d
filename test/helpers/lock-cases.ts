import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { interrupt, LockWaits } from "../../src/apply/lock-waits.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { Session } from "../../src/wire/session.ts";
import { makeUser } from "./accounts.ts";
import { run } from "./channel.ts";
import { useServer } from "./servers.ts";

/** What the lock breaker relies on, on that server. */
export function describeLockWaits(flavour: ServerFlavour): void {
  describe(flavour, () => {
    const server = useServer(flavour);
    const sessions: Session[] = [];
    let control: Session;
    let waits: LockWaits;

    const open = async (): Promise<Session> => {
      const session = await Session.connect(server().address);
      sessions.push(session);
      return session;
    };

    beforeAll(async () => {
      await run(
        server(),
        "CREATE DATABASE locks",
        "CREATE TABLE locks.t(id INT PRIMARY KEY, u INT UNIQUE, v INT) ENGINE=InnoDB",
        "CREATE TABLE locks.many(id INT PRIMARY KEY AUTO_INCREMENT, v INT) ENGINE=InnoDB",
        "INSERT INTO locks.t VALUES (1,1,1),(2,2,2),(3,3,3)",
      );
      control = await open();
      waits = await LockWaits.open(control);
    });
    afterAll(() => {
      for (const session of sessions) session.destroy();
    });

    test("nobody waits, and that is what it says", async () => {
      expect(waits.cannotBecause).toBeUndefined();
      expect(await waits.read([control.connectionId])).toEqual([]);
    });

    test("a chain of three is two waits, each told by connection", async () => {
      const [first, second, third] = [await open(), await open(), await open()];
      await first.execute("BEGIN; UPDATE locks.t SET v=9 WHERE id=1");
      await second.execute("BEGIN; UPDATE locks.t SET v=9 WHERE id=2");
      const waiting = [second.execute("UPDATE locks.t SET v=9 WHERE id=1")];
      waiting.push(third.execute("BEGIN; UPDATE locks.t SET v=9 WHERE id=2"));
      const ids = [first, second, third].map((session) => session.connectionId);
      const seen = await eventually(waits, ids, 2);
      expect(seen).toEqual([
        { waiting: second.connectionId, blocking: first.connectionId },
        { waiting: third.connectionId, blocking: second.connectionId },
      ]);
      // Only what was asked for.
      expect(await waits.read([third.connectionId])).toEqual(seen.slice(1));
      await first.execute("ROLLBACK");
      await waiting[0];
      await second.execute("ROLLBACK");
      await waiting[1];
      await third.execute("ROLLBACK");
      expect(await waits.read(ids)).toEqual([]);
    });

    test("who has inserted the row is the blocker, not who meets it first", async () => {
      const [first, second, third] = [await open(), await open(), await open()];
      await first.execute("BEGIN; INSERT INTO locks.t VALUES (50,50,1)");
      const insert = (session: Session, id: number): Promise<unknown> =>
        session.execute(`BEGIN; INSERT INTO locks.t VALUES (${id},50,1)`).catch(() => {});
      const both = [insert(second, 51), insert(third, 52)];
      const seen = await eventually(waits, [second.connectionId, third.connectionId], 2);
      expect(seen).toContainEqual({ waiting: second.connectionId, blocking: first.connectionId });
      expect(seen).toContainEqual({ waiting: third.connectionId, blocking: first.connectionId });
      await first.execute("COMMIT");
      await Promise.all(both);
      for (const session of [second, third]) await session.execute("ROLLBACK");
      await run(server(), "DELETE FROM locks.t WHERE id=50");
    });

    test("a transaction with 100,000 row locks is found as the blocker, and asked often it still sees what is new", async () => {
      const [first, second] = [await open(), await open()];
      const rows = Array.from({ length: 1_000 }, () => "(1)").join(",");
      for (let i = 0; i < 100; i++) await first.execute(`INSERT INTO locks.many(v) VALUES ${rows}`);
      await first.execute("BEGIN; UPDATE locks.many SET v=2");
      expect(await waits.read([second.connectionId])).toEqual([]);
      const waiting = second.execute("UPDATE locks.many SET v=3 WHERE id=(SELECT 1)");
      const seen = await eventually(waits, [second.connectionId], 1);
      expect(seen).toEqual([{ waiting: second.connectionId, blocking: first.connectionId }]);
      await first.execute("ROLLBACK");
      await waiting;
    });

    test("an account that may not know says why, and may interrupt its own sessions all the same", async () => {
      const address = await makeUser(server(), []);
      await run(server(), `GRANT SELECT, UPDATE ON locks.* TO '${address.user}'@'%'`);
      const [blocker, victim] = [await open(), await Session.connect(address)];
      const own = await Session.connect(address);
      sessions.push(victim, own);
      const blind = await LockWaits.open(own);
      expect(await blind.read([victim.connectionId])).toBeUndefined();
      expect(blind.cannotBecause).toMatch(/denied.*grant the target's user (PROCESS|SELECT)/);

      await blocker.execute("BEGIN; UPDATE locks.t SET v=7 WHERE id=1");
      await victim.execute("BEGIN; UPDATE locks.t SET v=7 WHERE id=3");
      const waiting = victim.execute("UPDATE locks.t SET v=7 WHERE id=1");
      const refused = expect(waiting).rejects.toThrow(/1317/);
      await eventually(waits, [victim.connectionId], 1);
      await interrupt(own, victim.connectionId);
      await victim.execute("DO 0").catch(() => {});
      await refused;
      // The statement is undone, the transaction is not.
      expect(await victim.queryValue("SELECT v FROM locks.t WHERE id=3")).toBe("7");
      await victim.execute("ROLLBACK");
      expect(await victim.queryValue("SELECT v FROM locks.t WHERE id=3")).toBe("3");
      await blocker.execute("ROLLBACK");
    });

    test("a session that is idle in its transaction is not touched, nor what it does next", async () => {
      const session = await open();
      for (const next of ["DO 0", "COMMIT", "ROLLBACK"]) {
        await session.execute("BEGIN; UPDATE locks.t SET v=v+0 WHERE id=1");
        await interrupt(control, session.connectionId);
        await session.execute(next);
        await session.execute("ROLLBACK");
      }
    });

    test("one that is gone is no fault", async () => {
      const session = await open();
      await session.close();
      while ((await control.queryValue(processQuery(session))) !== undefined);
      await interrupt(control, session.connectionId);
    });

    test("whatever moment a kill hits, the session is clean after DO 0 and ROLLBACK, or is lost and its work undone", async () => {
      let session = await open();
      for (let round = 0; round < 300; round++) {
        if (session.closed) session = await open();
        const work = session.execute("BEGIN;UPDATE locks.t SET v=100 WHERE id=2;UPDATE locks.t SET v=100 WHERE id=3");
        work.catch(() => {});
        for (let spin = 0; spin < round % 40; spin++) await Promise.resolve();
        await interrupt(control, session.connectionId);
        await session.execute("DO 0").catch(() => {});
        const cleaned = await session.execute("ROLLBACK").then(
          () => true,
          () => false,
        );
        expect(cleaned).toBe(!session.closed);
        expect(await control.queryValue("SELECT v FROM locks.t WHERE id=2")).toBe("2");
        if (cleaned) expect(await session.queryValue("SELECT v FROM locks.t WHERE id=2")).toBe("2");
      }
    });
  });
}

const processQuery = (session: Session): string =>
  `SELECT ID FROM information_schema.PROCESSLIST WHERE ID=${session.connectionId}`;

/** Reads as fast as it is answered until that many waits are there: a reader that only repeats itself never ends. */
async function eventually(
  waits: LockWaits,
  ids: readonly number[],
  count: number,
): Promise<{ waiting: number; blocking: number }[]> {
  for (;;) {
    const seen = await waits.read(ids);
    if (seen !== undefined && seen.length >= count) return seen.toSorted((a, b) => a.waiting - b.waiting);
  }
}
