import { describe, expect, it } from "vitest";
import { ReplicationError } from "./error.ts";
import { ByteReader } from "./reader.ts";

const bytes = (...values: number[]): Buffer => Buffer.from(values);

describe("ByteReader", () => {
  it("reads little-endian numbers one after another", () => {
    const reader = new ByteReader(bytes(1, 2, 1, 3, 2, 1, 4, 3, 2, 1, 6, 5, 4, 3, 2, 1));
    expect([reader.u8(), reader.u16(), reader.u24(), reader.u32(), reader.u48()]).toEqual([
      0x01, 0x0102, 0x010203, 0x01020304, 0x010203040506,
    ]);
    expect(reader.remaining).toBe(0);
  });

  it("reads numbers of 7 and 8 bytes", () => {
    const reader = new ByteReader(
      Buffer.concat([bytes(7, 6, 5, 4, 3, 2, 1), Buffer.alloc(8, 0xff), Buffer.alloc(8, 0xff)]),
    );
    expect(reader.u56()).toBe(0x01020304050607);
    expect(reader.u64()).toBe(0xffff_ffff_ffff_ffffn);
    expect(reader.i64()).toBe(-1n);
    expect(new ByteReader(bytes(1, 0, 0, 0, 2, 0, 0, 0)).double64()).toBe(2 * 2 ** 32 + 1);
  });

  it("reads length-encoded numbers of every width", () => {
    const reader = new ByteReader(bytes(250, 0xfc, 0xff, 0, 0xfd, 1, 2, 3, 0xfe, 0, 0, 0, 0, 1, 0, 0, 0));
    expect([reader.lenenc(), reader.lenenc(), reader.lenenc(), reader.lenenc()]).toEqual([250, 255, 0x030201, 2 ** 32]);
  });

  it("reads texts up to their zero, views and skips", () => {
    const reader = new ByteReader(Buffer.from("ab\0é\0rest"));
    expect([reader.nulTerminated(), reader.nulTerminated()]).toEqual(["ab", "é"]);
    expect(reader.text(1)).toBe("r");
    reader.skip(1);
    const view = reader.rest();
    expect(view.toString()).toBe("st");
    expect(view.buffer).toBe(reader.bytes.buffer);
  });

  it.each<[string, (reader: ByteReader) => unknown]>([
    ["a number", (reader) => reader.u32()],
    ["a long number", (reader) => reader.u64()],
    ["a view", (reader) => reader.take(4)],
    ["a negative skip", (reader) => reader.skip(-1)],
    ["a text without an end", (reader) => reader.nulTerminated()],
    ["a length-encoded number", (reader) => new ByteReader(bytes(0xfe, 1)).lenenc() + reader.u8()],
    ["a length that is NULL", () => new ByteReader(bytes(0xfb)).lenenc()],
    ["a length past all memory", () => new ByteReader(bytes(0xfe, 0, 0, 0, 0, 0, 0, 0, 0xff)).lenenc()],
    ["a start behind the end", () => new ByteReader(bytes(1), 2)],
  ])("running out at %s is a corrupt event that says where", (_what, read) => {
    const reader = new ByteReader(bytes(1, 2, 3, 4, 5, 0), 2, 5);
    let error: unknown;
    try {
      read(reader);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toBeInstanceOf(ReplicationError);
    expect(error).toMatchObject({ code: "CORRUPT_EVENT", message: expect.stringMatching(/byte \d/) });
  });

  it("does not see what is behind its end", () => {
    const reader = new ByteReader(bytes(1, 2, 3), 0, 2);
    expect(reader.u16()).toBe(0x0201);
    expect(() => reader.u8()).toThrow(ReplicationError);
  });
});
