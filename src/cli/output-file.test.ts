import { linkSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { TemporaryFolder } from "../bench/temporary-folder.ts";
import { checkOutputFile, writeOutputFile } from "./output-file.ts";

const folder = new TemporaryFolder("output-file");
afterAll(() => folder.remove());

function place(name: string, content: string): string {
  const file = path.join(folder.path, name);
  writeFileSync(file, content, "latin1");
  return file;
}

test("what is read is not overwritten, whatever name it is given by", () => {
  const read = place("packed.gz", "not looked at");
  const link = path.join(folder.path, "link");
  linkSync(read, link);
  expect(() => checkOutputFile("--html", link, [read])).toThrow(/--html .* would overwrite what is read/);
  expect(() => checkOutputFile("--html", place("other", ""), [read, undefined])).not.toThrow();
  expect(() => checkOutputFile("--html", path.join(folder.path, "new"), [read])).not.toThrow();
});

test.each(["\u00febin", "\u00fdbin"])("a binlog is not overwritten even when it is not read", (magic) => {
  const binlog = place("binlog.000001", `${magic} and more`);
  expect(() => writeOutputFile("--save-costs", binlog, "{}")).toThrow(/would overwrite a binlog/);
  expect(readFileSync(binlog, "latin1")).toBe(`${magic} and more`);
});

test("a full disk is told as that, and a wrong name as a mistake of the command line", () => {
  expect(() => writeOutputFile("--html", "/dev/full", "text")).toThrow(
    expect.objectContaining({ code: "OUTPUT", message: "--html /dev/full cannot be written: no space left on device" }),
  );
  expect(() => writeOutputFile("--html", path.join(folder.path, "gone/page.html"), "text")).toThrow(
    expect.objectContaining({ code: "CONFIG" }),
  );
});
