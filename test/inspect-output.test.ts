import { execFile } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { TemporaryFolder } from "../src/bench/temporary-folder.ts";
import { makeFormatDescription } from "./helpers/binlog-event.ts";
import { CliProcess } from "./helpers/engine-process.ts";

const CLI = path.join(path.dirname(fileURLToPath(import.meta.url)), "../bin/abreast.mjs");
const folder = new TemporaryFolder("inspect-output");
const binlog = path.join(folder.path, "binlog.000001");
const content = Buffer.concat([Buffer.from("\u00febin", "latin1"), makeFormatDescription("8.0.40")]);

beforeAll(async () => {
  writeFileSync(binlog, content);
  // Builds what is not built, so that no later command says that it does.
  expect(await new CliProcess(["--version"]).ended).toBe(0);
});
afterAll(() => folder.remove());

/** `abreast …` by a shell, `before` and `after` of whose words stand around it. */
function shell(args: readonly string[], after: string, before = ""): Promise<{ code: number; errors: string }> {
  const line = `${before} "$@" ${after}`;
  return new Promise((resolve) => {
    execFile("/bin/sh", ["-c", line, "sh", process.execPath, CLI, ...args], (error, _, errors) =>
      resolve({ code: typeof error?.code === "number" ? error.code : 0, errors }),
    );
  });
}

async function run(...args: string[]): Promise<CliProcess> {
  const cli = new CliProcess(args);
  await cli.ended;
  return cli;
}

it.each([
  [["inspect", binlog]],
  [["inspect", binlog, "--json"]],
  [["simulate", binlog, "--json"]],
  [["inspect", "--help"]],
  [["sandbox", "list", "--help"]],
])("a full disk under the output of %j ends it with 3 and one line", async (args) => {
  expect(await shell(args, "> /dev/full")).toEqual({
    code: 3,
    errors: "OUTPUT: standard output cannot be written: no space left on device\n",
  });
});

it("a file that takes a part of the report only is no success, and a page that is cut is removed", async () => {
  const out = path.join(folder.path, "out");
  const page = path.join(folder.path, "page.html");
  const limited = "ulimit -f 1; trap '' XFSZ;";
  expect((await shell(["inspect", "--help"], `> '${out}'`, limited)).code).toBe(3);
  const cut = await shell(["inspect", binlog, "--html", page], "> /dev/null", limited);
  expect(cut).toEqual({ code: 3, errors: `OUTPUT: --html ${page} cannot be written: file too large\n` });
  expect(existsSync(page)).toBe(false);
});

it.each([
  [["inspect", binlog, "--html", binlog]],
  [["simulate", binlog, "--html", binlog]],
  [["simulate", binlog, "--save-costs", binlog]],
])("%j is refused before the binlog is lost", async (args) => {
  const cli = await run(...args);
  expect([cli.end, cli.output]).toEqual([2, ""]);
  expect(cli.errors).toContain("would overwrite what is read");
  expect(readFileSync(binlog)).toEqual(content);
});

it("of what is no binlog there is a line with the reason, and no page of zeros", async () => {
  const text = path.join(folder.path, "text");
  writeFileSync(text, "root:x:0:0\n");
  const cli = await run("inspect", text);
  expect([cli.end, cli.output]).toEqual([1, ""]);
  expect(cli.errors).toBe("text, offset 0: this is no binlog file: it does not begin with the four bytes of one\n");
});

it("logs of two servers are told, and not undone as one", async () => {
  const other = path.join(folder.path, "mariadb.000001");
  const description = makeFormatDescription("10.11.19-MariaDB-log");
  writeFileSync(other, Buffer.concat([content.subarray(0, 4), description]));
  const report = await run("inspect", binlog, other);
  expect(report.end).toBe(0);
  expect(report.errors).toContain("binlog.000001 is of server 1 (MySQL), mariadb.000001 is of server 1 (MariaDB)");
  const undo = await run("inspect", binlog, other, "--undo");
  expect([undo.end, undo.output]).toEqual([2, ""]);
});

it.each([
  [["--from", "4000", "--to", "2000"], "comes before the begin"],
  [["--from", "2026-11-30", "--to", "2026-11-29"], "comes before the begin"],
  [["--interval", "2"], "--interval is between the lines of rates that --follow prints"],
])("%j is a mistake of the command line", async (args, message) => {
  for (const how of [[], ["--rows"], ["--undo"]]) {
    const cli = await run("inspect", binlog, ...args, ...how);
    expect(cli.end, how.join(" ")).toBe(2);
    expect(cli.errors).toContain(message);
  }
});
