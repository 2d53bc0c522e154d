import { expect, test } from "vitest";
import type { TableReport, VerifyProgress } from "../../verify/report.ts";
import { renderVerifyLine, renderVerifyReport, renderWait } from "./verify.ts";

const PROGRESS: VerifyProgress = {
  tablesDone: 3,
  tablesTotal: 12,
  rowsDone: 1_234_567,
  rowsTotal: 4_000_000,
  rowsPerSecond: 98_765.4,
  etaSeconds: 28.2,
  differingTables: 1,
  table: "shop.orders",
};

test.each([120, 60, 30])("the line at %d columns drops what matters least", (width) => {
  const line = renderVerifyLine(PROGRESS, width);
  expect(line.length).toBeLessThanOrEqual(width);
  expect(line).toMatch(/^comparing: 3 of 12 tables/);
  expect(line.includes("shop.orders")).toBe(width === 120);
});

test("the report says which rows of which table differ, what is missing, and how much was compared", () => {
  const table = (name: string, more: Partial<TableReport>): TableReport => ({
    schema: "shop",
    table: name,
    rows: 1000,
    chunks: 2,
    identical: false,
    differences: [],
    warnings: [],
    ...more,
  });
  const text = renderVerifyReport({
    identical: false,
    durationMs: 1234,
    position: { file: "binlog.000003", position: 4711, gtids: "" },
    warnings: ["not quite exact"],
    tables: [
      table("same", { identical: true, warnings: ["only on the target: KEY `k` (`v`)"] }),
      table("orders", {
        differences: [
          {
            keyFrom: "17",
            keyTo: "17",
            sourceRows: 500,
            targetRows: 500,
            rows: [{ row: "17", what: "values differ" }],
          },
          { keyFrom: "9000", keyTo: null, sourceRows: 1000, targetRows: 0, rows: [] },
        ],
      }),
      table("left", { onlyOn: "source" }),
      table("wide", { columnsOnlyOn: { source: ["a", "b"], target: [] } }),
    ],
  });
  expect(text.split("\n")).toEqual([
    "warning: shop.same: only on the target: KEY `k` (`v`)",
    "shop.orders differs",
    "  key 17: 500 rows on the source, 500 on the target",
    "    17 values differ",
    "  keys from 9000 on: 1,000 rows on the source, 0 on the target",
    "shop.left is on the source only, with 1,000 rows",
    "shop.wide: columns on the source only: a, b",
    "warning: not quite exact",
    "DIFFERENT: 3 of 4 tables, 4,000 rows at binlog.000003:4711, in 1.2 s",
  ]);
});

test("a wait for the engine says for what, and the lag where it is known", () => {
  const wait = { position: { file: "binlog.000003", position: 4711 }, lagMs: 12_300, waitedMs: 2_000 };
  expect(renderWait(wait, 200)).toBe("waiting for the engine to apply up to binlog.000003:4711, lag 12 s");
  expect(renderWait({ ...wait, lagMs: undefined }, 30)).toBe("waiting for the engine to app…");
  expect(renderWait({ ...wait, position: undefined, lagMs: undefined }, 200)).toBe(
    "waiting for the engine to finish what it applies",
  );
});
