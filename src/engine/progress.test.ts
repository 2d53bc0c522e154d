import { describe, expect, test } from "vitest";
import { comparePositions, gtidText, isReached, parseGtids } from "./progress.ts";

describe("how far a channel is", () => {
  test("files are ordered by their number, also when it gets longer", () => {
    expect(
      comparePositions({ file: "binlog.999999", position: 900 }, { file: "binlog.1000000", position: 4 }),
    ).toBeLessThan(0);
    expect(
      comparePositions({ file: "binlog.000002", position: 5 }, { file: "binlog.000002", position: 4 }),
    ).toBeGreaterThan(0);
  });

  test.each(["", "empty:mysql", "empty:mariadb", "0-1-100,1-2-5", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5:tag:7"])(
    "a checkpoint's GTIDs %j survive being stored",
    (text) => expect(gtidText(parseGtids(text))).toBe(text),
  );

  test("a GTID goal is reached when all of it is there, whatever the file", () => {
    const source = { file: "b.000001", position: 4 };
    const goal = { gtids: parseGtids("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5") };
    const at = (text: string) => ({ source, gtids: parseGtids(text), transactions: 0n });
    expect(isReached(goal, at("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-4"))).toBe(false);
    expect(isReached(goal, at("3e11fa47-71ca-11e1-9e33-c80aa9429562:1-9"))).toBe(true);
  });

  test("where a source is now is reached by file and position when the channel goes by these", () => {
    const goal = { gtids: parseGtids("0-1-100"), source: { file: "b.000002", position: 500 } };
    const at = (position: number, gtids: string) => ({
      source: { file: "b.000002", position },
      gtids: parseGtids(gtids),
      transactions: 0n,
    });
    expect([isReached(goal, at(499, "")), isReached(goal, at(500, ""))]).toEqual([false, true]);
    expect([isReached(goal, at(500, "0-1-99")), isReached(goal, at(4, "0-1-100"))]).toEqual([false, true]);
  });
});
