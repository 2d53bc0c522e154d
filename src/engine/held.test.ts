import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { WorkerCheckpoint } from "../apply/checkpoint.ts";
import { assert } from "../base/assert.ts";
import type { Run } from "../schedule/scheduler-types.ts";
import { EMPTY_BODY } from "../transaction/event-list.ts";
import type { Transaction, TransactionId } from "../transaction/transaction.ts";
import { AppliedAhead } from "./ahead.ts";
import { HeldTransactions } from "./held.ts";
import { parseGtids, type Progress } from "./progress.ts";

const UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
type IdKind = TransactionId["kind"];

/** The channel had this many before. */
const BEFORE = 100n;

function transactionOf(kind: IdKind, ordinal: number): Transaction {
  const ids: Record<IdKind, TransactionId> = {
    mysql: { kind: "mysql", uuid: UUID, tag: "", gno: BEFORE + BigInt(ordinal) },
    mariadb: { kind: "mariadb", domainId: 0, serverId: 1, sequence: BEFORE + BigInt(ordinal) },
    anonymous: { kind: "anonymous" },
  };
  return {
    id: ids[kind],
    end: { file: "binlog.000001", position: 1000 + ordinal },
    relayEnd: { file: 1, offset: ordinal },
    eventBytes: 10,
    body: EMPTY_BODY,
    rows: 1,
  } as unknown as Transaction;
}

const START: Record<IdKind, string> = { mysql: `${UUID}:1-${BEFORE}`, mariadb: `0-1-${BEFORE}`, anonymous: "" };
const startOf = (kind: IdKind): Progress => ({
  source: { file: "binlog.000001", position: 1000 },
  gtids: parseGtids(START[kind]),
  transactions: BEFORE,
});

const runOf = (ordinals: readonly number[]): Run => {
  const [first, last] = [ordinals[0], ordinals.at(-1)];
  assert(first !== undefined && last !== undefined, "a run has a transaction");
  return { id: 0, ordinals, first, last, bytes: 0, rows: 0, attempt: 1, atTurn: false, resolve: false };
};

/** Workers, and their rows on a target, as far as `HeldTransactions` sees them. Everything is by ordinals. */
class Stage {
  readonly held: HeldTransactions;
  readonly committed = new Set<number>();
  readonly rows = new Map<number, WorkerCheckpoint>();
  readonly working = new Map<number, { run: Run; checkpoint: WorkerCheckpoint }>();
  readonly kind: IdKind;
  lowWater = 0;
  last = 0;
  relayEnd = 0;

  constructor(kind: IdKind) {
    this.kind = kind;
    this.held = new HeldTransactions(startOf(kind), { preserve: false, writes: true });
  }

  add(): void {
    this.held.add(++this.last, transactionOf(this.kind, this.last), 0);
  }

  get free(): number[] {
    const taken = new Set([...this.working.values()].flatMap(({ run }) => run.ordinals));
    const all = Array.from({ length: this.last }, (_, index) => index + 1);
    return all.filter((ordinal) => !taken.has(ordinal) && !this.committed.has(ordinal));
  }

  begin(worker: number, ordinals: readonly number[]): void {
    const run = runOf(ordinals);
    this.working.set(worker, { run, checkpoint: this.held.checkpoint(worker, run, undefined) });
  }

  /** Its rows and its checkpoint are on the target; the engine may never hear of it. */
  land(worker: number): void {
    const work = this.working.get(worker);
    assert(work !== undefined, "only a worker with a run commits");
    this.rows.set(worker, work.checkpoint);
    for (const ordinal of work.run.ordinals) this.committed.add(ordinal);
  }

  hear(worker: number): void {
    const work = this.working.get(worker);
    assert(work !== undefined, "only a worker with a run commits");
    this.held.commit(work.run.ordinals, worker);
    this.working.delete(worker);
    const before = this.lowWater;
    const known = (ordinal: number): boolean =>
      this.committed.has(ordinal) && ![...this.working.values()].some(({ run }) => run.ordinals.includes(ordinal));
    while (known(this.lowWater + 1)) this.lowWater++;
    if (this.lowWater > before) this.relayEnd = this.held.advance(this.lowWater).relayEnd?.offset ?? this.relayEnd;
  }

  /** As the next engine reads it: the furthest row, and what any row has beyond it. */
  recovered(): { low: number; ordinals: number[] } {
    const lows = [...this.rows.values()].map(({ low }) => Number(low.transactions - BEFORE));
    const low = Math.max(0, ...lows);
    const ahead = AppliedAhead.parse([...this.rows.values()].map((row) => row.ahead));
    const ordinals: number[] = [];
    for (let ordinal = 1; ordinal <= this.last; ordinal++) {
      const transaction = transactionOf(this.kind, ordinal);
      if (ordinal <= low || ahead.has({ number: BEFORE + BigInt(ordinal), transaction })) ordinals.push(ordinal);
    }
    return { low, ordinals };
  }
}

const step = fc.record({
  what: fc.constantFrom("add", "add", "begin", "begin", "commit", "fail"),
  worker: fc.nat(5),
  picks: fc.array(fc.nat(7), { minLength: 1, maxLength: 4 }),
});

describe("what the target's rows say in relaxed order", () => {
  for (const kind of ["mysql", "mariadb", "anonymous"] as const) {
    test(`${kind}: at any moment exactly what is committed, whatever was committed by whom, and when the engine heard of it`, () => {
      fc.assert(
        fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
          const stage = new Stage(kind);
          const check = (): void => {
            const { low, ordinals } = stage.recovered();
            expect(ordinals).toEqual([...stage.committed].sort((a, b) => a - b));
            // The next engine finds what it needs in the relay log.
            expect(stage.relayEnd).toBeLessThanOrEqual(low);
          };
          for (const { what, worker, picks } of steps) {
            if (what === "add") stage.add();
            else if (what === "begin" && !stage.working.has(worker)) {
              const { free } = stage;
              const ordinals = new Set(picks.flatMap((pick) => free[pick] ?? []));
              if (ordinals.size > 0)
                stage.begin(
                  worker,
                  [...ordinals].sort((a, b) => a - b),
                );
            } else if (what === "commit" && stage.working.has(worker)) {
              stage.land(worker);
              check();
              stage.hear(worker);
              check();
            } else if (what === "fail") stage.working.delete(worker);
          }
        }),
        { numRuns: 300 },
      );
    });
  }

  test("the next run of a session counts the one that it commits behind, and nobody else's", () => {
    const stage = new Stage("anonymous");
    for (let n = 0; n < 5; n++) stage.add();
    const [first, second, others] = [runOf([1]), runOf([3]), runOf([2])];
    stage.held.checkpoint(0, first, undefined);
    stage.held.checkpoint(1, others, undefined);
    const { low, ahead, last } = stage.held.checkpoint(0, second, first);
    expect({ low: low.transactions - BEFORE, ahead, last }).toEqual({ low: 1n, ahead: "#103", last: 103n });
  });

  test("our relay log is needed from what a row claims, though the engine knows that more is committed", () => {
    const stage = new Stage("mysql");
    for (let n = 0; n < 2; n++) stage.add();
    stage.begin(0, [1]);
    stage.begin(1, [2]);
    for (const worker of [1, 0]) stage.land(worker);
    for (const worker of [1, 0]) stage.hear(worker);
    expect([stage.lowWater, stage.recovered().low, stage.relayEnd]).toEqual([2, 1, 1]);
    stage.add();
    stage.begin(0, [3]);
    stage.land(0);
    stage.hear(0);
    expect([stage.lowWater, stage.recovered().low, stage.relayEnd]).toEqual([3, 3, 3]);
  });

  test("what a former engine had applied is passed, and is not claimed by any worker", () => {
    const stage = new Stage("mysql");
    for (let n = 0; n < 3; n++) stage.add();
    stage.held.commit([2], -1);
    const { low, ahead } = stage.held.checkpoint(0, runOf([3]), undefined);
    expect([low.transactions, ahead]).toEqual([BEFORE, `${UUID}:103`]);
    expect(stage.held.checkpoint(0, runOf([1]), undefined).low.gtids).toBe(`${UUID}:1-102`);
  });
});

describe("what the target's rows say with the order preserved", () => {
  test("everything up to the run's last, also when later runs were asked for first", () => {
    const held = new HeldTransactions(startOf("mysql"), { preserve: true, writes: true });
    for (let ordinal = 1; ordinal <= 6; ordinal++) held.add(ordinal, transactionOf("mysql", ordinal), 0);
    const runs = [runOf([5, 6]), runOf([1, 2]), runOf([3, 4])];
    const lows = runs.map((run) => held.checkpoint(0, run, undefined));
    expect(lows.map(({ low, ahead }) => [low.transactions - BEFORE, low.gtids, ahead])).toEqual([
      [6n, `${UUID}:1-106`, ""],
      [2n, `${UUID}:1-102`, ""],
      [4n, `${UUID}:1-104`, ""],
    ]);
    held.commit([1, 2], 0);
    expect(held.advance(2).relayEnd).toEqual({ file: 1, offset: 2 });
  });
});
