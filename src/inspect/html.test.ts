import { expect, test } from "vitest";
import { elementsOf, foreignIn } from "../chart/html.fixture.ts";
import type { Chart } from "../chart/page.ts";
import { inspectPage } from "./html.ts";
import { sampleReport } from "./report.fixture.ts";

const NASTY = "<script>alert(1)</script>";

function chartsOf(html: string): Chart[] {
  const data = elementsOf(html).find(({ attributes }) => attributes.includes('id="charts"'));
  return JSON.parse(data?.text ?? "") as Chart[];
}

function textsOf(html: string, name: string): string[] {
  return elementsOf(html)
    .filter((element) => element.name === name)
    .map(({ text }) => text);
}

test("a page holds all charts of a log, with its figures", () => {
  const report = sampleReport();
  const charts = chartsOf(inspectPage(report));
  expect(charts.map(({ title }) => title)).toEqual([
    "Transactions per second",
    "Rows per second",
    "Bytes per second",
    "Tables by changed rows",
    "Tables by bytes of log",
    "Transactions by size",
    "Parallelism by policy",
    "Distance to the commit parent",
    "Sizes of commit groups",
  ]);
  const [rate] = charts;
  expect(rate?.xs).toHaveLength(121);
  expect(rate?.xs[1]).toBe(Date.UTC(2026, 10, 30, 3, 1) / 1000);
  expect(rate?.series[0]?.values[0]).toBe(9000 / 60);
  expect(rate?.marks).toEqual([{ x: Date.UTC(2026, 10, 30, 3, 40) / 1000, text: "ALTER TABLE orders" }]);
  expect(charts[6]?.series.map(({ values }) => values)).toEqual([
    [1.2, 4.8, 23.4],
    [2, 11, 61],
  ]);
  expect(charts[7]?.xs).toEqual(["1", "2", "3–4", "5–8", "9–16", "17–32"]);
});

test("its first paragraph is the essence, and the next ones name what asks for a second look", () => {
  const [essence, ...findings] = textsOf(inspectPage(sampleReport()), "p").slice(2);
  expect(essence).toBe(
    "60,000 transactions in 2 h: 1,203,456 changed rows (700,000 inserts, 450,000 updates, 53,456 deletes) in 5 tables, 98.0 MiB of log. " +
      "That is 8.3 per second. 54 % of the changed rows are of shop.orders. Transactions that could be applied side by side, on average: " +
      "1.2 by database, 4.8 by commit-order, 23.4 by writeset.",
  );
  expect(findings.slice(0, 3)).toEqual([
    "1 place could not be read: the figures lack them.",
    "12 large transactions (100,000 rows, or 64 MiB, and more): each is applied by one worker, while others wait for it to commit.",
    "No key tells the rows of warehouse.stock_movement_history_archive, warehouse.log apart: a replica looks through the whole table for each changed row.",
  ]);
});

test("its lists stand under their headings", () => {
  const html = inspectPage(sampleReport());
  const headings = textsOf(html, "h2");
  for (const heading of [
    "What could not be read",
    "Tables",
    "Policies",
    "Largest transactions",
    "DDL",
    "Hot rows",
    "Deleted and inserted again",
    "GTIDs",
    "Gaps between GTIDs",
    "Files",
    "Events by type",
  ]) {
    expect(headings).toContain(heading);
  }
  expect(textsOf(html, "td")).toContain("binlog.000001:1234567");
});

test("names and statements that are HTML stay text, in tables and in charts", () => {
  const sample = sampleReport();
  const html = inspectPage(
    sampleReport({
      tables: sample.tables.map((table) => ({ ...table, table: NASTY })),
      ddl: sample.ddl.map((statement) => ({ ...statement, text: NASTY })),
      faults: [{ file: NASTY, offset: 0, reason: NASTY }],
      patterns: { ...sample.patterns, tablesWithoutKey: [NASTY] },
      files: sample.files.map((file) => ({ ...file, name: NASTY })),
    }),
  );
  expect(html).not.toContain(NASTY);
  expect(textsOf(html, "script")).toHaveLength(3);
  expect(textsOf(html, "td")).toContain("shop.&lt;script&gt;alert(1)&lt;/script&gt;");
  expect(chartsOf(html)[3]?.xs[0]).toBe(`shop.${NASTY}`);
  expect(foreignIn(html)).toEqual([]);
});

test("of thousands of tables a page lists the ones with the most changes, and says that it does", () => {
  const tables = Array.from({ length: 600 }, () => sampleReport().tables)
    .flat()
    .map((table, index) => ({ ...table, schema: "shop", table: `t${index}`, inserts: index, updates: 0, deletes: 0 }));
  const html = inspectPage(sampleReport({ tables, tablesLeftOut: 7 }));
  expect(textsOf(html, "p")).toContainEqual(expect.stringMatching(/^200 of 3,007\. /));
  expect(textsOf(html, "td")).toContain("shop.t2999");
  expect(textsOf(html, "td")).not.toContain("shop.t2799");
  expect(Buffer.byteLength(html)).toBeLessThan(250_000);
});

test("an empty log has a page too, without charts", () => {
  const sample = sampleReport();
  const html = inspectPage({
    ...sample,
    files: [],
    transactions: 0,
    events: 0,
    eventsByType: [],
    rows: { inserted: 0, updated: 0, deleted: 0 },
    bytes: 0,
    firstAt: null,
    lastAt: null,
    seconds: 0,
    rate: {
      ...sample.rate,
      from: null,
      transactions: [],
      rows: [],
      bytes: [],
      perSecond: null,
      perMinute: null,
      peak: null,
    },
    tables: [],
    patterns: {
      deleteThenInsert: { inside: 0, across: 0, tables: [] },
      hotRows: [],
      emptyUpdates: 0,
      tablesWithoutKey: [],
      savableBytes: 0,
      savableShare: 0,
    },
    largest: [],
    ddl: [],
    ddlCount: 0,
    sizeClasses: { small: 0, medium: 0, large: 0, bulk: 0 },
    gtids: { set: null, first: null, last: null, sources: [], gaps: [], gapCount: 0 },
    groupCommit: { by: null, groups: 0, meanSize: 0, largest: 0, sizes: [] },
    parallelism: null,
    faults: [],
  });
  expect(chartsOf(html)).toEqual([]);
  expect(textsOf(html, "p").slice(0, 2)).toEqual([
    "No transactions.",
    "0 transactions: 0 changed rows (0 inserts, 0 updates, 0 deletes) in 0 tables, 0 B of log.",
  ]);
});
