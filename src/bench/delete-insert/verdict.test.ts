import { expect, it } from "vitest";
import type { DeleteInsertRun } from "./report.ts";
import { verdictOf } from "./verdict.ts";

function run(who: DeleteInsertRun["who"], workers: number, seconds: number, lockWaitTimeouts = 0): DeleteInsertRun {
  return {
    variant: "unique index",
    who,
    workers,
    policy: "writeset",
    commitOrder: "preserve",
    transactions: 9600,
    seconds,
    retries: 0,
    lockWaits: 0,
    lockWaitTimeouts,
    lockBreaks: who === "native" ? null : 0,
    identical: true,
  };
}

it("the verdict says whether many workers are slower than one, for both, and who is faster", () => {
  const runs = [run("native", 1, 20), run("native", 8, 50), run("abreast", 1, 8.2), run("abreast", 8, 8)];
  expect(verdictOf(runs)).toBe(
    "unique index: native with 8 workers is 2.5 times slower than with 1; Abreast with 8 workers is as fast as with 1; " +
      "Abreast had 0 lock wait timeouts; Abreast with 8 is 2.5 times as fast as the better native run.",
  );
});

it("the verdict hides nothing that speaks against us", () => {
  const runs = [run("native", 1, 20), run("native", 8, 5), run("abreast", 1, 5), run("abreast", 8, 10, 3)];
  expect(verdictOf(runs)).toBe(
    "unique index: native with 8 workers is 4.0 times faster than with 1; Abreast with 8 workers is 2.0 times slower than with 1; " +
      "Abreast had 3 lock wait timeouts; Abreast with 8 is 0.5 times as fast as the better native run.",
  );
});

it("the verdict says when the server could not do what the variant asks for", () => {
  const runs = [run("native", 8, 5), { ...run("abreast", 8, 5), commitOrder: "relaxed" as const }];
  expect(verdictOf(runs)).toBe(
    "unique index: the server's own replica cannot leave the commit order, and kept it; Abreast had 0 lock wait timeouts; " +
      "Abreast with 8 is 1.0 times as fast as the better native run.",
  );
});

it("the verdict of half the runs says what they tell", () => {
  expect(verdictOf([run("native", 8, 5, 2)])).toBe("unique index: native had 2 lock wait timeouts.");
});
