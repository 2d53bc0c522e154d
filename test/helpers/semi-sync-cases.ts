import { cp, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { RowDataPacket } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { type Receiving, relayEvents, startReceiving, until, untilCaughtUp, withReceiving } from "./receiving.ts";
import { query, useServer, withConnection } from "./servers.ts";

export interface SemiSyncVariant {
  name: string;
  flavour: ServerFlavour;
  /** Statements that install the source's side; it stays off. */
  install: string;
  /** `source` or `master`, as the server's variables say. */
  word: "source" | "master";
}

/** The source waits this long for us before it goes on alone: no test may come near it. */
const TIMEOUT_MS = 30_000;

/** What holds on every source that has semi-synchronous replication. */
export function describeSemiSync({ name, flavour, install, word }: SemiSyncVariant): void {
  describe(`${name}, semi-synchronous`, () => {
    const server = useServer(flavour);
    const status = async (): Promise<Record<string, number>> => {
      const rows = await query<RowDataPacket[]>(server(), `SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_${word}%'`);
      return Object.fromEntries(
        rows.map((row) => [String(row["Variable_name"]).replace(`Rpl_semi_sync_${word}_`, ""), Number(row["Value"])]),
      );
    };

    test("a source that has it off gets a warning and a plain stream", async () => {
      if (install !== "") await query(server(), install);
      await query(server(), "CREATE DATABASE d; CREATE TABLE d.t(id INT PRIMARY KEY AUTO_INCREMENT, v VARCHAR(100))");
      await withReceiving({ source: server().address, start: "now", semiSync: true }, async (receiving) => {
        await until(receiving, "stream", () => receiving.receiver.status.state === "Waiting for source to send event");
        await query(server(), "INSERT INTO d.t(v) VALUES('plain')");
        await untilCaughtUp(receiving, server());
        expect(receiving.receiver.status).toMatchObject({ semiSync: false, acknowledgements: 0, transactions: 1 });
        expect(receiving.warnings).toContainEqual(expect.stringContaining("semi-synchronous replication off"));
      });
    });

    test("every commit is acknowledged, and the source's own counters agree", async () => {
      await query(
        server(),
        `SET GLOBAL rpl_semi_sync_${word}_enabled=1, GLOBAL rpl_semi_sync_${word}_timeout=${TIMEOUT_MS}`,
      );
      await withReceiving({ source: server().address, start: "now", semiSync: true }, async (receiving) => {
        await until(receiving, "stream", () => receiving.receiver.status.semiSync);
        const before = await status();
        const write = (writer: number): Promise<void> =>
          withConnection(server(), async (connection) => {
            for (let row = 0; row < 25; row++) await connection.query(`INSERT INTO d.t(v) VALUES('${writer}-${row}')`);
          });
        await write(0);
        const alone = await status();
        expect(alone["clients"]).toBe(1);
        expect(alone["yes_tx"]).toBe((before["yes_tx"] ?? 0) + 25);
        // MySQL counts a group commit once.
        await Promise.all([1, 2, 3].map(write));
        const together = await status();
        expect(together["yes_tx"]).toBeGreaterThan(alone["yes_tx"] ?? 0);
        expect(together["no_tx"]).toBe(before["no_tx"]);
        expect(together["no_times"]).toBe(before["no_times"]);
        expect(receiving.receiver.status.acknowledgements).toBeGreaterThan(0);
        // Events are not told from headers only by chance: all of them arrived whole.
        await untilCaughtUp(receiving, server());
        expect(receiving.receiver.status.transactions).toBe(100);
      });
    });

    test("a commit waits until our relay log is on disk", async () => {
      await withReceiving({ source: server().address, start: "now", semiSync: true }, async (receiving) => {
        await until(receiving, "stream", () => receiving.receiver.status.semiSync);
        let open: () => void = () => {};
        const gate = new Promise<void>((resolve) => (open = resolve));
        const flush = receiving.relay.flush.bind(receiving.relay);
        receiving.relay.flush = async () => {
          await gate;
          await flush();
        };
        const { transactions } = receiving.receiver.status;
        let committed = false;
        const commit = query(server(), "INSERT INTO d.t(v) VALUES('gated')").then(() => (committed = true));
        await until(receiving, "have the transaction", () => receiving.receiver.status.transactions > transactions);
        await new Promise((resolve) => setTimeout(resolve, 300));
        expect(committed).toBe(false);
        open();
        await commit;
        expect((await status())["no_tx"]).toBe(0);
      });
    });

    test("a commit whose acknowledgement we owed when we ended is acknowledged by the next receiver, which does not get it again", async () => {
      const first = await startReceiving({ source: server().address, start: "now", semiSync: true });
      let second: Receiving | undefined;
      let open: () => void = () => {};
      const gate = new Promise<void>((resolve) => (open = resolve));
      try {
        await until(first, "stream", () => first.receiver.status.semiSync);
        // On disk, but not acknowledged: what a kill at that instant leaves.
        const flush = first.relay.flush.bind(first.relay);
        first.relay.flush = async () => {
          await flush();
          if (first.receiver.status.transactions > 0) await gate;
        };
        const commit = query(server(), "INSERT INTO d.t(v) VALUES('owed')");
        await until(first, "have the transaction", () => first.receiver.status.transactions === 1);
        await flush();
        const left = await mkdtemp(path.join(tmpdir(), "abreast-owed-"));
        await cp(first.folder, left, { recursive: true, filter: (name) => !name.endsWith(".lock") });
        second = await startReceiving({
          source: server().address,
          start: "now",
          semiSync: true,
          folder: left,
          heartbeatMs: 300,
          serverId: 4_000_002,
          uuid: "aaaaaaaa-bbbb-4ccc-8ddd-ffffffffffff",
        });
        await commit;
        expect(second.receiver.status.transactions).toBe(0);
        expect((await status())["no_tx"]).toBe(0);
      } finally {
        await second?.stop();
        open();
        await first.stop();
      }
    });

    test("what a client saw committed before the source was killed is in the relay log", async () => {
      const receiving = await startReceiving({ source: server().address, start: "now", semiSync: true });
      try {
        await until(receiving, "stream", () => receiving.receiver.status.semiSync);
        const seen: string[] = [];
        const writers = Array.from({ length: 4 }, (_, writer) =>
          withConnection(server(), async (connection) => {
            for (let row = 0; row < 10_000; row++) {
              await connection.query(`INSERT INTO d.t(v) VALUES('seen-${writer}-${row}-')`);
              seen.push(`seen-${writer}-${row}-`);
            }
          }).catch(() => {}),
        );
        await until(receiving, "receive 200 transactions", () => receiving.receiver.status.transactions >= 200);
        await server().kill();
        await Promise.all(writers);
        receiving.receiver.stop();
        await receiving.done;
        const received = Buffer.concat(await relayEvents(receiving.relay)).toString("latin1");
        expect(seen.length).toBeGreaterThan(100);
        expect(seen.filter((text) => !received.includes(text))).toEqual([]);
      } finally {
        await receiving.stop();
      }
    });
  });
}
