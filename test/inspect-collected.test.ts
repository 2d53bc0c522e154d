import { readdirSync, existsSync } from "node:fs";
import path from "node:path";
import { expect, it } from "vitest";
import { countsOf, expectConsistency, expectSameOfOthers } from "./helpers/inspect-agreement.ts";
import { findInputs } from "../src/inspect/input/input.ts";
import { inspect } from "../src/inspect/inspect.ts";
import { COLLECTED_FOLDER } from "./helpers/inspect-fuzz.ts";
import { listBinlogs } from "./helpers/mysqlbinlog.ts";
import type { BinlogTool, Listing } from "./helpers/mysqlbinlog.ts";

/** Binlogs that other tools collected, MySQL 5.0 to 9.6 and MariaDB 10.5; not part of this package. */
const names = existsSync(COLLECTED_FOLDER) ? readdirSync(COLLECTED_FOLDER).toSorted() : [];

/** What neither tool reads to its end, and where reading ends. */
const FAULTS: Readonly<Record<string, number>> = {
  "blackbeam_rust_mysql_common__binlog_truncated_event.000001": 4,
  "blackbeam_rust_mysql_common__bug40482-bin.000001": 106,
};

/** By the first tool that reads all of it: MySQL's of today knows no row events of version 1, MariaDB's calls MySQL's GTIDs ignorable. */
async function listing(file: string): Promise<Listing | undefined> {
  const tools: readonly BinlogTool[] = ["mysql-9.7", "mariadb-10.11"];
  for (const tool of tools) {
    const listed = await listBinlogs(tool, [file]);
    if (listed.complete) return listed;
  }
  return undefined;
}

if (names.length === 0) {
  it(`no binlogs are collected here: there is no folder ${COLLECTED_FOLDER}`, () => {
    expect(names).toEqual([]);
  });
} else {
  it.each(names)("%s has the events, transactions and rows that the servers' own tools count in it", async (name) => {
    const file = path.join(COLLECTED_FOLDER, name);
    const report = await inspect(await findInputs([file]));
    expect(report.faults.map(({ offset }) => offset)).toEqual(FAULTS[name] === undefined ? [] : [FAULTS[name]]);
    const listed = await listing(file);
    expect(listed === undefined).toBe(FAULTS[name] !== undefined);
    if (listed === undefined) return;
    const { events, transactions, rows } = listed;
    expect(countsOf(report)).toEqual({ events, transactions, rows });
    expectConsistency(report, [file]);
    await expectSameOfOthers(await findInputs([file]), report);
  });
}
