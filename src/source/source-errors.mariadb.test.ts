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

describe.each(["mariadb-10.11", "mariadb-11.8"] as const)("%s", (flavour) => {
  const server = useServer(flavour, { options: ["--max-allowed-packet=1G"] });

  test("a start that is no event of the source's binlog is POSITION_NOT_FOUND with file and position", async () => {
    await load(server());
    const { file, position } = await binlogEnd(server());
    const starts = ["nothere.000042:4", `${file}:${position + 1000}`, `${file}:${position - 13}`];
    for (const start of starts) {
      const error = await receivingFailure({ source: server().address, start });
      expect(error.code, start).toBe("POSITION_NOT_FOUND");
      expect(`${error.where.file}:${error.where.position}`).toBe(start);
    }
  });

  test("a start inside a transaction is refused", async () => {
    const { file } = await binlogEnd(server());
    const rows = await query<RowDataPacket[]>(server(), `SHOW BINLOG EVENTS IN '${file}'`);
    for (const type of ["Table_map", "Write_rows_v1"]) {
      const position = rows.find((row) => row["Event_type"] === type)?.["Pos"];
      const error = await receivingFailure({ source: server().address, start: `${file}:${position}` });
      expect(error.code, type).toBe("POSITION_NOT_FOUND");
      expect(error.message).toContain("inside a transaction");
    }
  });

  test("BINLOG MONITOR and REPLICATION SLAVE are enough to stream; without the second it is named", async () => {
    const source = await makeUser(server(), ["BINLOG MONITOR"]);
    const error = await receivingFailure({ source, start: "now" });
    expect(error.code).toBe("ACCESS_DENIED");
    expect(error.hint).toContain("GRANT REPLICATION SLAVE");
    await query(server(), `GRANT REPLICATION SLAVE ON *.* TO '${source.user}'@'%'`);
    await withReceiving({ source, start: "now" }, async (receiving) => {
      await until(receiving, "stream", () => receiving.receiver.status.state === "Waiting for source to send event");
    });
  });

  test("a second replica with our server id makes the first stop with DUPLICATE_SERVER_ID", async () => {
    const first = await startReceiving({ source: server().address, start: "now" });
    try {
      await until(first, "stream", () => first.receiver.status.state === "Waiting for source to send event");
      await withReceiving({ source: server().address, start: "now" }, async (second) => {
        await expect(first.done).rejects.toMatchObject({ code: "DUPLICATE_SERVER_ID" });
        expect(second.receiver.status.lastError).toBeUndefined();
      });
    } finally {
      await first.stop();
    }
  });

  test("MySQL's GTIDs on a MariaDB source are CONFIG", async () => {
    const error = await receivingFailure({
      source: server().address,
      start: "566f59e9-ecb5-11f1-8ad6-02fc00000001:1-5",
    });
    expect(error.code).toBe("CONFIG");
  });

  test("a GTID of another history is POSITION_NOT_FOUND, wherever its number lies", async () => {
    for (const start of ["0-99-3", "0-99-1000000"]) {
      const error = await receivingFailure({ source: server().address, start });
      expect(error.code).toBe("POSITION_NOT_FOUND");
      expect(error.message).toContain(`GTID ${start}`);
    }
  });

  test("a row of 40 MB arrives byte by byte, also above the source's own max_allowed_packet", async () => {
    const begin = await binlogEnd(server());
    await query(
      server(),
      "CREATE DATABASE big; CREATE TABLE big.t(v LONGTEXT); INSERT INTO big.t VALUES(REPEAT('0123456789', 4000000))",
    );
    await query(server(), "SET GLOBAL max_allowed_packet=1048576");
    await withReceiving({ source: server().address, start: `${begin.file}:${begin.position}` }, async (receiving) => {
      await untilCaughtUp(receiving, server());
      const wanted = transactionsOf(await sourceEvents(server(), begin));
      expect(transactionsOf(await relayEvents(receiving.relay))).toEqual(wanted);
    });
    await query(server(), "SET GLOBAL max_allowed_packet=1073741824");
  });

  test("purged GTIDs are GTID_PURGED, and where the source's binlog begins is named", async () => {
    await load(server());
    const [row] = await query<RowDataPacket[]>(server(), "SELECT @@gtid_binlog_pos AS gtids");
    const gtids = String(row?.["gtids"]);
    await query(server(), "FLUSH BINARY LOGS");
    const { file } = await binlogEnd(server());
    // Dump threads of tests before this one hold their file until they notice that nobody listens.
    for (let files = 2; files > 1;) {
      await query(server(), `PURGE BINARY LOGS TO '${file}'`);
      files = (await query<RowDataPacket[]>(server(), "SHOW BINARY LOGS")).length;
    }
    const old = `0-${server().serverId}-3`;
    const error = await receivingFailure({ source: server().address, start: old });
    expect(error.code).toBe("GTID_PURGED");
    expect(error.message).toContain(`we have ${old}, its oldest binlog goes on after ${gtids}`);
  });

  test("a source without binlog is BINLOG_OFF", async () => {
    await server().restart(["--skip-log-bin"]);
    const error = await receivingFailure({ source: server().address, start: "now" });
    expect(error.code).toBe("BINLOG_OFF");
  });
});
