import fc from "fast-check";
import { expect, test } from "vitest";
import { factsOf } from "../../../test/helpers/target-facts.ts";
import type { UserVarEvent } from "../../binlog/events/user-var.ts";
import { decimalText, setUserVariable } from "./user-variable.ts";

const MYSQL_97 = factsOf("9.7.4");
const MYSQL_56 = factsOf("5.6.24");

function variable(more: Partial<UserVarEvent>): UserVarEvent {
  const base = { kind: "user-var", name: Buffer.from("v"), type: "string", collation: 45, unsigned: false } as const;
  return { ...base, value: Buffer.alloc(0), dataType: undefined, ...more };
}

const set = (more: Partial<UserVarEvent>): string => setUserVariable(variable(more), MYSQL_97, MYSQL_97);

function bytes64(write: (buffer: Buffer) => void): Buffer {
  const buffer = Buffer.alloc(8);
  write(buffer);
  return buffer;
}

test("every type is set with its own kind of literal", () => {
  expect(set({ type: "null", name: Buffer.from("a`b") })).toBe("SET @`a``b`:=NULL");
  expect(set({ value: Buffer.from("é") })).toBe("SET @`v`:=_utf8mb4 X'c3a9' COLLATE utf8mb4_general_ci");
  expect(set({ value: Buffer.of(0, 255), collation: 63 })).toBe("SET @`v`:=_binary X'00ff'");
  expect(set({ type: "integer", value: bytes64((b) => b.writeBigInt64LE(-5n)) })).toBe("SET @`v`:=-5");
  expect(set({ type: "integer", unsigned: true, value: Buffer.alloc(8, 255) })).toBe(
    "SET @`v`:=CAST(18446744073709551615 AS UNSIGNED)",
  );
  expect(set({ type: "real", value: bytes64((b) => b.writeDoubleLE(0.1)) })).toBe("SET @`v`:=1e-1");
});

test("a collation that the target does not have is refused with the variable's name", () => {
  expect(() => setUserVariable(variable({ collation: 255 }), MYSQL_97, MYSQL_56)).toThrow(
    "the target has no collation equal to utf8mb4_0900_ai_ci, which the user variable @v has",
  );
});

/** The servers' packing, written the other way round: groups of nine digits, the rest in fewer bytes, sign in the first bit. */
function pack(text: string, precision: number, scale: number): Buffer {
  const negative = text.startsWith("-");
  const [whole = "", fraction = ""] = text.replace("-", "").split(".");
  const integer = whole
    .padStart(precision - scale, "0")
    .slice(whole.length > precision - scale ? whole.length - (precision - scale) : 0);
  const sizes = [0, 1, 1, 2, 2, 3, 3, 4, 4, 4];
  const out: number[] = [];
  const put = (digits: string): void => {
    const size = sizes[digits.length] ?? 4;
    if (size === 0) return;
    const part = Buffer.alloc(size);
    part.writeUIntBE(Number(digits), 0, size);
    out.push(...part);
  };
  const lead = integer.length % 9;
  put(integer.slice(0, lead));
  for (let at = lead; at < integer.length; at += 9) put(integer.slice(at, at + 9));
  for (let at = 0; at < fraction.length; at += 9) put(fraction.slice(at, at + 9));
  const bytes = Buffer.from(out.map((byte) => (negative ? byte ^ 0xff : byte)));
  bytes[0] = (bytes[0] ?? 0) ^ 0x80;
  return Buffer.concat([Buffer.of(precision, scale), bytes]);
}

test("a packed decimal has all its digits again", () => {
  expect(decimalText(Buffer.of(4, 2, 0x8c, 50))).toBe("12.50");
  const digits = (length: { min: number; max: number }): fc.Arbitrary<string> =>
    fc
      .array(fc.integer({ min: 0, max: 9 }), { minLength: length.min, maxLength: length.max })
      .map((list) => list.join(""));
  fc.assert(
    fc.property(digits({ min: 1, max: 35 }), digits({ min: 0, max: 30 }), fc.boolean(), (whole, fraction, negative) => {
      const precision = whole.length + fraction.length;
      const canonical = `${negative ? "-" : ""}${whole.replace(/^0+(?=\d)/, "")}${fraction === "" ? "" : `.${fraction}`}`;
      expect(decimalText(pack(canonical, precision, fraction.length))).toBe(canonical);
    }),
  );
});
