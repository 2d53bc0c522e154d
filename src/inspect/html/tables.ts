import type { PageTable } from "../../chart/page.ts";
import { formatBytes, formatCount } from "../../base/units.ts";
import type { ParallelismReport } from "../parallelism/parallelism.ts";
import type { InspectReport, StatementReport, TableReport, TransactionReport } from "../report.ts";
import { percent, place, roundDuration, ROWS_MAX, rowsOf, tableName, when } from "./words.ts";

const KEY_FROM: Readonly<Record<TableReport["keyFrom"], string>> = {
  schema: "",
  log: "",
  guess: " (a guess)",
  none: "none",
};

/** A row with less of all changes holds nobody up. */
const HOT_SHARE_MIN = 0.001;

export function faultTable({ faults }: InspectReport): PageTable[] {
  if (faults.length === 0) return [];
  return [
    list("What could not be read", faults, [
      ["file", "left", ({ file }) => file],
      ["offset", "right", ({ offset }) => formatCount(offset)],
      ["reason", "left", ({ reason }) => reason],
    ]),
  ];
}

export function tableTable({ tables, tablesLeftOut }: InspectReport): PageTable[] {
  if (tables.length === 0) return [];
  const most = tables.toSorted((a, b) => rowsOf(b) - rowsOf(a));
  return [
    list(
      "Tables",
      most,
      [
        ["table", "left", tableName],
        ["inserts", "right", ({ inserts }) => formatCount(inserts)],
        ["updates", "right", ({ updates }) => formatCount(updates)],
        ["deletes", "right", ({ deletes }) => formatCount(deletes)],
        ["transactions", "right", ({ transactions }) => formatCount(transactions)],
        ["log", "right", ({ bytes }) => formatBytes(bytes)],
        ["savable", "right", ({ savableBytes }) => formatBytes(savableBytes)],
        ["empty updates", "right", ({ emptyUpdates }) => formatCount(emptyUpdates)],
        ["key", "left", ({ key, keyFrom }) => `${key === null ? "" : key.join(", ")}${KEY_FROM[keyFrom]}`],
      ],
      {
        all: tables.length + tablesLeftOut,
        note: "Savable are column values that minimal row images (binlog_row_image=MINIMAL) would leave out; empty are updates that change nothing.",
      },
    ),
  ];
}

export function parallelismTable({ policies }: ParallelismReport): PageTable[] {
  if (policies.length === 0) return [];
  return [
    list(
      "Policies",
      policies,
      [
        ["policy", "left", ({ policy }) => policy],
        ["mean", "right", ({ meanReady }) => meanReady.toFixed(1)],
        ["95th percentile", "right", ({ p95Ready }) => formatCount(p95Ready)],
        ["longest chain", "right", ({ longestChain }) => formatCount(longestChain)],
        [
          "transactions that had to wait, by reason",
          "left",
          ({ waits }) =>
            Object.entries(waits)
              .toSorted(([, a], [, b]) => b - a)
              .map(([reason, count]) => `${reason} ${formatCount(count)}`)
              .join(", "),
        ],
      ],
      { note: "The longest chain: the most transactions of which each had to wait for the one before." },
    ),
  ];
}

export function transactionTables({ largest, longest }: InspectReport): PageTable[] {
  const table = (title: string, transactions: readonly TransactionReport[]): PageTable[] =>
    transactions.length === 0
      ? []
      : [
          list(title, transactions, [
            ["position", "left", place],
            ["rows", "right", ({ rows }) => formatCount(rows)],
            ["log", "right", ({ bytes }) => formatBytes(bytes)],
            ["open for", "right", ({ seconds }) => roundDuration(seconds)],
            ["committed (UTC)", "left", ({ at }) => when(at)],
            ["tables", "left", ({ tables }) => tables.join(", ")],
            ["GTID", "left", ({ gtid }) => gtid ?? ""],
          ]),
        ];
  return [...table("Largest transactions", largest), ...table("Longest transactions", longest)];
}

export function statementTables({ ddl, ddlCount, statements, statementCount }: InspectReport): PageTable[] {
  const table = (title: string, found: readonly StatementReport[], count: number): PageTable[] =>
    found.length === 0
      ? []
      : [
          list(
            title,
            found,
            [
              ["at (UTC)", "left", ({ at }) => when(at)],
              ["took", "right", ({ executionSeconds }) => roundDuration(executionSeconds)],
              ["schema", "left", ({ schema }) => schema],
              ["statement", "left", ({ text }) => text],
              ["position", "left", place],
              ["GTID", "left", ({ gtid }) => gtid ?? ""],
            ],
            { all: count },
          ),
        ];
  return [...table("DDL", ddl, ddlCount), ...table("Changes logged as statements", statements, statementCount)];
}

export function patternTables({ patterns: { hotRows, deleteThenInsert } }: InspectReport): PageTable[] {
  const hotter = hotRows.filter(({ share }) => share >= HOT_SHARE_MIN);
  const hot = list(
    "Hot rows",
    hotter,
    [
      ["table", "left", ({ table }) => table],
      ["key", "left", ({ key, guessed }) => (guessed ? `${key} (a guess)` : key)],
      ["changes", "right", ({ count }) => formatCount(count)],
      ["at most", "right", ({ countMax }) => formatCount(countMax)],
      ["of all", "right", ({ share }) => percent(share)],
    ],
    { note: "The rows that are changed most. Transactions that change the same row cannot be applied side by side." },
  );
  const again = list("Deleted and inserted again", deleteThenInsert.tables, [
    ["table", "left", tableName],
    ["rows", "right", ({ count }) => formatCount(count)],
  ]);
  return [...(hotter.length > 0 ? [hot] : []), ...(deleteThenInsert.tables.length > 0 ? [again] : [])];
}

export function gtidTable({ gtids: { gaps, gapCount } }: InspectReport): PageTable[] {
  if (gaps.length === 0) return [];
  return [
    list(
      "Gaps between GTIDs",
      gaps,
      [
        ["source", "left", ({ source }) => source],
        ["from", "right", ({ from }) => from],
        ["to", "right", ({ to }) => to],
      ],
      { all: gapCount },
    ),
  ];
}

export function fileTables({ files, eventsByType }: InspectReport): PageTable[] {
  return [
    list("Files", files, [
      ["file", "left", ({ name }) => name],
      ["bytes", "right", ({ bytes }) => formatBytes(bytes)],
      ["on disk", "right", ({ fileBytes }) => (fileBytes === null ? "" : formatBytes(fileBytes))],
      ["transactions", "right", ({ transactions }) => formatCount(transactions)],
      ["events", "right", ({ events }) => formatCount(events)],
      ["first (UTC)", "left", ({ firstAt }) => when(firstAt)],
      ["last (UTC)", "left", ({ lastAt }) => when(lastAt)],
      ["server", "left", ({ serverVersion }) => serverVersion ?? ""],
    ]),
    list("Events by type", eventsByType, [
      ["type", "left", ({ type }) => type],
      ["events", "right", ({ events }) => formatCount(events)],
      ["bytes", "right", ({ bytes }) => formatBytes(bytes)],
    ]),
  ];
}

type Column<Item> = [title: string, align: "left" | "right", cell: (item: Item) => string];

/** `all`: how many there are, where the report itself does not hold all of them. */
function list<Item>(
  title: string,
  items: readonly Item[],
  columns: readonly Column<Item>[],
  { all = items.length, note }: { all?: number; note?: string } = {},
): PageTable {
  const shown = items.slice(0, ROWS_MAX);
  const notes = [
    ...(all > shown.length ? [`${formatCount(shown.length)} of ${formatCount(all)}.`] : []),
    ...(note === undefined ? [] : [note]),
  ];
  return {
    kind: "table",
    title,
    ...(notes.length > 0 ? { note: notes.join(" ") } : {}),
    columns: columns.map(([column, align]) => ({ title: column, align })),
    rows: shown.map((item) => columns.map(([, , cell]) => cell(item))),
  };
}
