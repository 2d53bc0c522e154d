import type { InspectReport } from "./report.ts";

const ORDERS = { schema: "shop", table: "orders" };
const UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

/** A report with something of everything; what a test is about, it says itself. */
export function sampleReport(different: Partial<InspectReport> = {}): InspectReport {
  const curve = Array.from({ length: 120 }, (_, bucket) => Math.round(9000 + 6000 * Math.sin(bucket / 9)));
  return {
    files: ["binlog.000001", "binlog.000002"].map((name) => ({
      name,
      bytes: 51_380_224,
      fileBytes: name.endsWith("1") ? 51_380_224 : null,
      transactions: 30_000,
      events: 210_000,
      serverVersion: "8.4.6",
      checksum: "crc32" as const,
      firstAt: "2026-11-30T03:00:00.000001Z",
      lastAt: "2026-11-30T04:59:59.123456Z",
    })),
    transactions: 60_000,
    events: 420_000,
    eventsByType: [
      { type: "Write_rows", code: 30, events: 60_000, bytes: 40_000_000 },
      { type: "Xid", code: 16, events: 60_000, bytes: 1_860_000 },
    ],
    rows: { inserted: 700_000, updated: 450_000, deleted: 53_456 },
    bytes: 102_760_448,
    unpackedBytes: 102_760_448,
    firstAt: "2026-11-30T03:00:00.000001Z",
    lastAt: "2026-11-30T04:59:59.123456Z",
    seconds: 7199,
    rate: {
      from: "2026-11-30T03:00:00.000000Z",
      bucketSeconds: 60,
      transactions: curve,
      rows: curve.map((value) => value * 20),
      bytes: curve.map((value) => value * 1700),
      perSecond: { transactions: 8.3, rows: 167, bytes: 14_274 },
      perMinute: { transactions: 500, rows: 10_030, bytes: 856_456 },
      peak: { at: "2026-11-30T03:14:00.000000Z", transactions: 250, rows: 5000, bytes: 425_000 },
    },
    tables: ["orders", "order_line", "customer", "stock_movement_history_archive", "log"].map((table, index) => ({
      schema: index > 2 ? "warehouse" : "shop",
      table,
      inserts: Math.round(400_000 / (index + 1)),
      updates: Math.round(250_000 / (index + 1) ** 2),
      deletes: index * 9000,
      transactions: Math.round(50_000 / (index + 1)),
      bytes: Math.round(50_000_000 / (index + 1)),
      savableBytes: 2_000_000 * index,
      emptyUpdates: index,
      keyFrom: (["log", "schema", "guess", "none", "none"] as const)[index] ?? "none",
      key: index < 3 ? ["id"] : null,
    })),
    tablesLeftOut: 0,
    patterns: {
      deleteThenInsert: { inside: 1200, across: 34, tables: [{ ...ORDERS, count: 1234 }] },
      hotRows: [{ table: "shop.customer", key: "(17)", guessed: false, count: 4100, countMax: 4180, share: 0.0034 }],
      emptyUpdates: 10,
      tablesWithoutKey: ["warehouse.stock_movement_history_archive", "warehouse.log"],
      savableBytes: 20_000_000,
      savableShare: 0.195,
    },
    largest: [
      {
        gtid: `${UUID}:4711`,
        file: "binlog.000001",
        position: 1_234_567,
        bytes: 70_000_000,
        rows: 250_000,
        at: "2026-11-30T03:12:04.000000Z",
        seconds: 47,
        tables: ["shop.orders", "shop.order_line"],
      },
    ],
    longest: [],
    ddl: [
      {
        gtid: `${UUID}:815`,
        file: "binlog.000001",
        position: 99,
        at: "2026-11-30T03:40:00.000000Z",
        executionSeconds: 13,
        schema: "shop",
        text: "ALTER TABLE orders ADD COLUMN note VARCHAR(200) NOT NULL DEFAULT ''",
      },
    ],
    ddlCount: 1,
    statements: [],
    statementCount: 0,
    sizeClasses: { small: 58_000, medium: 1988, large: 12, bulk: 300 },
    gtids: {
      set: `${UUID}:1-60000`,
      first: `${UUID}:1`,
      last: `${UUID}:60000`,
      sources: [{ source: UUID, from: "1", to: "60000", gapCount: 1 }],
      gaps: [{ source: UUID, from: "17", to: "19" }],
      gapCount: 1,
    },
    groupCommit: {
      by: "last_committed",
      groups: 12_000,
      meanSize: 5,
      largest: 31,
      sizes: [1, 2, 4, 8, 16, 32].map((upTo, index) => ({
        upTo,
        groups: [2000, 2500, 3000, 3500, 900, 100][index] ?? 0,
      })),
    },
    parallelism: {
      policies: [
        { policy: "database", meanReady: 1.2, p95Ready: 2, longestChain: 51_000, waits: { conflict: 50_000 } },
        {
          policy: "commit-order",
          meanReady: 4.8,
          p95Ready: 11,
          longestChain: 12_500,
          waits: { "commit-parent": 30_000, order: 9000 },
        },
        {
          policy: "writeset",
          meanReady: 23.4,
          p95Ready: 61,
          longestChain: 2600,
          waits: { conflict: 4100, "no-key": 700, barrier: 1, "behind-barrier": 1 },
        },
      ],
      commitParentDistance: [1, 2, 4, 8, 16, 32].map((upTo, index) => ({
        upTo,
        transactions: [9000, 8000, 14_000, 20_000, 8000, 1000][index] ?? 0,
      })),
      window: 2000,
    },
    checksumsVerified: true,
    faults: [{ file: "binlog.000002", offset: 51_380_100, reason: "the file ends inside an event" }],
    ...different,
  };
}
