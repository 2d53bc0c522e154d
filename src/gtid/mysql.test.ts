import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ReplicationError } from "../base/error.ts";
import { GNO_MAX, GtidSet } from "./mysql.ts";

const U = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
const V = "0e11fa47-71ca-11e1-9e33-c80aa9429562";
/** `u:1-5` with the uuid spelt out. */
const set = (text: string): GtidSet => GtidSet.parse(text.replaceAll("u:", `${U}:`).replaceAll("v:", `${V}:`));
const short = (gtids: GtidSet): string => gtids.toString().replaceAll(`${U}:`, "u:").replaceAll(`${V}:`, "v:");

describe("a MySQL GTID set, cases from the field", () => {
  it("keeps an interval when a part of it is added", () => {
    expect(short(set("u:1-100").union(set("u:3")))).toBe("u:1-100");
  });

  it("does not fill the gap between two intervals", () => {
    expect(short(set("u:100-200,u:300-400"))).toBe("u:100-200:300-400");
  });

  it("has one GTID in common with a set around it", () => {
    expect(short(set("u:10").intersect(set("u:1-10")))).toBe("u:10");
  });

  it("loses only what both have", () => {
    expect(short(set("u:21-57").subtract(set("u:20-21")))).toBe("u:22-57");
  });
});

describe("a MySQL GTID set as text", () => {
  it.each([
    ["", ""],
    [" u: 5 - 7 : 1 ,\n", "u:1:5-7"],
    ["u:1-2:3-4", "u:1-4"],
    ["u:4:3:2:1", "u:1-4"],
    ["u:5-3:9", "u:9"],
    ["u:1-3,v:7", "v:7,u:1-3"],
    ["u:tag_b:1,u:_a:2:4,u:9", "u:9:_a:2:4:tag_b:1"],
    ["u:1:t:5-7:1,v:t:1", "v:t:1,u:1:t:1:5-7"],
    ["u:9223372036854775806", "u:9223372036854775806"],
  ])("%j is printed as the server prints it", (text, printed) => {
    expect(short(set(text))).toBe(printed);
  });

  it("takes a uuid in upper case and without dashes", () => {
    expect(GtidSet.parse(`${U.toUpperCase()}:1`).toString()).toBe(`${U}:1`);
    expect(GtidSet.parse(`${U.replaceAll("-", "")}:1`).toString()).toBe(`${U}:1`);
  });

  it.each([
    "u:",
    "u:0",
    "u:x-",
    "u:1-x",
    "3e11fa47:1",
    "u:9223372036854775807",
    "u:1:2tag:3",
    `u:${"t".repeat(33)}:1`,
    "x",
    "u:1-2-3",
  ])("%j is refused with advice", (text) => {
    expect(() => set(text)).toThrow(expect.objectContaining({ code: "CONFIG", hint: expect.any(String) }));
  });
});

describe("a MySQL GTID set, in bytes", () => {
  it("has the layout that servers before 8.3 read", () => {
    expect(set("v:7,u:1-3:5").encode().toString("hex")).toBe(
      `0200000000000000${V.replaceAll("-", "")}010000000000000007000000000000000800000000000000` +
        `${U.replaceAll("-", "")}020000000000000001000000000000000400000000000000` +
        `05000000000000000600000000000000`,
    );
  });

  it("has the tagged layout once there is a tag, or when asked for", () => {
    const tagged = set("u:5,u:mytag:1-2").encode();
    expect(tagged.toString("hex")).toBe(
      `0102000000000001${U.replaceAll("-", "")}00010000000000000005000000000000000600000000000000` +
        `${U.replaceAll("-", "")}0a6d79746167010000000000000001000000000000000300000000000000`,
    );
    expect(short(GtidSet.decode(set("u:5").encode(true)))).toBe("u:5");
    expect(set("u:5").encode(true)).not.toEqual(set("u:5").encode());
  });

  it.each([
    ["cut", set("u:1-3").encode().subarray(0, -1)],
    ["too long", Buffer.concat([set("u:1-3").encode(), Buffer.alloc(1)])],
    ["of an unknown format", Buffer.from("0000000000000002", "hex")],
    ["empty", Buffer.alloc(0)],
    [
      "backwards",
      Buffer.concat([
        set("u:1-3").encode().subarray(0, 32),
        Buffer.from("0900000000000000", "hex"),
        Buffer.from("0300000000000000", "hex"),
      ]),
    ],
    ["endless", Buffer.concat([Buffer.from("ffffffffffffff00", "hex"), Buffer.alloc(16)])],
  ])("is refused when %s", (_what, bytes) => {
    expect(() => GtidSet.decode(bytes)).toThrow(ReplicationError);
  });
});

describe("a MySQL GTID set that grows", () => {
  it("says whether a GTID was new", () => {
    const gtids = new GtidSet();
    expect([gtids.add(U, "", 1n), gtids.add(U, "", 2n), gtids.add(U, "", 2n), gtids.add(U, "t", 2n)]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    expect([gtids.add(U, "", 9n), gtids.add(U, "", 5n), gtids.add(U, "", 9n), gtids.add(U, "", 4n)]).toEqual([
      true,
      true,
      false,
      true,
    ]);
    expect(short(gtids)).toBe("u:1-2:4-5:9:t:2");
    expect(gtids.size).toBe(6n);
  });

  it("is not changed by what happens to its clone", () => {
    const gtids = set("u:1-5");
    const copy = gtids.clone();
    copy.add(U, "", 6n);
    copy.add(V, "", 1n);
    expect(short(gtids)).toBe("u:1-5");
    expect(short(copy)).toBe("v:1,u:1-6");
  });

  it("refuses numbers that no server gives", () => {
    expect(() => new GtidSet().add(U, "", 0n)).toThrow();
    expect(() => new GtidSet().add(U, "", GNO_MAX + 1n)).toThrow();
    expect(() => new GtidSet().addInterval(U, "", 5n, 4n)).toThrow();
  });
});

/** A set as a plain list of GTIDs: slow, and plainly right. */
const gtid = fc.record({
  uuid: fc.constantFrom(U, V),
  tag: fc.constantFrom("", "a", "b"),
  gno: fc.integer({ min: 1, max: 30 }),
});
const list = fc.array(gtid, { maxLength: 40 });
type Gtid = { uuid: string; tag: string; gno: number };
const name = ({ uuid, tag, gno }: Gtid): string => `${uuid}:${tag}:${gno}`;

function build(gtids: Gtid[]): GtidSet {
  const result = new GtidSet();
  for (const { uuid, tag, gno } of gtids) result.add(uuid, tag, BigInt(gno));
  return result;
}

function members(gtids: GtidSet): Set<string> {
  const result = new Set<string>();
  for (const [uuid, tag, intervals] of gtids.entries()) {
    for (const { first, last } of intervals)
      for (let gno = first; gno <= last; gno++) result.add(`${uuid}:${tag}:${gno}`);
  }
  return result;
}

describe("MySQL GTID sets, whatever is in them", () => {
  it("hold what was added, in intervals that neither overlap nor touch", () => {
    fc.assert(
      fc.property(list, (gtids) => {
        const built = build(gtids);
        expect(members(built)).toEqual(new Set(gtids.map(name)));
        expect(built.size).toBe(BigInt(members(built).size));
        for (const [, , intervals] of built.entries()) {
          for (const [i, { first, last }] of intervals.entries()) {
            expect(first <= last).toBe(true);
            const next = intervals[i + 1];
            if (next !== undefined) expect(next.first > last + 1n).toBe(true);
          }
        }
      }),
    );
  });

  it("come back from their text and their bytes", () => {
    fc.assert(
      fc.property(list, fc.boolean(), (gtids, tagged) => {
        const built = build(gtids);
        expect(GtidSet.parse(built.toString()).equals(built)).toBe(true);
        expect(GtidSet.decode(built.encode(tagged || built.hasTags)).equals(built)).toBe(true);
      }),
    );
  });

  it("unite, subtract and intersect like sets", () => {
    fc.assert(
      fc.property(list, list, (left, right) => {
        const [a, b] = [build(left), build(right)];
        const [x, y] = [members(a), members(b)];
        expect(members(a.union(b))).toEqual(new Set([...x, ...y]));
        expect(members(a.subtract(b))).toEqual(new Set([...x].filter((one) => !y.has(one))));
        expect(members(a.intersect(b))).toEqual(new Set([...x].filter((one) => y.has(one))));
        const inside = [...x].every((one) => y.has(one));
        expect(a.isSubsetOf(b)).toBe(inside);
        expect(a.equals(b)).toBe(inside && x.size === y.size);
        expect(a.isEmpty).toBe(x.size === 0);
        for (const { uuid, tag, gno } of right)
          expect(a.contains(uuid, tag, BigInt(gno))).toBe(x.has(`${uuid}:${tag}:${gno}`));
        // The operands are as they were.
        expect(members(a)).toEqual(x);
        expect(members(b)).toEqual(y);
      }),
    );
  });

  it("give the same set in whatever order GTIDs and intervals come", () => {
    const interval = fc.tuple(fc.integer({ min: 1, max: 60 }), fc.integer({ min: 0, max: 12 }));
    fc.assert(
      fc.property(fc.array(interval, { maxLength: 15 }), (intervals) => {
        const whole = new GtidSet();
        const single = new GtidSet();
        for (const [first, length] of intervals) {
          whole.addInterval(U, "", BigInt(first), BigInt(first + length));
          for (let gno = first + length; gno >= first; gno--) single.add(U, "", BigInt(gno));
        }
        expect(whole.toString()).toBe(single.toString());
      }),
    );
  });
});
