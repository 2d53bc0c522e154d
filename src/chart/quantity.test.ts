import { expect, test } from "vitest";

interface Quantity {
  inWords: (value: number, unit: string) => string;
  onAxis: (value: number, unit: string) => string;
  valueOf: (text: string) => number | undefined;
}

/** Written for browsers, and a module like any other. */
const MODULE: string = new URL("browser/quantity.js", import.meta.url).href;
const { inWords, onAxis, valueOf } = (await import(MODULE)) as Quantity;

test.each([
  [1_234_567, "count", "1,234,567", "1.23M"],
  [0.25, "count", "0.25", "0.25"],
  [0, "bytes", "0 B", "0 B"],
  [1_572_864, "bytes", "1.5 MiB", "1.5 MiB"],
  [0.0004, "seconds", "400 µs", "400 µs"],
  [200, "seconds", "3 min 20 s", "3 min 20 s"],
  [7200, "seconds", "2 h", "2 h"],
  [90_000, "seconds", "1 d 1 h", "1 d 1 h"],
  [0.45625, "ratio", "45.6 %", "45.6 %"],
  [3.25, "times", "3.25×", "3.25×"],
  [1_796_008_324, "time", "2026-11-30 03:12:04", "2026-11-30 03:12:04"],
])("%d as %s is %s, on an axis %s", (value, unit, words, short) => {
  expect(inWords(value, unit)).toBe(words);
  expect(onAxis(value, unit)).toBe(short);
});

test.each([
  ["1,234", 1234],
  ["-0.5", -0.5],
  ["34 %", 34],
  ["3.2×", 3.2],
  ["1.5 MiB", 1_572_864],
  ["2 KiB/s", 2048],
  ["3 min 20 s", 200],
  ["2 h 05 min", 7500],
])("%s is sorted by its value", (text, value) => {
  expect(valueOf(text)).toBe(value);
});

test.each([
  "",
  "-",
  "2026-11-30 03:12:04",
  "0-1-77",
  "3e11fa47-71ca-11e1-9e33-c80aa9429562:5",
  "binlog.000003",
  "12 monkeys",
])("'%s' is sorted as text", (text) => {
  expect(valueOf(text)).toBeUndefined();
});
