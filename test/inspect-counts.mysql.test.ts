import type { RowDataPacket } from "mysql2/promise";
import { describe, expect, it } from "vitest";
import { GtidSet } from "../src/gtid/mysql.ts";
import { expectSameCounts } from "./helpers/inspect-agreement.ts";
import { logEverything } from "./helpers/inspect-load.ts";
import { query, useServer } from "./helpers/servers.ts";

/** Long form: ABREAST_INSPECT_MB=100. */
const bytes = Number(process.env["ABREAST_INSPECT_MB"] ?? 5) * 1_000_000;
const fast = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0"];

describe("what inspect counts is what mysqlbinlog counts", () => {
  describe("in logs of mysql-9.7", () => {
    const server = useServer("mysql-9.7", { options: [...fast, "--max-binlog-size=1G"] });

    it("with GTIDs, tags, compressed transactions, XA, DDL and statements, over several files", async () => {
      const files = await logEverything(server(), { bytes });
      const report = await expectSameCounts("mysql-9.7", files);
      expect(report.files.length).toBe(3);
      expect(report.bytes).toBeGreaterThan(bytes * 0.7);
      const [executed] = await query<RowDataPacket[]>(server(), "SELECT @@gtid_executed AS gtids");
      expect(report.gtids.set).toBe(GtidSet.parse(String(executed?.["gtids"])).toString());
      expect(report.gtids.gapCount).toBe(0);
      // Each file is also right alone.
      for (const file of files.slice(0, 2)) await expectSameCounts("mysql-9.7", [file]);
    }, 600_000);
  });

  describe("in logs of mysql-9.7 without GTIDs", () => {
    const server = useServer("mysql-9.7", {
      options: [...fast, "--gtid-mode=OFF", "--enforce-gtid-consistency=OFF", "--binlog-checksum=NONE"],
    });

    it("with transactions of mixed engines, and without checksums", async () => {
      await expectSameCounts("mysql-9.7", await logEverything(server(), { bytes: 0 }));
    });
  });

  describe("in logs of mysql-5.6", () => {
    const server = useServer("mysql-5.6", { options: fast });

    it("with GTIDs", async () => {
      await expectSameCounts("mysql-9.7", await logEverything(server(), { bytes: 500_000 }));
    });
  });

  describe("in logs of mysql-5.6 without GTIDs", () => {
    const server = useServer("mysql-5.6", {
      options: [...fast, "--skip-gtid-mode", "--skip-enforce-gtid-consistency"],
    });

    it("where a transaction begins with BEGIN, or is a statement", async () => {
      await expectSameCounts("mysql-9.7", await logEverything(server(), { bytes: 0 }));
    });
  });
});
