import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Transaction, TransactionId } from "../transaction/transaction.ts";
import { AppliedAhead, type Numbered } from "./ahead.ts";
import { parseGtids } from "./progress.ts";

const UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const OTHER = "4d8b564f-03f4-4975-856a-0e65c3105328";

const mysql = (uuid: string, gno: number, tag = ""): TransactionId => ({ kind: "mysql", uuid, tag, gno: BigInt(gno) });
const mariadb = (domainId: number, serverId: number, sequence: number): TransactionId => ({
  kind: "mariadb",
  domainId,
  serverId,
  sequence: BigInt(sequence),
});
const ANONYMOUS: TransactionId = { kind: "anonymous" };

const numbered = (number: number, id: TransactionId): Numbered => ({
  number: BigInt(number),
  transaction: { id } as Transaction,
});
/** Where the number says nothing. */
const named = (id: TransactionId): Numbered => numbered(0, id);

const textOf = (...transactions: Numbered[]): string => AppliedAhead.of(transactions).toString();

describe("transactions that are applied before others are", () => {
  test.each([
    ["GTIDs", textOf(named(mysql(UUID, 3)), named(mysql(UUID, 7)), named(mysql(UUID, 4))), `${UUID}:3-4:7`],
    [
      "GTIDs with tags, of two servers",
      textOf(named(mysql(UUID, 3)), named(mysql(OTHER, 1)), named(mysql(UUID, 3, "night"))),
      `${UUID}:3:night:3,${OTHER}:1`,
    ],
    [
      "MariaDB's GTIDs",
      textOf(...[7, 5, 6, 9].map((n) => named(mariadb(0, 1, n))), named(mariadb(0, 2, 8)), named(mariadb(1, 1, 8))),
      "0-1-5..7,0-1-9,0-2-8,1-1-8",
    ],
    ["numbers", textOf(...[14, 12, 20, 13].map((n) => numbered(n, ANONYMOUS))), "#12..14,#20"],
    ["nothing", textOf(), ""],
  ])("are told as text: %s", (_, text, expected) => {
    expect(text).toBe(expected);
    expect(AppliedAhead.parse([text]).toString()).toBe(expected);
  });

  test("are put together from what each worker told", () => {
    const ahead = AppliedAhead.parse([`${UUID}:5`, "", `${UUID}:7-9,${OTHER}:1`, "#3", "#4..6", "0-1-2", "0-1-1"]);
    expect(ahead.toString()).toBe(`${UUID}:5:7-9,${OTHER}:1,#3..6,0-1-1..2`);
    expect(ahead.size).toBe(11n);
  });

  test("are known by number, domain, server and tag", () => {
    const ahead = AppliedAhead.parse([`${UUID}:night:5`, "#3", "0-1-2"]);
    const there = [named(mysql(UUID, 5, "night")), numbered(3, ANONYMOUS), named(mariadb(0, 1, 2))];
    expect(there.filter((one) => ahead.has(one))).toEqual(there);
    const missing = [
      named(mysql(UUID, 5)),
      named(mysql(OTHER, 5, "night")),
      numbered(4, ANONYMOUS),
      named(mariadb(0, 2, 2)),
      named(mariadb(1, 1, 2)),
      named(mariadb(0, 1, 3)),
    ];
    expect(missing.filter((one) => ahead.has(one))).toEqual([]);
  });

  test.each([
    [`${UUID}:3-9`, `${UUID}:1-5:8`, 0n, `${UUID}:6-7:9`],
    ["0-1-3..9,0-2-4,1-1-7", "0-1-5", 0n, "0-1-6..9,0-2-4,1-1-7"],
    ["#3..9", "", 5n, "#6..9"],
    // Another source with GTIDs of another kind: nothing is known, nothing is left out.
    [`${UUID}:3`, "0-1-5", 9n, `${UUID}:3`],
  ])("what %s has beyond %j and %d transactions is %s", (text, gtids, transactions, expected) => {
    const progress = { source: { file: "", position: 0 }, gtids: parseGtids(gtids), transactions };
    expect(AppliedAhead.parse([text]).beyond(progress).toString()).toBe(expected);
  });

  test("survive being stored, whatever they are", () => {
    const small = fc.integer({ min: 1, max: 40 });
    const id = fc.oneof(
      fc.tuple(fc.constantFrom(UUID, OTHER), small, fc.constantFrom("", "a", "tag_1")).map((parts) => mysql(...parts)),
      fc.tuple(fc.integer({ min: 0, max: 2 }), fc.integer({ min: 1, max: 2 }), small).map((parts) => mariadb(...parts)),
      fc.constant(ANONYMOUS),
    );
    const one = fc.tuple(small, id).map((parts) => numbered(...parts));
    fc.assert(
      fc.property(fc.array(fc.array(one), { maxLength: 4 }), fc.array(one), (workers, others) => {
        const stored = AppliedAhead.parse(workers.map((transactions) => textOf(...transactions)));
        const applied = new Set(workers.flat().map(nameOf));
        for (const each of [...workers.flat(), ...others]) expect(stored.has(each)).toBe(applied.has(nameOf(each)));
        expect(stored.size).toBe(BigInt(applied.size));
      }),
    );
  });
});

/** A number counts only where there is no GTID. */
const nameOf = ({ number, transaction: { id } }: Numbered): string =>
  Object.values(id.kind === "anonymous" ? { number } : id).join("/");
