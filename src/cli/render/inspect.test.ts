import { describe, expect, test } from "vitest";
import { sampleReport } from "../../inspect/report.fixture.ts";
import { renderInspect, renderInspectLine } from "./inspect.ts";

describe("the text of inspect", () => {
  test("tells the essence first, then tables", () => {
    expect(renderInspect(sampleReport(), { width: 100, top: 3 })).toMatchSnapshot();
  });

  test.each([60, 80, 120])("keeps within %i columns", (width) => {
    const lines = renderInspect(sampleReport(), { width, top: 10 }).split("\n");
    // What has no place to be cut (an offset's reason, a GTID) is longer.
    const tables = lines.filter((line) => /^[|+]/.test(line));
    const essence = lines.slice(0, lines.indexOf(""));
    for (const line of width < 80 ? essence : [...essence, ...tables])
      expect(line.length, line).toBeLessThanOrEqual(width);
  });

  test("says what could not be read before anything else but the essence", () => {
    const report = sampleReport();
    report.faults = [{ file: "binlog.000009", offset: 4711, reason: "the file is encrypted from here on" }];
    const text = renderInspect(report, { width: 100, top: 3 });
    expect(text).toContain("Look at: 1 fault, see below");
    expect(text.split("\n\n")[1]).toBe(
      "What could not be read; all figures are of the rest:\n  binlog.000009, offset 4711: the file is encrypted from here on",
    );
  });

  test("of a log with nothing in it is short", () => {
    const report = sampleReport();
    const empty = {
      ...report,
      transactions: 0,
      events: 0,
      eventsByType: [],
      rows: { inserted: 0, updated: 0, deleted: 0 },
      tables: [],
      tablesLeftOut: 0,
      rate: { ...report.rate, transactions: [], rows: [], bytes: [], perSecond: null, perMinute: null, peak: null },
      patterns: {
        ...report.patterns,
        hotRows: [],
        tablesWithoutKey: [],
        emptyUpdates: 0,
        savableBytes: 0,
        savableShare: 0,
        deleteThenInsert: { inside: 0, across: 0, tables: [] },
      },
      largest: [],
      longest: [],
      ddl: [],
      ddlCount: 0,
      statements: [],
      statementCount: 0,
      sizeClasses: { small: 0, medium: 0, large: 0, bulk: 0 },
      gtids: { set: null, first: null, last: null, sources: [], gaps: [], gapCount: 0 },
      groupCommit: { ...report.groupCommit, groups: 0, sizes: [] },
      parallelism: { policies: [], commitParentDistance: [], window: 0 },
      faults: [],
    };
    const text = renderInspect(empty, { width: 80, top: 3 });
    expect(text).toContain("0 transactions, 0 events; 0 rows inserted, 0 updated, 0 deleted in 0 tables");
    expect(text).toContain("Look at: nothing strange");
    expect(text).not.toContain("+--");
  });
});

test("in a narrow terminal tables lose columns, and no line is wider", () => {
  const lines = renderInspect(sampleReport(), { width: 40, top: 10 }).split("\n");
  const tables = lines.filter((line) => /^[|+]/.test(line));
  expect(tables.length).toBeGreaterThan(20);
  for (const line of tables) expect(line.length, line).toBeLessThanOrEqual(40);
});

test("GTIDs of several sources are told apart", () => {
  const report = sampleReport();
  const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562";
  report.gtids = {
    ...report.gtids,
    sources: [
      { source: uuid, from: "1", to: "9", gapCount: 0 },
      { source: `${uuid}:backup`, from: "3", to: "3", gapCount: 0 },
    ],
    gaps: [],
    gapCount: 0,
  };
  expect(renderInspect(report, { width: 80, top: 3 })).toContain(
    `GTIDs of 2 sources, each by itself without a gap\n  ${uuid}: 1 to 9\n  ${uuid}:backup: 3\n`,
  );
});

test("a hot row of a table whose key is a guess is told with that", () => {
  const report = sampleReport();
  const [hottest] = report.patterns.hotRows;
  report.patterns.hotRows = hottest === undefined ? [] : [{ ...hottest, share: 0.3, guessed: true }];
  expect(renderInspect(report, { width: 400, top: 3 })).toMatch(
    /30 % of all changes .* \(if its first column is its key\)/,
  );
});

test("the progress of a file of known size has a remaining time, that of a stream has none", () => {
  expect(renderInspectLine(256 << 20, 1024 << 20, 1000)).toBe("256 MiB of 1.0 GiB read (25 %), 256 MiB/s, 3.0 s left");
  expect(renderInspectLine(256 << 20, undefined, 2000)).toBe("256 MiB read, 128 MiB/s");
});
