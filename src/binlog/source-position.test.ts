import { expect, test } from "vitest";
import { EVENT_TYPE } from "./event-type.ts";
import { EVENT_FLAG } from "./event.ts";
import { nextSourcePosition } from "./source-position.ts";

function event(end: number, { type = 30, flags = 0, length = 100 } = {}): Buffer {
  const bytes = Buffer.alloc(length);
  bytes[4] = type;
  bytes.writeUInt32LE(length, 9);
  bytes.writeUInt32LE(end, 13);
  bytes.writeUInt16LE(flags, 17);
  return bytes;
}

test("the header's end position is the position", () => {
  expect(nextSourcePosition(400, event(500))).toBe(500);
});

test("what the source leaves out makes a gap", () => {
  expect(nextSourcePosition(400, event(90_000))).toBe(90_000);
});

test("a position past 4 GiB keeps its high part", () => {
  const before = 3 * 2 ** 32 + 400;
  expect(nextSourcePosition(before, event(500))).toBe(3 * 2 ** 32 + 500);
});

test("an end that wraps around 32 bits goes on above 4 GiB", () => {
  expect(nextSourcePosition(2 ** 32 - 40, event(60))).toBe(2 ** 32 + 60);
});

test("an end at exactly 4 GiB is no artificial event", () => {
  expect(nextSourcePosition(2 ** 32 - 100, event(0))).toBe(2 ** 32);
});

test("an event without an end inside a MariaDB group counts by its length", () => {
  expect(nextSourcePosition(400, event(0, { length: 120 }))).toBe(520);
});

test("artificial events move nothing", () => {
  expect(nextSourcePosition(400, event(0, { type: EVENT_TYPE.ROTATE, flags: EVENT_FLAG.ARTIFICIAL }))).toBe(400);
  expect(nextSourcePosition(400, event(0, { type: EVENT_TYPE.FORMAT_DESCRIPTION }))).toBe(400);
  expect(nextSourcePosition(400, event(0, { type: EVENT_TYPE.HEARTBEAT }))).toBe(400);
});
