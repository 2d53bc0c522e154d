import fc from "fast-check";
import { expect, test } from "vitest";
import { Fold } from "./fold.ts";
import { OfflineCollation } from "./offline-collation.ts";

const formOf = (collation: OfflineCollation, bytes: Buffer): string => {
  const out = Buffer.alloc(8 + collation.room(bytes.length));
  return out.toString("utf8", 4, collation.write(bytes, 0, bytes.length, out, 4));
};

test.each(["utf8mb4_0900_ai_ci", "utf8mb4_general_ci", "latin1_swedish_ci", "utf8mb4_danish_ci"])(
  "case, and an accent somewhere in the text, change nothing: %s",
  (name) => {
    const collation = new OfflineCollation(name);
    const encoding = name.startsWith("latin1") ? "latin1" : "utf8";
    fc.assert(
      fc.property(fc.string({ unit: "binary-ascii" }), fc.string({ unit: "binary-ascii" }), (a, b) => {
        const [plain, accented, upper] = [`${a}e${b}`, `${a}é${b}`, `${a}E${b}`].map((text) =>
          formOf(collation, Buffer.from(text, encoding)),
        );
        expect(accented).toBe(plain);
        expect(upper).toBe(plain);
      }),
    );
  },
);

test("trailing spaces mean nothing where the collation pads, also before characters that mean nothing", () => {
  const padded = new OfflineCollation("utf8mb4_unicode_ci");
  const unpadded = new OfflineCollation("utf8mb4_0900_ai_ci");
  expect(formOf(padded, Buffer.from("a \u00ad"))).toBe("a");
  expect(formOf(unpadded, Buffer.from("a \u00ad"))).toBe("a ");
});

test.each([
  ["utf16_general_ci", "utf-16be", "ab\u00c4"],
  ["cp1251_general_ci", "cp1251", "\u0416"],
  ["gbk_chinese_ci", "gbk", "\u65e5\u672c"],
])("texts of %s are read in their character set", (name, _, text) => {
  const bytes = name.startsWith("utf16")
    ? Buffer.from(text, "utf16le").swap16()
    : Buffer.from(name.startsWith("gbk") ? "c8d5b1be" : "c6", "hex");
  expect(formOf(new OfflineCollation(name), bytes)).toBe(new Fold(name).of(text));
});

test("any bytes of any character set have a form that fits its room", () => {
  const names = [
    "utf8mb4_general_ci",
    "utf8mb4_0900_ai_ci",
    "ucs2_general_ci",
    "utf32_general_ci",
    "sjis_japanese_ci",
    "dec8_swedish_ci",
    "big5_chinese_ci",
    "unheard_of_ci",
  ];
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.uint8Array({ maxLength: 40 }), (name, bytes) => {
      const collation = new OfflineCollation(name);
      const out = Buffer.alloc(collation.room(bytes.length) + 64);
      const end = collation.write(Buffer.from(bytes), 0, bytes.length, out, 0);
      expect(end).toBeGreaterThanOrEqual(0);
      expect(end).toBeLessThanOrEqual(collation.room(bytes.length));
    }),
  );
  const widest = new OfflineCollation("utf8mb4_0900_ai_ci");
  expect(formOf(widest, Buffer.from("\ufdfa")).length).toBeGreaterThan(10);
});
