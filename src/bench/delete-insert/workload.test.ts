import { expect, it } from "vitest";
import { createPrng } from "../../base/prng.ts";
import { statementText } from "../workload/statement.ts";
import { deleteInsertWorkload, SESSIONS } from "./workload.ts";

it("each session deletes and inserts only rows of its own, one c1 after the other, as often as it was told", () => {
  const workload = deleteInsertWorkload({ key: "unique index", change: "delete-insert", rounds: 40 });
  const owners = new Map<string, number>();
  for (let session = 0; session < SESSIONS; session++) {
    const next = workload.thread(createPrng(1, session), session);
    let rounds = 0;
    for (let remove = next(); remove !== undefined; remove = next()) {
      rounds++;
      const c1 = /^DELETE FROM m WHERE c1=(\d+)$/.exec(statementText(remove[0] ?? ""))?.[1] ?? "";
      const inserted = statementText(next()?.[0] ?? "");
      expect(inserted.match(new RegExp(`\\(${c1},\\d+,${rounds}\\)`, "g"))).toHaveLength(50);
      expect(owners.get(c1) ?? session).toBe(session);
      owners.set(c1, session);
    }
    expect(rounds).toBe(40);
  }
  expect([...owners.keys()].map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 16 }, (_, c1) => c1));
});

it("the rows can be updated in their place instead", () => {
  const next = deleteInsertWorkload({ key: "unique index", change: "update", rounds: 2 }).thread(createPrng(1), 0);
  expect([next()?.[0], next()?.[0], next()]).toEqual([
    expect.stringMatching(/^UPDATE m SET v=1 WHERE c1=(0|8)$/),
    expect.stringMatching(/^UPDATE m SET v=2 WHERE c1=(0|8)$/),
    undefined,
  ]);
});
