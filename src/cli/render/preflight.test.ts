import { expect, test } from "vitest";
import type { PreflightReport } from "../../preflight/report.ts";
import { renderPreflight } from "./preflight.ts";

const REPORT: PreflightReport = {
  ok: false,
  checks: [
    { id: "source-binlog", level: "ok", what: "the source writes a binlog", where: "source root@db1:3306" },
    {
      id: "source-row-image",
      level: "warning",
      what: "binlog_row_image is MINIMAL",
      where: "source root@db1:3306",
      remedy: "SET GLOBAL binlog_row_image='FULL'",
    },
    {
      id: "target-packet",
      level: "error",
      what: "too small",
      where: "target root@db2:3306",
      remedy: "SET GLOBAL max_allowed_packet=1",
    },
  ],
};

test("what is not ok is said with its place and remedy, then the verdict", () => {
  expect(renderPreflight(REPORT, false).split("\n")).toEqual([
    "warning: binlog_row_image is MINIMAL",
    "  at source root@db1:3306 (source-row-image)",
    "  Try: SET GLOBAL binlog_row_image='FULL'",
    "ERROR: too small",
    "  at target root@db2:3306 (target-packet)",
    "  Try: SET GLOBAL max_allowed_packet=1",
    "NOT safe to start: 1 error, 1 warning, 1 check ok",
  ]);
});

test("with all, checks that are ok are lines too", () => {
  expect(renderPreflight(REPORT, true)).toMatch(/^ok: the source writes a binlog \(source-binlog\)\n/);
});
