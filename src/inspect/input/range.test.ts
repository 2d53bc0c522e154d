import fc from "fast-check";
import { expect, test } from "vitest";
import { ReplicationError } from "../../base/error.ts";
import type { TransactionId } from "../../transaction/transaction.ts";
import { describeBound, parseBound, type Placed, type Range, RangeFilter } from "./range.ts";

const UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const at = (iso: string): { kind: "time"; atUs: number } => ({ kind: "time", atUs: Date.parse(iso) * 1000 });

test("a time is UTC unless it says otherwise", () => {
  expect(parseBound("2026-11-30 03:12")).toEqual(at("2026-11-30T03:12:00Z"));
  expect(parseBound("2026-11-30T03:12:07Z")).toEqual(at("2026-11-30T03:12:07Z"));
  expect(parseBound("2026-11-30 03:12:07 utc")).toEqual(at("2026-11-30T03:12:07Z"));
  expect(parseBound("2026-11-30 03:12+02:00")).toEqual(at("2026-11-30T01:12:00Z"));
  expect(parseBound("2026-11-30T03:12:00-0530")).toEqual(at("2026-11-30T08:42:00Z"));
  expect(parseBound("2026-11-30")).toEqual(at("2026-11-30T00:00:00Z"));
  expect(parseBound("2026-11-30 03:12:00.250001")).toEqual({
    kind: "time",
    atUs: Date.parse("2026-11-30T03:12:00Z") * 1000 + 250_001,
  });
});

test("a GTID of either flavour is one transaction", () => {
  expect(parseBound(`${UUID.toUpperCase()}:5`)).toEqual({
    kind: "gtid",
    id: { kind: "mysql", uuid: UUID, tag: "", gno: 5n },
  });
  expect(parseBound(`${UUID}:blue:7`)).toEqual({
    kind: "gtid",
    id: { kind: "mysql", uuid: UUID, tag: "blue", gno: 7n },
  });
  expect(parseBound("0-1-77")).toEqual({
    kind: "gtid",
    id: { kind: "mariadb", domainId: 0, serverId: 1, sequence: 77n },
  });
});

test("a position stands alone or behind the name of its file", () => {
  expect(parseBound("binlog.000003:1234")).toEqual({ kind: "position", file: "binlog.000003", position: 1234 });
  expect(parseBound("1234")).toEqual({ kind: "position", file: undefined, position: 1234 });
});

test.each([
  "yesterday",
  "",
  "binlog.000003",
  "2026-02-30",
  "2026-13-01 00:00",
  "2026-11-30 25:00",
  `${UUID}:1-5`,
  `${UUID}:1,${UUID}:7`,
  `${UUID}:0`,
  "0-1",
  "99999999999-1-1",
  "binlog.000003:-4",
])("%s is refused with what can be written instead", (text) => {
  let error: unknown;
  try {
    parseBound(text);
  } catch (thrown) {
    error = thrown;
  }
  expect(error).toBeInstanceOf(ReplicationError);
  expect((error as ReplicationError).code).toBe("CONFIG");
  expect((error as ReplicationError).hint).toMatch(/^write /);
});

test("what a bound is told as reads back as the same bound", () => {
  for (const text of [`${UUID}:5`, `${UUID}:blue:7`, "0-1-77", "binlog.000003:1234", "2026-11-30 03:12:00 UTC"]) {
    expect(describeBound(parseBound(text))).toBe(text);
  }
});

const FILES = ["/var/lib/mysql/binlog.000008", "/var/lib/mysql/binlog.000009", "/var/lib/mysql/binlog.000010.gz"];

/** Two transactions in each of three files, a minute apart; the third has an old clock. */
const LOG: Placed[] = ["binlog.000008", "binlog.000009", "binlog.000010"].flatMap((file, i) =>
  [0, 1].map((j) => ({
    id: { kind: "mysql", uuid: UUID, tag: "", gno: BigInt(2 * i + j + 1) } satisfies TransactionId,
    start: { file, position: j === 0 ? 157 : 1000 },
    committedAtUs: Date.parse(`2026-11-30T03:0${2 * i + j === 2 ? 0 : 2 * i + j}:00Z`) * 1000,
  })),
);

function inside(from: string | undefined, to: string | undefined, files: readonly string[] = FILES): number[] {
  const filter = new RangeFilter(rangeOf(from, to), files);
  return LOG.flatMap((transaction, i) => (filter.take(transaction) === "inside" ? [i + 1] : []));
}

const rangeOf = (from: string | undefined, to: string | undefined): Range => ({
  from: from === undefined ? undefined : parseBound(from),
  to: to === undefined ? undefined : parseBound(to),
});

test("a range begins with the bound and ends before it, but for a GTID, which belongs to it", () => {
  expect(inside(undefined, undefined)).toEqual([1, 2, 3, 4, 5, 6]);
  expect(inside(`${UUID}:2`, `${UUID}:4`)).toEqual([2, 3, 4]);
  expect(inside("2026-11-30 03:01", "2026-11-30 03:04")).toEqual([2, 3, 4]);
  expect(inside("binlog.000008:158", "binlog.000010:157")).toEqual([2, 3, 4]);
  expect(inside("binlog.000009:1001", undefined)).toEqual([5, 6]);
  expect(inside("2026-11-30 03:01", "binlog.000009:500")).toEqual([2, 3]);
});

test("a position without a file means the first file for the begin and the last for the end", () => {
  expect(inside("500", "500")).toEqual([2, 3, 4, 5]);
});

test("files are compared by their numbers where the list does not have them", () => {
  expect(inside("binlog.000009:4", "binlog.000010:4", [])).toEqual([3, 4]);
});

test("files wholly outside the positions need not be opened", () => {
  const filter = new RangeFilter(rangeOf("binlog.000009:4", "binlog.000009:900"), FILES);
  expect(FILES.map((file) => filter.skipsFile(file))).toEqual([true, false, true]);
});

test("a bound whose transaction never came is told", () => {
  const filter = new RangeFilter(rangeOf(undefined, `${UUID}:77`), FILES);
  for (const transaction of LOG) filter.take(transaction);
  expect(filter.missing && describeBound(filter.missing)).toBe(`${UUID}:77`);
});

test.each([
  ["4000", "2000", ["binlog.000008"]],
  ["binlog.000009:4", "binlog.000008:900", FILES],
  ["binlog.000009:4", "binlog.000008:900", []],
  ["binlog.000009:4", "900", ["binlog.000008"]],
  ["2026-11-30 03:02", "2026-11-30 03:01", FILES],
])("from %s to %s is refused before anything is read", (from, to, files) => {
  expect(() => new RangeFilter(rangeOf(from, to), files)).toThrow(/comes before the begin/);
});

test.each([
  [`${UUID}:4`, `${UUID}:2`],
  ["binlog.000009:1000", `${UUID}:3`],
  [`${UUID}:4`, "binlog.000009:200"],
  [`${UUID}:4`, "2026-11-30 03:02"],
])("from %s to %s has nothing in it, and says why", (from, to) => {
  const filter = new RangeFilter(rangeOf(from, to), FILES);
  expect(LOG.map((transaction) => filter.take(transaction))).not.toContain("inside");
  expect(filter.isOver).toBe(true);
  expect(() => filter.missing).toThrow(/comes before the begin/);
});

test("a span without transactions is no mistake", () => {
  expect(inside("2026-11-30 03:01:10", "2026-11-30 03:01:20")).toEqual([]);
  const filter = new RangeFilter(rangeOf("2026-11-30 03:01:10", "2026-11-30 03:01:20"), FILES);
  for (const transaction of LOG) filter.take(transaction);
  expect(filter.missing).toBeUndefined();
});

test("of files with one name, a position must say which", () => {
  const files = ["a/binlog.000008", "b/binlog.000008"];
  expect(() => new RangeFilter(rangeOf("binlog.000008:4", undefined), files)).toThrow(/is 2 of these files/);
  const filter = new RangeFilter(rangeOf("b/binlog.000008:4", undefined), files);
  expect(files.map((file) => filter.skipsFile(file))).toEqual([true, false]);
});

test("whatever the bounds, the transactions inside are neighbours, and after the last nothing is", () => {
  const bound = fc.option(
    fc.oneof(
      fc.integer({ min: 1, max: 8 }).map((gno) => `${UUID}:${gno}`),
      fc.integer({ min: 0, max: 7 }).map((minute) => `2026-11-30 03:0${minute}`),
      fc
        .tuple(fc.integer({ min: 7, max: 11 }), fc.integer({ min: 0, max: 1100 }))
        .map(([file, position]) => `binlog.0000${String(file).padStart(2, "0")}:${position}`),
    ),
    { nil: undefined },
  );
  fc.assert(
    fc.property(bound, bound, (from, to) => {
      let filter: RangeFilter;
      try {
        filter = new RangeFilter(rangeOf(from, to), FILES);
      } catch (error) {
        expect(error).toMatchObject({ code: "CONFIG" });
        return;
      }
      const answers = LOG.map((transaction) => filter.take(transaction));
      const order = { before: 0, inside: 1, past: 2 };
      const ranks = answers.map((answer) => order[answer]);
      expect(ranks).toEqual(ranks.toSorted((a, b) => a - b));
      expect(filter.isOver).toBe(filter.take(LOG[0] as Placed) === "past");
    }),
  );
});
