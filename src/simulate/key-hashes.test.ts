import fc from "fast-check";
import { expect, test } from "vitest";
import { areMany, firstCommon, type KeyHashes } from "./key-hashes.ts";
import { LockTable } from "./locks.ts";

/** Small and large ones, whose few interesting hashes may be anywhere. */
const hashes = fc
  .record({ some: fc.array(fc.nat(40), { maxLength: 4 }), filler: fc.constantFrom(0, 3, 1_200), own: fc.nat(1_000) })
  .map(({ some, filler, own }) => {
    const all: number[] = Array.from({ length: filler }, (_, at) => 1_000_000 * (own + 1) + at);
    for (const hash of some) all.splice((hash * 31) % (all.length + 1), 0, hash);
    return all;
  });

test("the first common hash is the same one whatever the sizes, asked once or twice", () => {
  fc.assert(
    fc.property(hashes, hashes, (before, after) => {
      const expected = after.findIndex((hash) => before.includes(hash));
      expect(firstCommon(before, after)).toBe(expected);
      expect(firstCommon(before, after)).toBe(expected);
    }),
  );
});

test("locks of large transactions are those that a table of each key would give", () => {
  const commands = fc.array(fc.record({ owner: fc.nat(4), keys: fc.array(hashes, { minLength: 1, maxLength: 3 }) }), {
    maxLength: 30,
  });
  fc.assert(
    fc.property(commands, (all) => {
      const table = new LockTable<{ name: number; retryLocks(): void }>();
      const owners = Array.from({ length: 5 }, (_, name) => ({ name, retryLocks: () => {} }));
      const holds = new Map<number, readonly KeyHashes[]>();
      for (const { owner: name, keys } of all) {
        const owner = owners[name];
        if (owner === undefined) continue;
        const held = holds.get(name);
        if (held !== undefined) {
          table.release(owner, held);
          holds.delete(name);
          continue;
        }
        const wanted = new Set(keys.flat());
        const blockers = [...holds].filter(([, theirs]) => theirs.flat().some((hash) => wanted.has(hash)));
        const names = table.blockers(owner, keys).map((other) => other.name);
        expect(new Set(names)).toEqual(new Set(blockers.map(([other]) => other)));
        expect(table.take(owner, keys)).toBe(blockers.length === 0);
        if (blockers.length === 0) holds.set(name, keys);
        else table.leave(owner);
      }
    }),
    { numRuns: 60 },
  );
});

test("a thousand keys are not many", () => {
  expect(areMany(Array.from({ length: 1_000 }, (_, at) => at))).toBe(false);
  expect(areMany(Array.from({ length: 1_001 }, (_, at) => at))).toBe(true);
});

test("two large transactions are compared once, whoever asks how often", () => {
  const before = Array.from({ length: 2_000 }, (_, at) => at);
  const after = Array.from({ length: 2_000 }, (_, at) => at + 1_999);
  let comparisons = 0;
  const findIndex: typeof after.findIndex = (...arguments_) => {
    comparisons++;
    return Array.prototype.findIndex.apply(after, arguments_);
  };
  Object.assign(after, { findIndex });
  for (let cell = 0; cell < 10; cell++) expect(firstCommon(before, after)).toBe(0);
  expect(comparisons).toBe(1);
});
