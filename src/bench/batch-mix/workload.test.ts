import { expect, it } from "vitest";
import { createPrng } from "../../base/prng.ts";
import { statementText } from "../workload/statement.ts";
import { BATCH_SESSIONS, batchMixWorkload } from "./workload.ts";

const range = /BETWEEN (\d+) AND (\d+)$/;

it("batches walk through their session's range and begin anew at its end; small transactions end with the last batch", () => {
  const workload = batchMixWorkload({ batches: 30, batchRowsMin: 1000, batchRowsMax: 10_000 });
  const small = workload.thread(createPrng(1, 9), BATCH_SESSIONS);
  const next = workload.thread(createPrng(1, 1), 1);
  let expectedFirst = 50_001;
  for (let batch = 0; batch < 30; batch++) {
    expect(small()).toHaveLength(5);
    const [first = 0, last = 0] = (range.exec(statementText(next()?.[1] ?? "")) ?? []).slice(1).map(Number);
    expect(first).toBe(expectedFirst);
    expect(last - first + 1).toBeLessThanOrEqual(10_000);
    expect(last - first + 1 >= 1000 || last === 100_000).toBe(true);
    expectedFirst = last === 100_000 ? 50_001 : last + 1;
  }
  expect([next(), small()]).toEqual([undefined, undefined]);
});
