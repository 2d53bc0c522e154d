import { expect, test } from "vitest";
import { renderFollowLine } from "./follow.ts";

const AT = Date.parse("2026-11-30T18:03:12Z");

test("an interval's rates are one line, the busiest table last", () => {
  const counts = {
    transactions: 2468,
    rows: 11_356,
    statements: 1,
    bytes: 3 << 20,
    topTable: { name: "shop.orders", rows: 6_912 },
  };
  expect(renderFollowLine(counts, 2000, AT)).toBe(
    "18:03:12  1,234 tx/s  5,678 rows/s  1.5 MiB/s  0.5 statements/s  most in shop.orders: 3,456 rows/s",
  );
});

test("where nothing came the rates are zero", () => {
  const counts = { transactions: 0, rows: 0, statements: 0, bytes: 0, topTable: undefined };
  expect(renderFollowLine(counts, 1000, AT)).toBe("18:03:12  0 tx/s  0 rows/s  0 B/s");
});
