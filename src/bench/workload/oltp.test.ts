import { describe, expect, it, test } from "vitest";
import { createPrng } from "../../base/prng.ts";
import { oltpWriteOnly } from "./oltp-write-only.ts";
import { WORKLOAD_DEFAULTS, type WorkloadName, WORKLOADS } from "./registry.ts";
import { cValue, padValue } from "./sbtest.ts";
import { type Statement, statementText } from "./statement.ts";

const options = { ...WORKLOAD_DEFAULTS, tables: 3, tableSize: 2500, distribution: "uniform" as const };
const workload = oltpWriteOnly(options);

/** The first transaction of a thread. */
const first = (seed: number, thread: number): string =>
  (workload.thread(createPrng(seed, thread), thread)() ?? []).map(statementText).join(";");

/** How the server's general log calls a statement's command, and its text: N for each number, C and PAD for the values of these columns, the table's number left out. */
function shapeOf(statement: Statement): string {
  const text = statementText(statement)
    .replace(/sbtest\d+/, "sbtest")
    .replace(/'[\d-]{119}'/, "C")
    .replace(/'[\d-]{59}'/, "PAD")
    .replaceAll(/\b\d+\b/g, "N");
  return `${typeof statement === "string" ? "Query" : "Execute"} ${text}`;
}

const WRITES = [
  "Execute UPDATE sbtest SET k=k+N WHERE id=N",
  "Execute UPDATE sbtest SET c=C WHERE id=N",
  "Execute DELETE FROM sbtest WHERE id=N",
  "Execute INSERT INTO sbtest (id, k, c, pad) VALUES (N, N, C, PAD)",
];

/** What MySQL 9.7's general log held of one transaction of sysbench 1.0.20 (`--threads=1 --events=1`). */
const RECORDED: Partial<Record<WorkloadName, readonly string[]>> = {
  oltp_write_only: ["Query BEGIN", ...WRITES, "Execute COMMIT"],
  oltp_read_write: [
    "Query BEGIN",
    ...Array.from({ length: 10 }, () => "Execute SELECT c FROM sbtest WHERE id=N"),
    "Execute SELECT c FROM sbtest WHERE id BETWEEN N AND N",
    "Execute SELECT SUM(k) FROM sbtest WHERE id BETWEEN N AND N",
    "Execute SELECT c FROM sbtest WHERE id BETWEEN N AND N ORDER BY c",
    "Execute SELECT DISTINCT c FROM sbtest WHERE id BETWEEN N AND N ORDER BY c",
    ...WRITES,
    "Execute COMMIT",
  ],
  oltp_insert: ["Query INSERT INTO sbtest (id, k, c, pad) VALUES (N, N, C, PAD)"],
  oltp_update_index: ["Execute UPDATE sbtest SET k=k+N WHERE id=N"],
  oltp_update_non_index: ["Execute UPDATE sbtest SET c=C WHERE id=N"],
};

describe("sysbench's workloads", () => {
  test.each(Object.entries(RECORDED))("%s sends what sysbench sends, in the same way", (name, recorded) => {
    const next = WORKLOADS[name as WorkloadName].make(options).thread(createPrng(1), 0);
    for (let i = 0; i < 200; i++) expect((next() ?? []).map(shapeOf)).toEqual(recorded);
  });

  it("change every table, delete and insert under one id, and read a hundred rows in each range", () => {
    const next = WORKLOADS.oltp_read_write.make(options).thread(createPrng(1), 0);
    const tables = new Set<string>();
    for (let i = 0; i < 200; i++) {
      const texts = (next() ?? []).map(statementText);
      for (const text of texts) for (const [table] of text.matchAll(/sbtest\d+/g)) tables.add(table);
      expect(new Set(texts.slice(1, 11).map((text) => /sbtest\d/.exec(text)?.[0])).size).toBe(1);
      for (const range of texts.slice(11, 15)) {
        const [from = 0, to = 0] = (/(\d+) AND (\d+)/.exec(range) ?? []).slice(1).map(Number);
        expect(to - from).toBe(99);
      }
      const removed = /^DELETE FROM (sbtest\d) WHERE id=(\d+)$/.exec(texts[17] ?? "");
      const inserted = /^INSERT INTO (sbtest\d) \(id, k, c, pad\) VALUES \((\d+), /.exec(texts[18] ?? "");
      expect(removed).not.toBeNull();
      expect(inserted?.slice(1)).toEqual(removed?.slice(1));
    }
    expect([...tables].sort()).toEqual(["sbtest1", "sbtest2", "sbtest3"]);
  });

  it("make each table with all its rows, and its index after them", () => {
    const statements = [...workload.preparation(1)];
    const rows = statements.filter((sql) => sql.startsWith("INSERT INTO sbtest2 ")).join("");
    expect(rows.match(/\(\d+,'/g)).toHaveLength(2500);
    expect(statements.filter((sql) => sql.startsWith("CREATE INDEX"))).toEqual(
      [1, 2, 3].map((n) => `CREATE INDEX k_${n} ON sbtest${n} (k)`),
    );
    expect(statements.at(-1)).toBe("CREATE INDEX k_3 ON sbtest3 (k)");
  });

  it("give every thread its own transactions, the same for the same seed", () => {
    expect(first(5, 0)).toBe(first(5, 0));
    expect(new Set([first(5, 0), first(5, 1), first(6, 0)]).size).toBe(3);
  });
});

it("values are groups of eleven digits: ten in c, five in pad", () => {
  const prng = createPrng(3);
  for (let i = 0; i < 500; i++) {
    expect(cValue(prng)).toMatch(/^\d{11}(-\d{11}){9}$/);
    expect(padValue(prng)).toMatch(/^\d{11}(-\d{11}){4}$/);
  }
});

it("a statement's text has its values in their places, quoted where they are text", () => {
  expect(statementText({ sql: "SET a=? WHERE b=?", values: ["it's ?", -7] })).toBe("SET a='it''s ?' WHERE b=-7");
});
