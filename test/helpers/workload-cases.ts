import { expect, test } from "vitest";
import { cleanUpData, prepareData } from "../../src/bench/workload/data.ts";
import { startLoad } from "../../src/bench/workload/load.ts";
import { WORKLOAD_DEFAULTS, WORKLOAD_NAMES, type WorkloadKind, WORKLOADS } from "../../src/bench/workload/registry.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { query, useServer } from "./servers.ts";

const TRANSACTIONS = 40;

/** Every workload there is, on a server of this flavour. */
export function workloadCases(flavour: ServerFlavour): void {
  const server = useServer(flavour, { options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0"] });
  const options = {
    ...WORKLOAD_DEFAULTS,
    tables: 2,
    tableSize: 200,
    rows: 2_500,
    batches: 1_000,
    batchRowsMax: 2_000,
  };

  test.each(WORKLOAD_NAMES)(
    "%s is prepared, runs each statement by itself, and is cleaned up without a trace",
    async (name) => {
      const { address } = server();
      // A schema of its own: one that fails leaves its tables to nobody.
      const schema = `load_${name}`;
      const kind: WorkloadKind = WORKLOADS[name];
      const workload = kind.make(options);
      await prepareData(address, schema, workload, 1);
      const tables = await query<Record<string, string>[] & []>(server(), `SHOW TABLES FROM \`${schema}\``);
      expect(tables.flatMap((row) => Object.values(row)).sort()).toEqual(kind.tablesOf(options).sort());

      const summary = await startLoad({
        address,
        schema,
        workload,
        seed: 2,
        threads: kind.threads ?? 4,
        statements: "one-by-one",
        transactions: TRANSACTIONS,
      }).done;
      expect(summary.transactions).toBe(kind.options.includes("repeat") ? 1 : TRANSACTIONS);
      // A rebuilt table has no changed rows.
      if (name !== "ddl") expect(summary.writes).toBeGreaterThan(0);
      expect(summary.reads > 0).toBe(name === "oltp_read_write");

      await cleanUpData(address, [schema], kind.tablesOf(options));
      expect(await query(server(), `SHOW TABLES FROM \`${schema}\``)).toEqual([]);
    },
  );
}
