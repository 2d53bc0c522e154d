import fc from "fast-check";
import { expect, test } from "vitest";
import { quoteUtf8, sqlComment, SqlText } from "./sql-text.ts";

const textOf = (write: (sql: SqlText) => void): string => {
  const sql = new SqlText();
  write(sql);
  return sql.view().toString("utf8");
};

/** What a server's own parser makes of a literal. */
const unquoted = (literal: string): string =>
  literal
    .slice(1, -1)
    .replace(/\\(.)/gs, (_, letter: string) => ({ 0: "\0", n: "\n", r: "\r", Z: "\u001a" })[letter] ?? letter);

test("any integer is written as it is", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), (value) => {
      expect(textOf((sql) => sql.integer(value))).toBe(String(value));
    }),
  );
  for (const value of [0, 9, 10, 2 ** 31 - 1, 2 ** 31, 2 ** 32, -(2 ** 31), 10 ** 15]) {
    expect(textOf((sql) => sql.integer(value))).toBe(String(value));
  }
});

test("any text comes back from its literal, which is one line", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      const bytes = Buffer.from(text);
      const literal = textOf((sql) => expect(sql.quotedUtf8(bytes, 0, bytes.length)).toBe(true));
      expect(unquoted(literal)).toBe(text);
      expect(literal).toBe(quoteUtf8(text));
      // A client's own parser would take these for something else.
      expect(/[\0\r\n]/.test(literal)).toBe(false);
    }),
  );
});

test("bytes are UTF-8 here exactly when a strict decoder takes them", () => {
  const strict = new TextDecoder("utf-8", { fatal: true });
  const isUtf8 = (bytes: Uint8Array): boolean => {
    try {
      strict.decode(bytes);
      return true;
    } catch {
      return false;
    }
  };
  const pieces = fc.constantFrom(
    "c0",
    "c280",
    "e0a080",
    "e09f80",
    "ed9fbf",
    "eda080",
    "f0908080",
    "f0808080",
    "f48fbfbf",
    "f4908080",
    "ff",
    "80",
    "61",
  );
  fc.assert(
    fc.property(
      fc.oneof(
        fc.uint8Array({ maxLength: 8 }),
        fc.array(pieces, { maxLength: 3 }).map((hex) => Buffer.from(hex.join(""), "hex")),
      ),
      (bytes) => {
        const sql = new SqlText();
        expect(sql.quotedUtf8(Buffer.from(bytes), 0, bytes.length)).toBe(isUtf8(bytes));
        if (!isUtf8(bytes)) expect(sql.length).toBe(0);
      },
    ),
  );
});

test("latin1 becomes UTF-8 where other programs know the character, else nothing is written", () => {
  const bytes = Buffer.from([0x41, 0x80, 0xe9, 0x9f, 0x27]);
  expect(textOf((sql) => sql.quotedLatin1(bytes, 0, bytes.length))).toBe("'A€éŸ\\''");
  expect(textOf((sql) => expect(sql.quotedLatin1(Buffer.from([0x81]), 0, 1)).toBe(false))).toBe("");
});

test("bytes are hexadecimal, with the zeros that a log has cut", () => {
  expect(textOf((sql) => sql.hex(Buffer.from([1, 0xab, 3]), 0, 2, 2))).toBe("X'01AB0000'");
  expect(textOf((sql) => sql.hex(Buffer.alloc(0), 0, 0))).toBe("X''");
});

test("text grows beyond its first memory, and is the same", () => {
  const part = Buffer.from("'0123456789'".repeat(1000));
  const whole = textOf((sql) => {
    for (let i = 0; i < 100; i++) sql.bytes(part);
    sql.byte(0x3b);
  });
  expect(whole).toBe(`${"'0123456789'".repeat(100_000)};`);
});

test("nothing gets out of a comment", () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom("a", "\n", "\r", ";", "-", "*", "/") }), (text) => {
      const lines = sqlComment(text).split(/[\r\n]/);
      expect(lines.pop()).toBe("");
      for (const line of lines) expect(line.startsWith("-- ")).toBe(true);
    }),
  );
});
