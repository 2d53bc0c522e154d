import fc from "fast-check";
import { expect, test } from "vitest";
import { lex, type LexContext, replaceRanges } from "./lexer.ts";

const CONTEXT: LexContext = {
  ansiQuotes: false,
  noBackslashEscapes: false,
  characterSet: "utf8mb4",
  server: { flavour: "mysql", version: { major: 9, minor: 7, patch: 4 } },
};
const MARIADB: LexContext = {
  ...CONTEXT,
  server: { flavour: "mariadb", version: { major: 10, minor: 11, patch: 18 } },
};

const texts = (sql: string | Buffer, context: Partial<LexContext> = {}): string[] =>
  [...lex(Buffer.from(sql as string), { ...CONTEXT, ...context })].map(({ text }) => text);

test("words, names, strings, numbers and symbols are told apart, comments left out", () => {
  const sql = "create /* c */ table `a``b`.c -- d\n (x int#e\n, y varchar(10) default 'it''s') ;";
  expect(texts(sql)).toEqual(
    ["CREATE", "TABLE", "a`b", ".", "C", "(", "X", "INT", ",", "Y", "VARCHAR", "(", "10", ")"].concat([
      "DEFAULT",
      "'it''s'",
      ")",
      ";",
    ]),
  );
});

test("names keep their case, and every token its place and depth", () => {
  const tokens = [...lex(Buffer.from("Drop Table Abc(d)"), CONTEXT)];
  expect(tokens.map(({ name, from, to, depth }) => [name, from, to, depth])).toEqual([
    ["Drop", 0, 4, 0],
    ["Table", 5, 10, 0],
    ["Abc", 11, 14, 0],
    ["", 14, 15, 0],
    ["d", 15, 16, 1],
    ["", 16, 17, 0],
  ]);
});

test("a double quote is a string or a name, as sql_mode says", () => {
  expect([...lex(Buffer.from('"a"'), CONTEXT)][0]).toMatchObject({ kind: "string", text: '"a"' });
  expect([...lex(Buffer.from('"a""b"'), { ...CONTEXT, ansiQuotes: true })][0]).toMatchObject({
    kind: "quoted",
    text: 'a"b',
  });
});

test("a backslash escapes unless sql_mode says otherwise", () => {
  expect(texts(String.raw`'a\'b' c`)).toEqual([String.raw`'a\'b'`, "C"]);
  expect(texts(String.raw`'a\' c`, { noBackslashEscapes: true })).toEqual([String.raw`'a\'`, "C"]);
});

test("the second byte of a character is no quote and no backslash", () => {
  // 表 is 95 5C in sjis: with its backslash taken for one, the string would not end.
  const sql = Buffer.concat([Buffer.from("'"), Buffer.of(0x95, 0x5c), Buffer.from("' CURRENT_USER")]);
  expect(texts(sql, { characterSet: "sjis" })).toHaveLength(2);
  expect(texts(sql, { characterSet: "latin1" })).toHaveLength(1);
});

test("executable comments belong to the statement where the server executes them", () => {
  expect(texts("DROP /*!40005 TEMPORARY */ TABLE t")).toEqual(["DROP", "TEMPORARY", "TABLE", "T"]);
  expect(texts("a /*!99999 b */ c /*! d */")).toEqual(["A", "C", "D"]);
  expect(texts("a /*M! b */ c")).toEqual(["A", "C"]);
  const mariadb = (sql: string): string[] => texts(sql, MARIADB);
  expect(mariadb("a /*M! b */ /*M!100100 c */ /*M!110200 d */ e")).toEqual(["A", "B", "C", "E"]);
  expect(mariadb("a /*!50701 b */ /*!80016 c */ /*!50600 d */ /*!100100 e */")).toEqual(["A", "D", "E"]);
});

test("any bytes are cut into tokens in ascending order that lie inside them", () => {
  const pieces = fc.constantFrom(
    "'",
    '"',
    "`",
    "\\",
    "/*",
    "*/",
    "/*!",
    "--",
    "#",
    "\n",
    "(",
    ")",
    "a",
    "é",
    " ",
    "0",
    "*",
  );
  fc.assert(
    fc.property(fc.array(pieces), fc.constantFrom("utf8mb4", "gbk"), (parts, characterSet) => {
      const sql = Buffer.from(parts.join(""));
      let at = 0;
      for (const { from, to } of lex(sql, { ...CONTEXT, characterSet })) {
        expect(from).toBeGreaterThanOrEqual(at);
        expect(to).toBeGreaterThan(from);
        expect(to).toBeLessThanOrEqual(sql.length);
        at = to;
      }
    }),
  );
});

test("replacing ranges leaves all other bytes as they are", () => {
  const sql = Buffer.from("abcdef");
  expect(
    replaceRanges(sql, [
      { from: 1, to: 2, text: "XY" },
      { from: 4, to: 4, text: "-" },
    ]).toString(),
  ).toBe("aXYcd-ef");
  expect(replaceRanges(sql, [])).toBe(sql);
});
