import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createPrng } from "../../base/prng.ts";
import { DISTRIBUTIONS } from "./distribution.ts";
import { oltpWriteOnly } from "./oltp-write-only.ts";
import { cValue, padValue } from "./sbtest.ts";

const workload = oltpWriteOnly({ tables: 3, tableSize: 2500, distribution: "uniform" });

/** The first transaction of a thread. */
const first = (seed: number, thread: number): string =>
  (workload.thread(createPrng(seed, thread), thread)() ?? []).join(";");

describe("oltp_write_only", () => {
  it("changes four rows in a transaction: k, c, and one row deleted and inserted again under its id", () => {
    const next = workload.thread(createPrng(1), 0);
    for (let i = 0; i < 200; i++) {
      const [begin, indexUpdate, update, remove, insert, commit, ...rest] = next() ?? [];
      expect([begin, commit, rest]).toEqual(["BEGIN", "COMMIT", []]);
      expect(indexUpdate).toMatch(/^UPDATE sbtest[123] SET k=k\+1 WHERE id=\d+$/);
      expect(update).toMatch(/^UPDATE sbtest[123] SET c='[\d-]{119}' WHERE id=\d+$/);
      const removed = /^DELETE FROM (sbtest[123]) WHERE id=(\d+)$/.exec(remove ?? "");
      const inserted =
        /^INSERT INTO (sbtest[123]) \(id, k, c, pad\) VALUES \((\d+), \d+, '[\d-]{119}', '[\d-]{59}'\)$/.exec(
          insert ?? "",
        );
      expect(inserted?.slice(1)).toEqual(removed?.slice(1));
    }
  });

  it("makes each table with all its rows, and its index after them", () => {
    const statements = [...workload.preparation(1)];
    const rows = statements.filter((sql) => sql.startsWith("INSERT INTO sbtest2 ")).join("");
    expect(rows.match(/\(\d+,'/g)).toHaveLength(2500);
    expect(statements.filter((sql) => sql.startsWith("CREATE INDEX"))).toEqual(
      [1, 2, 3].map((n) => `CREATE INDEX k_${n} ON sbtest${n} (k)`),
    );
    expect(statements.at(-1)).toBe("CREATE INDEX k_3 ON sbtest3 (k)");
  });

  it("gives every thread its own transactions, the same for the same seed", () => {
    expect(first(5, 0)).toBe(first(5, 0));
    expect(new Set([first(5, 0), first(5, 1), first(6, 0)]).size).toBe(3);
  });
});

describe("values", () => {
  it("are groups of eleven digits: ten in c, five in pad", () => {
    const prng = createPrng(3);
    for (let i = 0; i < 500; i++) {
      expect(cValue(prng)).toMatch(/^\d{11}(-\d{11}){9}$/);
      expect(padValue(prng)).toMatch(/^\d{11}(-\d{11}){4}$/);
    }
  });
});

describe("distributions", () => {
  it("stay within the range", () => {
    fc.assert(
      fc.property(fc.nat(), fc.integer({ min: 1, max: 50 }), fc.nat(5000), (seed, min, width) => {
        const prng = createPrng(seed);
        for (const draw of Object.values(DISTRIBUTIONS)) {
          for (let i = 0; i < 50; i++) {
            const value = draw(prng, min, min + width);
            expect(Number.isInteger(value) && value >= min && value <= min + width).toBe(true);
          }
        }
      }),
    );
  });

  it("special puts three quarters of the values into one hundredth of the range", () => {
    const prng = createPrng(9);
    let hot = 0;
    for (let i = 0; i < 20_000; i++) {
      const value = DISTRIBUTIONS.special(prng, 1, 10_000);
      if (value >= 4950 && value <= 5051) hot++;
    }
    // 75 % by rule, and about 2 % of the bell-shaped rest fall into the same place.
    expect(hot / 20_000).toBeGreaterThan(0.74);
    expect(hot / 20_000).toBeLessThan(0.79);
  });
});
