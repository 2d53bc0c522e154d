import { beforeAll, describe, expect, test } from "vitest";
import type { EngineOptions } from "../../src/engine/options.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { POLICY_NAMES } from "../../src/schedule/policies/policies.ts";
import { verifyTables } from "../../src/verify/verify.ts";
import { catchUp, channelOptions, rows, run } from "./channel.ts";
import { writeConflicts } from "./conflicting-load.ts";
import { useServer } from "./servers.ts";

const RELAXED = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"];

/** One load on a source, applied again and again by every policy, number of workers and commit order; every row is compared each time. */
export function testPolicies(flavour: ServerFlavour, transactions: number): void {
  const source = useServer(flavour, { serverId: 1, options: RELAXED });
  const target = useServer(flavour, { serverId: 2, options: RELAXED });
  let start = "";

  beforeAll(async () => {
    await run(source(), "CREATE DATABASE before_it");
    const executed = flavour.startsWith("mariadb-") ? "@@gtid_current_pos" : "@@GLOBAL.gtid_executed";
    start = (await rows(source(), `SELECT ${executed}`))[0]?.[0] ?? "";
    await writeConflicts(source(), { transactions, threads: 8, seed: 3 });
  });

  const apply = async (changes: Partial<EngineOptions>): Promise<void> => {
    await run(target(), "DROP DATABASE IF EXISTS shop", "DROP DATABASE IF EXISTS crm");
    const engine = await catchUp(channelOptions(source(), target(), { startFrom: start, ...changes }));
    const { applied } = engine.status();
    expect(applied.transactions).toBeGreaterThan(transactions / 2);
    const { tables } = await verifyTables({ source: source().address, target: target().address });
    expect(tables.length).toBe(10);
    expect(tables.filter((table) => !table.identical)).toEqual([]);
  };

  for (const policy of POLICY_NAMES.filter((name) => name !== "auto")) {
    describe(policy, () => {
      for (const workers of [1, 4, 16]) {
        test(`${workers} workers, commit order preserved: identical`, async () => {
          await apply({ policy, workers, commitOrder: "preserve" });
        });

        if (policy === "optimistic") continue;
        test(`${workers} workers, relaxed commit order: identical`, async () => {
          await apply({ policy, workers, commitOrder: "relaxed" });
        });
      }
    });
  }
}
