import { describe, expect, it } from "vitest";
import { FORMAT, le, makeEvent, makeQuery } from "../../../test/helpers/binlog-event.ts";
import { decodeTransactionPayload, payloadEvents } from "./transaction-payload.ts";

const inner = [makeQuery("BEGIN"), makeEvent(16, [le(8, 1)])];
const raw = Buffer.concat(inner);
/** A zstd frame of one raw block: magic, a header that names the size, the block. */
const frame = Buffer.concat([
  Buffer.from([0x28, 0xb5, 0x2f, 0xfd, 0x20, raw.length]),
  le(3, (raw.length << 3) | 1),
  raw,
]);

const payload = (bytes: Buffer, compression: number, uncompressed: number): Buffer =>
  makeEvent(40, [
    1,
    1,
    bytes.length,
    2,
    compression > 250 ? 3 : 1,
    ...(compression > 250 ? [0xfc, le(2, compression)] : [compression]),
    3,
    1,
    uncompressed,
    0,
    bytes,
  ]);

describe("a transaction payload", () => {
  it("that is not compressed holds events one after the other", () => {
    const decoded = decodeTransactionPayload(payload(raw, 255, raw.length), FORMAT);
    expect(decoded).toMatchObject({ compression: "none", uncompressedBytes: raw.length });
    expect(payloadEvents(decoded)).toEqual(inner);
  });

  it("in zstd unpacks to the same", () => {
    const decoded = decodeTransactionPayload(payload(frame, 0, raw.length), FORMAT);
    expect(decoded.compression).toBe("zstd");
    expect(payloadEvents(decoded)).toEqual(inner);
  });

  it("may have header fields that are not known here", () => {
    const event = makeEvent(40, [9, 2, 7, 7, 2, 1, 0, 3, 1, raw.length, 1, 1, frame.length, 0, frame]);
    expect(payloadEvents(decodeTransactionPayload(event, FORMAT))).toHaveLength(2);
  });

  it.each([
    ["that lies about its size", payload(frame, 0, raw.length + 5)],
    ["that unpacks to more than it says", payload(frame, 0, raw.length - 5)],
    ["of no frame", payload(Buffer.from("nothing like it"), 0, 10)],
    ["with a cut event inside", payload(raw.subarray(0, -3), 255, raw.length - 3)],
  ])("%s is corrupt", (_what, event) => {
    expect(() => payloadEvents(decodeTransactionPayload(event, FORMAT))).toThrow(
      expect.objectContaining({ code: "CORRUPT_EVENT" }),
    );
  });

  it("with an unknown compression or a cut header is corrupt", () => {
    for (const event of [payload(frame, 7, raw.length), makeEvent(40, [2, 1])]) {
      expect(() => decodeTransactionPayload(event, FORMAT)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
    }
  });

  it("bigger than memory allows is refused before it is unpacked", () => {
    const decoded = decodeTransactionPayload(payload(frame, 0, raw.length), FORMAT);
    expect(() => payloadEvents(decoded, raw.length - 1)).toThrow(
      expect.objectContaining({ code: "UNSUPPORTED", hint: expect.any(String) }),
    );
  });
});
