import { expect, test } from "vitest";
import { singlePolicy } from "./policies/single.ts";
import { createScheduler, step } from "./scheduler.ts";
import { noTimes } from "./slots.ts";
import { timesAt } from "./times.ts";

test("what a worker is at counts up to now, also while nothing happens", () => {
  const scheduler = createScheduler({
    startAfter: 0,
    workers: 1,
    policy: singlePolicy(),
    commitOrder: "preserve",
    dependency: "graph",
    packTransactionsMax: 1,
    packBytesMax: 1,
    packRowsMax: 1,
    packMsMax: 1,
    retriesMax: 1,
    resolvesConflicts: false,
  });
  expect(timesAt(scheduler, 0, 1_000)).toEqual(noTimes());
  step(scheduler, { type: "tick" }, 1_000);
  step(scheduler, { type: "worker-ready", worker: 0 }, 1_300);
  expect(timesAt(scheduler, 0, 9_300)).toEqual({ ...noTimes(), connection: 300, event: 8_000 });
  // Looking changes nothing, and what was shown is not counted twice.
  step(scheduler, { type: "tick" }, 9_400);
  expect(timesAt(scheduler, 0, 9_400)).toEqual({ ...noTimes(), connection: 300, event: 8_100 });
  // A clock that was set back does not take time away.
  expect(timesAt(scheduler, 0, 9_000)).toEqual({ ...noTimes(), connection: 300, event: 8_100 });
});
