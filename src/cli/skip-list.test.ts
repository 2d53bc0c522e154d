import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ReplicationError } from "../base/error.ts";
import { describeId } from "../transaction/transaction.ts";
import { parseSkipList } from "./skip-list.ts";

const UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

describe("the transactions to pass over", () => {
  test.each([
    [`${UUID}:5`, [`${UUID}:5`]],
    [`${UUID.toUpperCase()}:5-7:9`, [5, 6, 7, 9].map((gno) => `${UUID}:${gno}`)],
    [`${UUID}:Blue:2`, [`${UUID}:blue:2`]],
    ["0-1-100, 0-001-0100", ["0-1-100"]],
    ["binlog.000003:4711,mysql-bin.1000000:0004", ["binlog.000003:4711", "mysql-bin.1000000:4"]],
    [` ${UUID}:1 , 1-2-3,binlog.000001:157 `, [`${UUID}:1`, "1-2-3", "binlog.000001:157"]],
  ])("%s", (text, names) => expect(parseSkipList(text)).toEqual(names));

  test.each([
    "",
    "now",
    "5",
    "binlog.000003",
    "binlog.000003:",
    UUID,
    `${UUID}:`,
    `${UUID}:0`,
    `${UUID}:5-3`,
    "0-1",
    "0-1-2,,0-1-3",
    "99999999999-1-1",
  ])("%j is refused and the hint says how to write it", (text) => {
    let refused: unknown;
    try {
      parseSkipList(text);
    } catch (error) {
      refused = error;
    }
    expect(refused).toBeInstanceOf(ReplicationError);
    expect(refused).toMatchObject({ code: "CONFIG", hint: expect.stringContaining("binlog.000003:4711") });
  });

  test("a range of everything is refused, not written out", () => {
    expect(() => parseSkipList(`${UUID}:1-9223372036854775806`)).toThrow("too many");
    expect(() => parseSkipList(`${UUID}:1-9000,${UUID}:9001-18000`)).toThrow("too many");
  });

  test("every transaction is named as the engine names it", () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 1n, max: 2n ** 63n - 2n }), fc.constantFrom("", "blue"), (gno, tag) => {
        const name = describeId({ kind: "mysql", uuid: UUID, tag, gno });
        expect(parseSkipList(name)).toEqual([name]);
      }),
    );
    const name = describeId({ kind: "mariadb", domainId: 0, serverId: 4_294_967_295, sequence: 2n ** 64n - 1n });
    expect(parseSkipList(name)).toEqual([name]);
  });
});
