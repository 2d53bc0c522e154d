import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, expect, test } from "vitest";
import { makeFormatDescription } from "../../../test/helpers/binlog-event.ts";
import { TemporaryFolder } from "../../bench/temporary-folder.ts";
import { findInputs } from "./input.ts";
import { mixedOrigins } from "./origin.ts";

const folder = new TemporaryFolder("origin");
afterAll(() => folder.remove());

/** A binlog with nothing but its description. */
function binlog(name: string, serverId: number, version: string, pack = (bytes: Buffer): Buffer => bytes): string {
  const file = path.join(folder.path, name);
  mkdirSync(path.dirname(file), { recursive: true });
  const description = makeFormatDescription(version);
  description.writeUInt32LE(serverId, 5);
  writeFileSync(file, pack(Buffer.concat([Buffer.from("\u00febin", "latin1"), description])));
  return file;
}

const mixed = async (...files: string[]): Promise<string | undefined> => mixedOrigins(await findInputs(files));

test("files of one server are one log, upgraded or packed in between", async () => {
  const before = binlog("one/binlog.000001", 7, "8.0.40");
  const after = binlog("one/binlog.000002.gz", 7, "8.4.3", gzipSync);
  expect(await mixed(before, after)).toBeUndefined();
});

test("files of two servers are told with the names that tell them apart", async () => {
  const mysql = binlog("a/binlog.000001", 7, "8.0.40");
  const mariadb = binlog("b/binlog.000001", 7, "10.11.19-MariaDB-log");
  const other = binlog("b/binlog.000002.gz", 8, "10.11.19-MariaDB-log", gzipSync);
  expect(await mixed(mysql, mariadb, other)).toBe(
    "a/binlog.000001 is of server 7 (MySQL), b/binlog.000001 is of server 7 (MariaDB), binlog.000002 is of server 8 (MariaDB)",
  );
});

test("what is no binlog has no server", async () => {
  const text = path.join(folder.path, "text");
  writeFileSync(text, "CREATE TABLE t (id INT);\n");
  expect(await mixed(text, binlog("c/binlog.000001", 7, "8.0.40"))).toBeUndefined();
});
