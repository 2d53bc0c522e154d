import fc from "fast-check";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { singlePolicy } from "./policies/single.ts";
import { createScheduler, step } from "./scheduler.ts";
import type { Run, SchedulerEffect, SchedulerInput } from "./scheduler-types.ts";
import { playScript } from "../../test/helpers/scheduler-script.ts";

const FOLDER = new URL("testdata/", import.meta.url);

describe("scripts: ABREAST_REWRITE=1 writes the answers, the diff is the review", () => {
  for (const name of readdirSync(FOLDER)) {
    test(name, () => {
      const script = readFileSync(new URL(name, FOLDER), "utf8");
      const played = playScript(script);
      if (process.env["ABREAST_REWRITE"] === "1") writeFileSync(new URL(name, FOLDER), played);
      else expect(played).toBe(script);
    });
  }
});

describe("whatever the workers do, in whatever order", () => {
  const choices = fc.array(fc.record({ pick: fc.nat(1000), fail: fc.nat(12) }), { minLength: 50, maxLength: 400 });
  const loads = fc.array(fc.record({ bytes: fc.integer({ min: 1, max: 60 }), alone: fc.integer({ min: 0, max: 9 }) }), {
    minLength: 1,
    maxLength: 60,
  });

  test("every transaction commits exactly once, in order, in runs within the limits", () => {
    fc.assert(
      fc.property(
        loads,
        choices,
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 8 }),
        (load, picks, workers, pack) => {
          const committed = drive(load, picks, workers, pack);
          expect(committed.flatMap((run) => range(run))).toEqual(load.map((_, index) => index + 1));
          for (const run of committed) {
            const parts = range(run).map((ordinal) => load[ordinal - 1]);
            expect(parts.length).toBeLessThanOrEqual(pack);
            if (parts.length > 1) {
              expect(parts.some((part) => part?.alone === 0)).toBe(false);
              expect(parts.reduce((sum, part) => sum + (part?.bytes ?? 0), 0)).toBeLessThanOrEqual(100);
            }
          }
        },
      ),
    );
  });
});

/** Plays random outcomes until all is committed; temporary failures, permanent failures of packed runs and lost sessions among them. */
function drive(
  load: { bytes: number; alone: number }[],
  picks: { pick: number; fail: number }[],
  workers: number,
  pack: number,
): Run[] {
  const state = createScheduler({
    startAfter: 0,
    workers,
    policy: singlePolicy(),
    commitOrder: "preserve",
    dependency: "graph",
    packTransactionsMax: pack,
    packBytesMax: 100,
    packMsMax: 1_000,
    retriesMax: 1_000_000,
    resolvesConflicts: false,
  });
  const committed: Run[] = [];
  let nowMs = 0;
  let arrived = 0;
  const open = new Map<number, SchedulerEffect>();
  const say = (input: SchedulerInput): void => {
    for (const effect of step(state, input, nowMs)) {
      expect(effect.type).not.toBe("halt");
      if (effect.type === "execute" || effect.type === "commit") {
        if (effect.type === "execute") expect(open.has(effect.worker)).toBe(false);
        open.set(effect.worker, effect);
      }
    }
  };
  for (let worker = 0; worker < workers; worker++) say({ type: "worker-ready", worker });
  for (let turn = 0; committed.length === 0 || (committed.at(-1)?.last ?? 0) < load.length; turn++) {
    expect(turn).toBeLessThan(10_000);
    const { pick, fail } = picks[turn] ?? { pick: turn, fail: 9 };
    const part = load[arrived];
    if (part !== undefined && pick % 3 !== 0) {
      arrived++;
      say({
        type: "transaction",
        transaction: {
          ordinal: arrived,
          bytes: part.bytes,
          rows: 1,
          alone: part.alone === 0,
          barrier: part.alone === 0,
          startsRun: false,
          applied: false,
          file: "",
          lastCommitted: 0,
          sequenceNumber: 0,
          commitId: undefined,
          sessionId: undefined,
          schemas: new Set(),
          writeset: undefined,
        },
      });
      continue;
    }
    const [worker, effect] = [...open][pick % Math.max(1, open.size)] ?? [];
    if (worker === undefined || effect === undefined) {
      nowMs += 10_000;
      say({ type: "tick" });
      continue;
    }
    open.delete(worker);
    if (effect.type === "execute" && fail < 3) {
      const packed = effect.run.last > effect.run.first;
      if (fail === 1) {
        say({ type: "failed", worker, retry: "later", isConflict: false, reason: "lost" });
        say({ type: "worker-lost", worker });
        say({ type: "worker-ready", worker });
      } else
        say({ type: "failed", worker, retry: fail === 0 && packed ? "never" : "now", isConflict: false, reason: "" });
    } else if (effect.type === "execute") say({ type: "executed", worker });
    else if (effect.type === "commit" && fail === 3) {
      say({ type: "failed", worker, retry: "later", isConflict: false, reason: "the commit" });
    } else if (effect.type === "commit") {
      committed.push(effect.run);
      if (effect.next !== undefined) open.set(worker, { type: "execute", worker, run: effect.next });
      say({ type: "committed", worker });
    }
  }
  return committed;
}

const range = (run: Run): number[] => Array.from({ length: run.last - run.first + 1 }, (_, index) => run.first + index);
