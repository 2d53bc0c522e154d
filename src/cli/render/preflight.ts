import type { Check, PreflightReport } from "../../preflight/report.ts";
import { formatCounted } from "./units.ts";

const MARKS = { ok: "ok", warning: "warning", error: "ERROR" } as const;

/** One paragraph for each check that is not ok, then one line that says it all. With `all`, those that are ok too. */
export function renderPreflight(report: PreflightReport, all: boolean): string {
  const shown = report.checks.filter((check) => all || check.level !== "ok");
  const counts = { ok: 0, warning: 0, error: 0 };
  for (const { level } of report.checks) counts[level]++;
  const verdict = report.ok ? "safe to start" : "NOT safe to start";
  const summary = `${verdict}: ${formatCounted(counts.error, "error")}, ${formatCounted(counts.warning, "warning")}, ${formatCounted(counts.ok, "check")} ok`;
  return [...shown.map(paragraph), summary].join("\n");
}

function paragraph({ level, id, what, where, remedy }: Check): string {
  const lines = [`${MARKS[level]}: ${what}`];
  if (level === "ok") return `${lines[0]} (${id})`;
  lines.push(`  at ${where} (${id})`);
  if (remedy !== undefined) lines.push(`  Try: ${remedy}`);
  return lines.join("\n");
}
