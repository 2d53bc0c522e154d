import { beforeAll, expect, test } from "vitest";
import { CellThreads } from "../src/cli/simulate-threads.ts";
import { gridOf } from "../src/cli/simulate-options.ts";
import { DEFAULT_COSTS } from "../src/simulate/cost-model.ts";
import { LogSimulation } from "../src/simulate/log-simulation.ts";
import type { PlannedCell } from "../src/simulate/plan.ts";
import type { SimulateReport } from "../src/simulate/report.ts";
import type { CellFeedOf } from "../src/simulate/simulation.ts";
import type { SimulatedTransaction } from "../src/simulate/simulated-transaction.ts";
import { CliProcess } from "./helpers/engine-process.ts";

// A thread runs the built file: what is older than its source is built anew before any command.
beforeAll(async () => {
  expect(await new CliProcess(["--version"]).ended).toBe(0);
}, 120_000);

const TRANSACTIONS = 2_500;
/** Some 1,700 of them are a batch. */
const BYTES = 5_000;

function transactionOf(ordinal: number): SimulatedTransaction {
  return {
    scheduler: {
      ordinal,
      bytes: BYTES,
      rows: 1 + (ordinal % 7),
      alone: ordinal % 500 === 0,
      barrier: ordinal % 500 === 0,
      startsRun: false,
      applied: false,
      file: "binlog.000001",
      lastCommitted: Math.max(0, ordinal - 1 - (ordinal % 6)),
      sequenceNumber: ordinal,
      commitId: BigInt(ordinal >> 3),
      sessionId: ordinal % 8,
      schemas: new Set([`shop${ordinal % 3}`]),
      writeset: {
        writes: [ordinal * 2 ** 20, 1_000_000 + ((ordinal * 7) % 50)],
        reads: [],
        fallback: false,
        opaque: false,
      },
    },
    committedAtUs: 1_800_000_000_000_000 + ordinal * 200,
    name: `3e11fa47-71ca-11e1-9e33-c80aa9429562:${ordinal}`,
    rows: [{ table: "shop.orders", inserts: 1, updates: ordinal % 7, deletes: 0, bytes: BYTES }],
  };
}

async function report(threads: CellThreads | undefined): Promise<SimulateReport> {
  const feedOf: CellFeedOf | undefined = threads && ((cells, costs) => threads.begin(cells, costs));
  const simulation = new LogSimulation({
    grid: gridOf({ workers: "1,2,8", native: true }),
    costs: DEFAULT_COSTS,
    splitRowsMax: 5,
    ...(feedOf === undefined ? {} : { feedOf }),
  });
  for (let ordinal = 1; ordinal <= TRANSACTIONS; ordinal++) {
    simulation.push(transactionOf(ordinal), { flavour: "mysql", serverVersion: "9.7.0" });
    await threads?.room();
  }
  simulation.flush();
  await threads?.finish();
  return simulation.report({ files: ["binlog.000001"], whatIf: [], faults: [] });
}

test("the report is the same, however many threads compute it", async () => {
  const alone = await report(undefined);
  for (const threadsMax of [1, 3]) {
    const threads = new CellThreads({ threadsMax });
    try {
      expect(await report(threads)).toEqual(alone);
      expect(threads.helpers).toBe(threadsMax - 1);
    } finally {
      await threads.close();
    }
  }
});

test("a thread that fails is told where its results, or room for more, are waited for", async () => {
  const good: PlannedCell = {
    key: "good",
    kind: "engine",
    options: { policy: "single", workers: 1, commitOrder: "preserve", packTransactionsMax: 500 },
  };
  // The scheduler refuses it.
  const bad: PlannedCell = {
    key: "bad",
    kind: "engine",
    options: { policy: "optimistic", workers: 2, commitOrder: "relaxed", packTransactionsMax: 1 },
  };
  const batch = Array.from({ length: 10_000 }, (_, index) => transactionOf(index + 1));
  for (const wait of ["finish", "room"] as const) {
    const threads = new CellThreads({ threadsMax: 2 }).begin([bad, good], DEFAULT_COSTS);
    try {
      threads.push(batch);
      expect(threads.helpers).toBe(1);
      if (wait === "room")
        threads.push(
          batch.map(({ scheduler, ...rest }) => ({
            ...rest,
            scheduler: { ...scheduler, ordinal: scheduler.ordinal + batch.length },
          })),
        );
      await expect(threads[wait]()).rejects.toThrow("only with the commit order preserved");
    } finally {
      await threads.close();
    }
  }
});
