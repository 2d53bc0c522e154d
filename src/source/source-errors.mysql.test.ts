import { open } from "node:fs/promises";
import { join } from "node:path";
import type { RowDataPacket } from "mysql2/promise";
import { describe, expect, test } from "vitest";
import { makeUser } from "../../test/helpers/accounts.ts";
import { load } from "../../test/helpers/receiver-cases.ts";
import {
  binlogEnd,
  relayEvents,
  sourceEvents,
  startReceiving,
  transactionsOf,
  until,
  untilCaughtUp,
  receivingFailure,
  withReceiving,
} from "../../test/helpers/receiving.ts";
import { query, useServer } from "../../test/helpers/servers.ts";
import type { ReplicationError } from "../base/error.ts";
import type { SandboxServer } from "../sandbox/start.ts";

async function serverUuid(server: SandboxServer): Promise<string> {
  const [row] = await query<RowDataPacket[]>(server, "SELECT @@server_uuid AS uuid");
  return String(row?.["uuid"]);
}

async function eventPosition(server: SandboxServer, type: string): Promise<string> {
  const { file } = await binlogEnd(server);
  const rows = await query<RowDataPacket[]>(server, `SHOW BINLOG EVENTS IN '${file}'`);
  return `${file}:${rows.find((row) => String(row["Event_type"]).startsWith(type))?.["Pos"]}`;
}

describe.each(["mysql-9.7", "mysql-5.6"] as const)("%s", (flavour) => {
  const server = useServer(flavour);

  test("a start that is no event of the source's binlog is POSITION_NOT_FOUND with file and position", async () => {
    await load(server());
    const { file, position } = await binlogEnd(server());
    const starts = ["nothere.000042:4", `${file}:${position + 1000}`, `${file}:${position - 13}`];
    for (const start of starts) {
      const error = await receivingFailure({ source: server().address, start });
      expect(error.code, start).toBe("POSITION_NOT_FOUND");
      expect(error.hint).toContain("SHOW BIN");
      expect(`${error.where.file}:${error.where.position}`).toBe(start);
    }
  });

  test("a start inside a transaction is refused before any of its events could be applied", async () => {
    const error = await receivingFailure({
      source: server().address,
      start: await eventPosition(server(), "Write_rows"),
    });
    expect(error.code).toBe("POSITION_NOT_FOUND");
    expect(error.message).toContain("inside a transaction");
  });

  test("a user without REPLICATION SLAVE is ACCESS_DENIED with the grant to give; with it alone the stream runs", async () => {
    const source = await makeUser(server(), []);
    const error = await receivingFailure({ source, start: "now" });
    expect([error.code, error.hint]).toEqual([
      "ACCESS_DENIED",
      "run on the source: GRANT REPLICATION SLAVE ON *.* TO the user",
    ]);
    await query(server(), `GRANT REPLICATION SLAVE ON *.* TO '${source.user}'@'%'`);
    await withReceiving({ source, start: "now" }, async (receiving) => {
      await until(receiving, "stream", () => receiving.receiver.status.state === "Waiting for source to send event");
    });
  });

  test("our server id being the source's own is DUPLICATE_SERVER_ID", async () => {
    const error = await receivingFailure({ source: server().address, start: "now", serverId: server().serverId });
    expect(error.code).toBe("DUPLICATE_SERVER_ID");
    expect(error.hint).toContain("--server-id");
  });

  test("a second replica with our UUID makes one of the two stop with DUPLICATE_SERVER_ID, not both take turns for ever", async () => {
    const streams = (one: { receiver: { status: { state: string } } }) =>
      one.receiver.status.state === "Waiting for source to send event";
    const first = await startReceiving({ source: server().address, start: "now" });
    try {
      await until(first, "stream", () => streams(first));
      const second = await startReceiving({ source: server().address, start: "now" });
      try {
        const error = await Promise.race([first.done, second.done]).then(
          () => undefined,
          (reason: unknown) => reason as ReplicationError,
        );
        expect(error?.code).toBe("DUPLICATE_SERVER_ID");
        expect(error?.hint).toMatch(/server id 4000001/);
      } finally {
        await second.stop();
      }
    } finally {
      await first.stop();
    }
  });

  test("MariaDB's GTIDs on a MySQL source are CONFIG", async () => {
    const error = await receivingFailure({ source: server().address, start: "0-1-100" });
    expect([error.code, error.message]).toEqual([
      "CONFIG",
      "the start point is of MariaDB GTIDs, but the source is MySQL",
    ]);
  });

  test("GTIDs that the source never had are POSITION_NOT_FOUND", async () => {
    const error = await receivingFailure({ source: server().address, start: `${await serverUuid(server())}:1-100000` });
    expect(error.code).toBe("POSITION_NOT_FOUND");
    expect(error.message).toContain("more GTIDs than");
  });

  test("statement format is a warning", async () => {
    await query(server(), "SET GLOBAL binlog_format=STATEMENT");
    await withReceiving({ source: server().address, start: "now" }, async (receiving) => {
      await until(receiving, "stream", () => receiving.receiver.status.state === "Waiting for source to send event");
      expect(receiving.warnings).toContainEqual(expect.stringContaining("binlog_format=STATEMENT"));
    });
    await query(server(), "SET GLOBAL binlog_format=ROW");
  });

  test("purged GTIDs are GTID_PURGED, and the missing ones are named", async () => {
    await load(server());
    const uuid = await serverUuid(server());
    const [row] = await query<RowDataPacket[]>(server(), "SELECT @@global.gtid_executed AS gtids");
    const last = /-(\d+)$/.exec(String(row?.["gtids"]))?.[1];
    await query(server(), "FLUSH BINARY LOGS");
    const { file } = await binlogEnd(server());
    await query(server(), `PURGE BINARY LOGS TO '${file}'`);
    const error = await receivingFailure({ source: server().address, start: `${uuid}:1-3` });
    expect(error.code).toBe("GTID_PURGED");
    expect(error.message).toContain(`${uuid}:4-${last}`);
    expect(error.hint).toContain("--init");
  });

  test("a byte that changed on the source's disk is CORRUPT_EVENT with its place, after another look", async () => {
    const begin = await binlogEnd(server());
    await query(
      server(),
      "CREATE DATABASE corrupt; CREATE TABLE corrupt.t(v VARCHAR(100)); INSERT INTO corrupt.t VALUES('unchanged')",
    );
    await query(server(), "FLUSH BINARY LOGS");
    const handle = await open(join(server().dataFolder, begin.file), "r+");
    const bytes = await handle.readFile();
    await handle.write("UNCHANGED", bytes.indexOf("unchanged"));
    await handle.close();
    const error = await receivingFailure({ source: server().address, start: `${begin.file}:${begin.position}` });
    expect(error.code).toBe("CORRUPT_EVENT");
    expect(error.where.file).toBe(begin.file);
    expect(error.where.position).toBeGreaterThan(begin.position);
  });

  test("a source without binlog is BINLOG_OFF", async () => {
    await server().restart(["--skip-log-bin", "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"]);
    const error = await receivingFailure({ source: server().address, start: "now" });
    expect(error.code).toBe("BINLOG_OFF");
    expect(error.hint).toContain("--log-bin");
  });
});

describe("MySQL 9.7, size", () => {
  const server = useServer("mysql-9.7", { options: ["--max-allowed-packet=1G"] });

  test("a row of 40 MB, more than two packets, arrives byte by byte", async () => {
    const begin = await binlogEnd(server());
    await query(
      server(),
      "CREATE DATABASE big; CREATE TABLE big.t(v LONGTEXT); INSERT INTO big.t VALUES(REPEAT('0123456789', 4000000))",
    );
    await withReceiving({ source: server().address, start: `${begin.file}:${begin.position}` }, async (receiving) => {
      await untilCaughtUp(receiving, server());
      const wanted = transactionsOf(await sourceEvents(server(), begin));
      expect(transactionsOf(await relayEvents(receiving.relay))).toEqual(wanted);
    });
  });

  test("a relay log at its size limit holds the source back, and goes on as room is made", async () => {
    const relayBytesMax = 4 << 20;
    const begin = await binlogEnd(server());
    await query(server(), "CREATE DATABASE room; CREATE TABLE room.t(v LONGTEXT)");
    await query(server(), "INSERT INTO room.t VALUES(REPEAT('r', 1000000));".repeat(150));
    const relayOptions = { fileBytesMax: 1 << 20, totalBytesMax: relayBytesMax };
    await withReceiving(
      { source: server().address, start: `${begin.file}:${begin.position}`, relayOptions },
      async (receiving) => {
        const { receiver, relay } = receiving;
        let bytesMax = 0;
        let waits = 0;
        while (receiver.status.transactions < 152) {
          await until(receiving, "wait for room, or be done", () => {
            return receiver.status.state.includes("relay log space") || receiver.status.transactions >= 152;
          });
          bytesMax = Math.max(bytesMax, relay.totalBytes);
          waits++;
          await relay.purge(relay.received.end);
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
        expect(waits).toBeGreaterThan(2);
        // What may wait in memory to be written is on top.
        expect(bytesMax).toBeLessThan(relayBytesMax + 40_000_000);
        expect(receiver.status.reconnects).toBe(0);
      },
    );
  });
});
