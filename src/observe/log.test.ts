import { expect, test } from "vitest";
import { createLog } from "./log.ts";
import { hidePasswords } from "./secrets.ts";

const clock = { nowMs: () => Date.UTC(2025, 5, 1, 12, 0, 0, 7) };

function linesOf(format: "text" | "json") {
  const lines: string[] = [];
  return { lines, log: createLog({ format, clock, write: (line) => lines.push(line) }) };
}

test("a text line looks like the server's error log", () => {
  const { lines, log } = linesOf("text");
  log.info("connected", { server: "repl@10.0.0.5:3306", attempt: 2, gno: 18446744073709551615n, missing: undefined });
  log.warn("lost the connection", { reason: new Error("read ECONNRESET"), statement: "two\nlines" });
  expect(lines).toEqual([
    "2025-06-01T12:00:00.007Z [Note] connected server=repl@10.0.0.5:3306 attempt=2 gno=18446744073709551615",
    '2025-06-01T12:00:00.007Z [Warning] lost the connection reason="read ECONNRESET" statement="two\\nlines"',
  ]);
});

test("a message with a line break stays one line", () => {
  const { lines, log } = linesOf("text");
  log.info("first\nsecond");
  expect(lines).toEqual(["2025-06-01T12:00:00.007Z [Note] first\\nsecond"]);
});

test("a JSON line is one object, 64-bit numbers and errors included", () => {
  const { lines, log } = linesOf("json");
  log.warn("late", { gno: 7n, reason: new Error("gone") });
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { at: "2025-06-01T12:00:00.007Z", level: "warning", message: "late", gno: "7", reason: "gone" },
  ]);
});

test("no format shows the password of a URL", () => {
  for (const format of ["text", "json"] as const) {
    const { lines, log } = linesOf(format);
    log.info("using mysql://root:se:cr@et@db:3306/", { url: "mariadb://root:secret@db" });
    expect(lines[0]).not.toMatch(/se:cr|secret/);
    expect(lines[0]).toContain("mysql://root:***@db:3306/");
  }
});

test("text without a password stays as it is", () => {
  for (const text of ["mysql://root@db:3306/", "at 12:00 mail a@b.c", "u:1-5@x", "mysql://db:3306/"]) {
    expect(hidePasswords(text)).toBe(text);
  }
});
