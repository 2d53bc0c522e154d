import { formatBytes, formatCount } from "./units.ts";

/** What came in an interval of `ms`, in one line: `18:03:12  1,234 tx/s  5,678 rows/s  1.2 MiB/s  most in shop.orders: 3,456 rows/s`. */
export function renderFollowLine(counts: FollowedCounts, ms: number, atMs: number): string {
  const perSecond = (count: number): number => (ms <= 0 ? 0 : (count * 1000) / ms);
  const rate = (count: number): string => {
    const value = perSecond(count);
    return value > 0 && value < 9.95 ? value.toFixed(1) : formatCount(value);
  };
  const parts = [
    new Date(atMs).toISOString().slice(11, 19),
    `${rate(counts.transactions)} tx/s`,
    `${rate(counts.rows)} rows/s`,
    `${formatBytes(perSecond(counts.bytes))}/s`,
  ];
  if (counts.statements > 0) parts.push(`${rate(counts.statements)} statements/s`);
  const { topTable } = counts;
  if (topTable !== undefined) parts.push(`most in ${topTable.name}: ${rate(topTable.rows)} rows/s`);
  return parts.join("  ");
}

export interface FollowedCounts {
  transactions: number;
  rows: number;
  statements: number;
  bytes: number;
  /** Where most rows came; undefined when there were none. */
  topTable: { name: string; rows: number } | undefined;
}
