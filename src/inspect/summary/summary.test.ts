import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CommitGroups } from "./commit-groups.ts";
import { GtidRuns } from "./gtid-runs.ts";
import { HotRows } from "./hot-rows.ts";
import { isoTime } from "./iso-time.ts";
import { RateCurve } from "./rate-curve.ts";
import { RowKeys } from "./row-keys.ts";
import { TopList } from "./top-list.ts";

/** Cuts a list into parts, none empty. */
const parts = <Item>(items: readonly Item[], cuts: readonly number[]): Item[][] => {
  const ends = [...new Set([...cuts.filter((cut) => cut > 0 && cut < items.length), items.length])].toSorted(
    (a, b) => a - b,
  );
  return ends.map((end, i) => items.slice(ends[i - 1] ?? 0, end));
};
const cutsArbitrary = fc.array(fc.nat(60), { maxLength: 6 });

describe("what is added up in parts is what is added up at once:", () => {
  test("groups of commits, wherever a part ends and however ids come again", () => {
    const log = fc.array(fc.record({ file: fc.constantFrom("a", "b"), id: fc.nat(2) }), {
      minLength: 1,
      maxLength: 60,
    });
    fc.assert(
      fc.property(log, cutsArbitrary, (transactions, cuts) => {
        const whole = new CommitGroups();
        const merged = new CommitGroups();
        for (const { file, id } of transactions) whole.add("last_committed", file, id);
        for (const part of parts(transactions, cuts)) {
          const groups = new CommitGroups();
          for (const { file, id } of part) groups.add("last_committed", file, id);
          merged.merge(groups.state());
        }
        expect(merged.report()).toEqual(whole.report());
      }),
    );
  });

  test("numbers of GTIDs", () => {
    const log = fc.array(
      fc.record({ source: fc.constantFrom("u", "v:tag"), number: fc.integer({ min: 1, max: 30 }) }),
      {
        minLength: 1,
        maxLength: 60,
      },
    );
    fc.assert(
      fc.property(log, cutsArbitrary, (gtids, cuts) => {
        const read = (some: typeof gtids): GtidRuns => {
          const runs = new GtidRuns();
          for (const { source, number } of some) runs.add({ gtidSource: source, gtidNumber: number, serverId: 0 });
          return runs;
        };
        const merged = new GtidRuns();
        for (const part of parts(gtids, cuts)) merged.merge(read(part).state());
        const report = merged.report();
        expect(report).toEqual(read(gtids).report());
        for (const source of ["u", "v:tag"]) {
          const numbers = new Set(gtids.filter((gtid) => gtid.source === source).map(({ number }) => number));
          const missing = report.gaps
            .filter((gap) => gap.source === source)
            .flatMap(({ from, to }) =>
              Array.from({ length: Number(to) - Number(from) + 1 }, (_, i) => Number(from) + i),
            );
          const [low, high] = [Math.min(...numbers), Math.max(...numbers)];
          const expected = Array.from({ length: 31 }, (_, i) => i).filter(
            (i) => i > low && i < high && !numbers.has(i),
          );
          expect(missing).toEqual(expected);
        }
      }),
    );
  });

  test("the curve of the load, whose buckets all hold what was committed in their time", () => {
    const time = fc.oneof(fc.integer({ min: 1, max: 5000 }), fc.integer({ min: 1, max: 2_000_000_000 }));
    fc.assert(
      fc.property(fc.array(time, { minLength: 1, maxLength: 60 }), cutsArbitrary, (seconds, cuts) => {
        const read = (some: readonly number[]): RateCurve => {
          const curve = new RateCurve();
          for (const at of some) curve.add(at * 1_000_000 + 17, 1, 2, at);
          return curve;
        };
        const merged = new RateCurve();
        for (const part of parts(seconds, cuts)) merged.merge(read(part).state());
        const { first, widthSeconds, values } = merged.state();
        expect({ first, widthSeconds, values }).toEqual(read(seconds).state());
        expect(values.length / 3).toBeLessThanOrEqual(480);
        const expected = new Map<number, number>();
        for (const at of seconds) {
          const bucket = Math.floor(at / widthSeconds) - first;
          expected.set(bucket, (expected.get(bucket) ?? 0) + 1);
        }
        for (let i = 0; i < values.length; i += 3) expect(values[i]).toBe(expected.get(i / 3) ?? 0);
      }),
    );
  });
});

test("hot rows: the true count of each row lies between the counts that are told", () => {
  const log = fc.array(fc.nat(12), { minLength: 1, maxLength: 400 });
  fc.assert(
    fc.property(log, cutsArbitrary, (changes, cuts) => {
      const hot = new HotRows();
      const keys = new RowKeys();
      for (const part of parts(changes, cuts)) {
        keys.clear();
        for (const row of part) {
          const slot = keys.slotOf(row + 1);
          if (keys.count(slot)) keys.tell(slot, "s.t", String(row), false);
        }
        const rows = keys.changedRows(3);
        hot.addPart(rows, keys.untoldChanges(rows.length === 3 ? rows.at(-1)?.count : undefined));
      }
      for (const { key, count, countMax } of hot.report(changes.length)) {
        const truth = changes.filter((row) => String(row) === key).length;
        expect(truth).toBeGreaterThanOrEqual(count);
        expect(truth).toBeLessThanOrEqual(countMax);
      }
    }),
  );
});

test("a row's delete is remembered until it is inserted again, however many keys there are", () => {
  const keys = new RowKeys();
  for (let hash = 1; hash <= 100_000; hash++) keys.setDeleted(keys.slotOf(hash), hash);
  expect(keys.takeDeleted(keys.find(777))).toBe(777);
  expect(keys.takeDeleted(keys.find(777))).toBe(0);
  expect(keys.find(100_001)).toBe(-1);
});

test("the highest values are kept, of equal ones the first", () => {
  fc.assert(
    fc.property(fc.array(fc.nat(20), { maxLength: 50 }), fc.integer({ min: 1, max: 5 }), (values, size) => {
      const list = new TopList<{ value: number; at: number }>(size, ({ value }) => value);
      const items = values.map((value, at) => ({ value, at }));
      for (const item of items) list.add(item);
      expect(list.items).toEqual(items.toSorted((a, b) => b.value - a.value || a.at - b.at).slice(0, size));
    }),
  );
});

test("times are told to the microsecond, and not at all where the log tells none", () => {
  expect(isoTime(1_764_472_320_000_001)).toBe("2025-11-30T03:12:00.000001Z");
  expect(isoTime(1_764_472_320_000_000)).toBe("2025-11-30T03:12:00Z");
  expect(isoTime(0)).toBe(null);
  expect(isoTime(Number.MAX_VALUE)).toBe(null);
});

test("the average is never above the busiest second where clocks tell whole seconds", () => {
  const curve = new RateCurve();
  for (let i = 0; i < 27; i++) curve.add((1_700_000_000 + (i % 2)) * 1_000_000, 1, 1, 100);
  const { perSecond, peak } = curve.report(1, true);
  expect(perSecond?.transactions).toBe(13.5);
  expect(peak?.transactions).toBe(14);
});
