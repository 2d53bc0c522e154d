import fc from "fast-check";
import { expect, test } from "vitest";
import { le, makeEvent } from "../../test/helpers/binlog-event.ts";
import { zstdOfRawBlocks } from "../../test/helpers/zstd.ts";
import { ReplicationError } from "../base/error.ts";
import type { TransactionPayloadEvent } from "../binlog/events/transaction-payload.ts";
import { streamPayloadEvents } from "./payload-stream.ts";

const MAX = 1 << 30;

const payload = (bytes: Buffer, compression: "zstd" | "none"): TransactionPayloadEvent => ({
  kind: "transaction-payload",
  compression,
  uncompressedBytes: bytes.length,
  payload: compression === "none" ? bytes : zstdOfRawBlocks(bytes, 100),
});

const codeOf = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    if (error instanceof ReplicationError) return error.code;
    throw error;
  }
  return "none";
};

test("the events come out as they went in, wherever blocks cut them", () => {
  const body = fc.uint8Array({ maxLength: 700 }).map((bytes) => Buffer.from(bytes));
  fc.assert(
    fc.property(fc.array(body, { maxLength: 12 }), fc.integer({ min: 1, max: 900 }), (bodies, blockBytes) => {
      const events = bodies.map((bytes, i) => makeEvent(i % 40, [bytes]));
      const bytes = Buffer.concat(events);
      const compressed = { ...payload(bytes, "zstd"), payload: zstdOfRawBlocks(bytes, blockBytes) };
      expect([...streamPayloadEvents(compressed, MAX)]).toEqual(events);
      expect([...streamPayloadEvents(payload(bytes, "none"), MAX)]).toEqual(events);
    }),
  );
});

test("a payload much bigger than a slice is never held whole", () => {
  const event = makeEvent(30, [Buffer.alloc(100_000, 7)]);
  const bytes = Buffer.concat(Array.from({ length: 300 }, () => event));
  let count = 0;
  for (const inner of streamPayloadEvents(
    { ...payload(bytes, "zstd"), payload: zstdOfRawBlocks(bytes, 120_000) },
    MAX,
  )) {
    // An event holds on to its own bytes or to one block's, not to those of the whole payload.
    expect(inner.buffer.byteLength).toBeLessThan(1_000_000);
    count++;
  }
  expect(count).toBe(300);
});

test("broken payloads are CORRUPT_EVENT, not a crash", () => {
  const event = makeEvent(30, [Buffer.alloc(50)]);
  const read = (broken: TransactionPayloadEvent, max = MAX): string =>
    codeOf(() => [...streamPayloadEvents(broken, max)]);
  expect(read(payload(event.subarray(0, 40), "zstd"))).toBe("CORRUPT_EVENT");
  expect(
    read({ ...payload(event, "zstd"), payload: Buffer.from("no frame at all, but some text instead of it") }),
  ).toBe("CORRUPT_EVENT");
  expect(read({ ...payload(event, "zstd"), payload: zstdOfRawBlocks(event, 100).subarray(0, 30) })).toBe(
    "CORRUPT_EVENT",
  );
  expect(read(payload(Buffer.concat([event.subarray(0, 9), le(4, 3), event.subarray(13)]), "none"))).toBe(
    "CORRUPT_EVENT",
  );
  expect(read(payload(event, "none"), 60)).toBe("CORRUPT_EVENT");
});

test("of hundreds of megabytes in a few kilobytes there is a small part in memory", () => {
  const blockBytes = 128 * 1024;
  const event = makeEvent(30, [Buffer.alloc(8 * blockBytes - 19)]);
  // Its header as it is, in a raw block; then blocks of one byte each that is repeated (RFC 8878, 3.1.1.2).
  const head = [le(3, 19 << 3), event.subarray(0, 19)];
  const zeros = (bytes: number, last: 0 | 1 = 0): Buffer[] => [le(3, (bytes << 3) | (1 << 1) | last), Buffer.of(0)];
  const packed = [...head, ...Array.from({ length: 7 }, () => zeros(blockBytes)).flat(), ...zeros(blockBytes - 19)];
  const count = 400;
  const payload = Buffer.concat([
    Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58),
    ...Array.from({ length: count }, () => packed).flat(),
    ...zeros(0, 1),
  ]);
  expect(payload.length).toBeLessThan(32_000);
  const before = process.memoryUsage().arrayBuffers;
  let events = 0;
  let heldBytes = 0;
  for (const { length } of streamPayloadEvents(
    { kind: "transaction-payload", compression: "zstd", uncompressedBytes: count * event.length, payload },
    MAX,
  )) {
    expect(length).toBe(event.length);
    if (events++ === 0) heldBytes = process.memoryUsage().arrayBuffers - before;
  }
  expect(events).toBe(count);
  expect(heldBytes).toBeLessThan(100e6);
});
