import { setTimeout as sleep } from "node:timers/promises";
import type { RowDataPacket } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { createPrng } from "../../src/base/prng.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { startProxy } from "./proxy.ts";
import {
  binlogEnd,
  relayEvents,
  sourceEvents,
  startReceiving,
  transactionsOf,
  until,
  untilCaughtUp,
  withReceiving,
} from "./receiving.ts";
import { query, useServer } from "./servers.ts";

export interface ReceiverVariant {
  name: string;
  flavour: ServerFlavour;
  options: readonly string[];
  gtids: "mysql" | "mariadb" | "none";
}

let schemas = 0;

/** Some fifty transactions of all shapes and sizes over two binlog files, one row event of 3 MB among them. */
export async function load(server: SandboxServer): Promise<void> {
  const schema = `load_${++schemas}`;
  await query(
    server,
    `CREATE DATABASE ${schema}; USE ${schema};
     CREATE TABLE t(id INT PRIMARY KEY AUTO_INCREMENT, v LONGTEXT);
     INSERT INTO t(v) VALUES('a'),('b'),(REPEAT('c', 100000));
     BEGIN; UPDATE t SET v='d' WHERE id=1; DELETE FROM t WHERE id=2; COMMIT;
     FLUSH BINARY LOGS;
     INSERT INTO t(v) VALUES(REPEAT('e', 3000000));
     ALTER TABLE t ADD COLUMN w INT;
     BEGIN; INSERT INTO t(w) VALUES(1); SAVEPOINT s; INSERT INTO t(w) VALUES(2); ROLLBACK TO s; COMMIT;
     XA START 'x'; INSERT INTO t(w) VALUES(3); XA END 'x'; XA PREPARE 'x'; XA COMMIT 'x'`,
  );
  await query(server, Array.from({ length: 40 }, (_, row) => `INSERT INTO ${schema}.t(w) VALUES(${row})`).join(";"));
}

async function executedGtids(server: SandboxServer, gtids: ReceiverVariant["gtids"]): Promise<string> {
  const variable = gtids === "mysql" ? "gtid_executed" : "gtid_binlog_pos";
  const [row] = await query<RowDataPacket[]>(server, `SELECT @@global.${variable} AS gtids`);
  return String(row?.["gtids"]).replaceAll("\n", "");
}

/** What holds on every source: the relay log has the source's transactions byte for byte, each exactly once, in order. */
export function describeReceiver({ name, flavour, options, gtids }: ReceiverVariant): void {
  describe(name, () => {
    const server = useServer(flavour, { options });

    test("a start at file and position brings everything from there on", async () => {
      const begin = await binlogEnd(server());
      await load(server());
      await withReceiving({ source: server().address, start: `${begin.file}:${begin.position}` }, async (receiving) => {
        await untilCaughtUp(receiving, server());
        const wanted = transactionsOf(await sourceEvents(server(), begin));
        expect(transactionsOf(await relayEvents(receiving.relay))).toEqual(wanted);
        const { status } = receiving.receiver;
        expect(status.transactions).toBe(wanted.length);
        expect(status.state).toBe("Waiting for source to send event");
        expect(status.position).toEqual(await binlogEnd(server()));
        expect(status.facts).toMatchObject({ serverId: server().serverId, gtids, binlogFormat: "ROW" });
        expect(Math.abs(status.facts?.clockOffsetMs ?? Infinity)).toBeLessThan(1000);
      });
    });

    const atGtids = async (): Promise<void> => {
      const begin = await binlogEnd(server());
      const executed = await executedGtids(server(), gtids);
      await load(server());
      await withReceiving({ source: server().address, start: executed }, async (receiving) => {
        await untilCaughtUp(receiving, server());
        const wanted = transactionsOf(await sourceEvents(server(), begin));
        expect(transactionsOf(await relayEvents(receiving.relay))).toEqual(wanted);
        expect(receiving.receiver.status.gtids).toBe(await executedGtids(server(), gtids));
      });
    };
    if (gtids !== "none") test("a start at GTIDs brings everything that they do not hold", atGtids);

    test("a start at now brings what comes after it", async () => {
      await load(server());
      const begin = await binlogEnd(server());
      await withReceiving({ source: server().address, start: "now" }, async (receiving) => {
        await until(receiving, "stream", () => receiving.receiver.status.state === "Waiting for source to send event");
        await load(server());
        await untilCaughtUp(receiving, server());
        const wanted = transactionsOf(await sourceEvents(server(), begin));
        expect(transactionsOf(await relayEvents(receiving.relay))).toEqual(wanted);
      });
    });

    const overTls = async (): Promise<void> => {
      const begin = await binlogEnd(server());
      await load(server());
      const source = { ...server().address, tls: "on" as const };
      await withReceiving({ source, start: `${begin.file}:${begin.position}` }, async (receiving) => {
        await untilCaughtUp(receiving, server());
        const wanted = transactionsOf(await sourceEvents(server(), begin));
        expect(transactionsOf(await relayEvents(receiving.relay))).toEqual(wanted);
      });
    };
    // The others come without certificates.
    if (flavour === "mysql-9.7" || flavour === "mariadb-11.8") test("a stream over TLS is the same stream", overTls);

    test("a receiver that is stopped and started again goes on where its relay log ends", async () => {
      const begin = await binlogEnd(server());
      const first = await startReceiving({ source: server().address, start: "now" });
      try {
        await until(first, "stream", () => first.receiver.status.state === "Waiting for source to send event");
        await load(server());
        await untilCaughtUp(first, server());
      } finally {
        await first.stop({ keep: true });
      }
      expect(first.receiver.status.state).toBe("Stopped");
      await load(server());
      await withReceiving({ source: server().address, start: "now", folder: first.folder }, async (second) => {
        await untilCaughtUp(second, server());
        const wanted = transactionsOf(await sourceEvents(server(), begin));
        expect(transactionsOf(await relayEvents(second.relay))).toEqual(wanted);
        if (gtids !== "none") expect(second.receiver.status.gtids).toBe(await executedGtids(server(), gtids));
      });
    });

    test("connections cut at any byte, many times over: nothing is lost and nothing is there twice", async () => {
      const begin = await binlogEnd(server());
      const start = gtids === "none" ? `${begin.file}:${begin.position}` : await executedGtids(server(), gtids);
      await load(server());
      const seed = Date.now() % 1_000_000;
      const prng = createPrng(seed);
      const cuts = 30;
      // The login and what comes before the events are some 3 kB; small steps meet every part of the protocol, large ones the big events.
      const proxy = await startProxy(server().address, (connection) =>
        connection >= cuts ? {} : { cutAfterBytes: prng.integer(1, connection % 4 === 0 ? 300_000 : 12_000) },
      );
      const source = { ...server().address, port: proxy.port };
      try {
        await withReceiving({ source, start }, async (receiving) => {
          while (proxy.connections <= cuts) {
            const { connections } = proxy;
            await sleep(150);
            // All is received and nothing comes any more.
            if (proxy.connections === connections) proxy.cut();
          }
          await load(server());
          await untilCaughtUp(receiving, server());
          const wanted = transactionsOf(await sourceEvents(server(), begin));
          expect(transactionsOf(await relayEvents(receiving.relay)), `seed ${seed}`).toEqual(wanted);
          expect(receiving.receiver.status.reconnects).toBeGreaterThanOrEqual(cuts);
        });
      } finally {
        await proxy.stop();
      }
    });

    test("heartbeats keep an idle stream alive; when they stay away it is made anew", async () => {
      const proxy = await startProxy(server().address);
      const source = { ...server().address, port: proxy.port };
      try {
        await withReceiving({ source, start: "now", heartbeatMs: 200 }, async (receiving) => {
          const { receiver } = receiving;
          await until(receiving, "six heartbeats", () => receiver.status.heartbeats >= 6);
          const { reconnects } = receiver.status;
          proxy.stall();
          await load(server());
          await untilCaughtUp(receiving, server());
          expect(receiver.status.reconnects).toBe(reconnects + 1);
          expect(receiving.warnings.join("\n")).toContain("neither event nor heartbeat");
          // The new stream works: nothing is wrong any more.
          expect(receiver.status.lastError).toBeUndefined();
        });
      } finally {
        await proxy.stop();
      }
    });

    test("a change of the source's checksums in the middle of the stream is followed", async () => {
      const begin = await binlogEnd(server());
      await withReceiving({ source: server().address, start: `${begin.file}:${begin.position}` }, async (receiving) => {
        for (const checksum of ["NONE", "CRC32", "NONE", "CRC32"]) {
          await query(server(), `SET GLOBAL binlog_checksum=${checksum}`);
          await load(server());
        }
        await untilCaughtUp(receiving, server());
        const wanted = transactionsOf(await sourceEvents(server(), begin));
        expect(transactionsOf(await relayEvents(receiving.relay))).toEqual(wanted);
        expect(receiving.receiver.status.reconnects).toBe(0);
      });
    });

    const goes = gtids === "none" ? "crashes" : "is shut down";
    test(`a source that ${goes} and starts again is found again`, async () => {
      const begin = await binlogEnd(server());
      const start = `${begin.file}:${begin.position}`;
      // MySQL's shutdown waits for the dump thread until its next heartbeat.
      await withReceiving({ source: server().address, start, heartbeatMs: 500 }, async (receiving) => {
        await load(server());
        if (goes === "crashes") await server().kill();
        await server().restart();
        await load(server());
        await untilCaughtUp(receiving, server());
        const wanted = transactionsOf(await sourceEvents(server(), begin));
        expect(transactionsOf(await relayEvents(receiving.relay))).toEqual(wanted);
        expect(receiving.receiver.status.reconnects).toBeGreaterThan(0);
      });
    });
  });
}
