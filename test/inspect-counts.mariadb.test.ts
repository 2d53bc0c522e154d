import type { RowDataPacket } from "mysql2/promise";
import { describe, expect, it } from "vitest";
import { expectSameCounts } from "./helpers/inspect-agreement.ts";
import { logEverything } from "./helpers/inspect-load.ts";
import { query, useServer } from "./helpers/servers.ts";

/** Long form: ABREAST_INSPECT_MB=100. */
const bytes = Number(process.env["ABREAST_INSPECT_MB"] ?? 2) * 1_000_000;

describe("what inspect counts in logs of mariadb-10.11 is what mariadb-binlog counts", () => {
  const server = useServer("mariadb-10.11", {
    options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0", "--max-binlog-size=1G"],
  });

  it("with compressed events, XA, ALTER in two phases, sequences, domains, over several files", async () => {
    const files = await logEverything(server(), { bytes });
    const report = await expectSameCounts("mariadb-10.11", files);
    expect(report.files.length).toBe(3);
    expect(report.bytes).toBeGreaterThan(bytes * 0.7);
    const [state] = await query<RowDataPacket[]>(server(), "SELECT @@gtid_binlog_state AS gtids");
    expect(report.gtids.set?.split(",").toSorted()).toEqual(String(state?.["gtids"]).split(",").toSorted());
    expect(report.gtids.gapCount).toBe(0);
    for (const file of files.slice(0, 2)) await expectSameCounts("mariadb-10.11", [file]);
  }, 600_000);
});
