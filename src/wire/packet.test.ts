import fc from "fast-check";
import { expect, test } from "vitest";
import { framePayload, PACKET_PAYLOAD_MAX, packetCount, PacketReader } from "./packet.ts";

interface Received {
  payload: Buffer;
  sequenceId: number;
}

function readAll(chunks: Iterable<Buffer>): Received[] {
  const received: Received[] = [];
  const reader = new PacketReader((bytes, start, end, sequenceId) =>
    received.push({ payload: bytes.subarray(start, end), sequenceId }),
  );
  for (const chunk of chunks) reader.push(chunk);
  return received;
}

function* cut(stream: Buffer, sizes: readonly number[]): Generator<Buffer> {
  let at = 0;
  for (let index = 0; at < stream.length; index++) {
    const size = sizes[index % sizes.length] as number;
    yield stream.subarray(at, at + size);
    at += size;
  }
}

test("payloads survive any cut of the stream and any division into parts", () => {
  const part = fc.uint8Array({ maxLength: 3000 }).map((bytes) => Buffer.from(bytes));
  const payload = fc.array(part, { minLength: 1, maxLength: 4 });
  const sizes = fc.array(fc.integer({ min: 1, max: 5000 }), { minLength: 1, maxLength: 20 });
  fc.assert(
    fc.property(fc.array(payload, { maxLength: 10 }), sizes, (payloads, sizes) => {
      const stream = Buffer.concat(payloads.flatMap((parts, index) => framePayload(parts, index)));
      const received = readAll(cut(stream, sizes));
      expect(received.map(({ sequenceId }) => sequenceId)).toEqual(payloads.map((_, index) => index));
      expect(Buffer.concat(received.map(({ payload }) => payload))).toEqual(Buffer.concat(payloads.flat()));
      expect(received.map(({ payload }) => payload.length)).toEqual(
        payloads.map((parts) => Buffer.concat(parts).length),
      );
    }),
  );
});

for (const over of [-1, 0, 1, PACKET_PAYLOAD_MAX]) {
  test(`a payload of the packet limit ${over < 0 ? "minus 1" : `plus ${over}`} travels in the packets it needs and arrives whole`, () => {
    const payload = Buffer.alloc(PACKET_PAYLOAD_MAX + over);
    for (let at = 0; at < payload.length; at += 997) payload[at] = at % 251;
    const framed = framePayload([payload.subarray(0, 10_000), payload.subarray(10_000)], 254);
    const stream = Buffer.concat([...framed, ...framePayload([Buffer.from("next")], 0)]);
    const packets = packetCount(payload.length);
    expect(stream.length).toBe(payload.length + 4 * packets + 8);
    const [first, second] = readAll(cut(stream, [65_536, 1, 2, 3]));
    expect(first?.payload.equals(payload)).toBe(true);
    expect(first?.sequenceId).toBe((254 + packets - 1) % 256);
    expect(second?.payload.toString()).toBe("next");
  });
}

test("a payload inside one chunk is a view of it, and a spanning one is copied once", () => {
  const stream = Buffer.concat([
    ...framePayload([Buffer.from("inside")], 0),
    ...framePayload([Buffer.from("spans")], 1),
  ]);
  const chunk = stream.subarray(0, stream.length - 2);
  const [inside, spans] = readAll([chunk, stream.subarray(chunk.length)]);
  expect(inside?.payload.buffer).toBe(chunk.buffer);
  expect(inside?.payload.byteOffset).toBe(chunk.byteOffset + 4);
  expect(spans?.payload.toString()).toBe("spans");
  expect(spans?.payload.byteLength).toBe(spans?.payload.buffer.byteLength);
});

test("a peer that sends more than 1 GiB for one payload is refused before the memory is taken", () => {
  const full = Buffer.concat(framePayload([Buffer.alloc(PACKET_PAYLOAD_MAX)], 0).slice(0, 2));
  const reader = new PacketReader(() => {});
  expect(() => {
    for (let count = 0; count < 66; count++) reader.push(full);
    reader.push(Buffer.from([0xff, 0xff, 0xff, 0, 1]));
  }).toThrow("above 1 GiB");
});
