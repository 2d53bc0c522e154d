import { existsSync, readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { scanBinlog } from "../../test/helpers/binlog-scan.ts";
import { createPrng } from "../base/prng.ts";

/** Binlogs that other tools collected, MySQL 5.0 to 9.6 and MariaDB 10.5; not part of this package. */
const FOLDER = fileURLToPath(new URL("../../../shared/binlogs", import.meta.url));
const names = existsSync(FOLDER) ? readdirSync(FOLDER).toSorted() : [];
const read = (name: string): Buffer => readFileSync(join(FOLDER, name));

/** What is not simply read to its end. */
const FAULTS: Readonly<Record<string, { code: string; position: number }>> = {
  "blackbeam_rust_mysql_common__binlog_truncated_event.000001": { code: "CORRUPT_EVENT", position: 4 },
};
const GRAMMAR_FAULTS: Readonly<Record<string, string>> = {
  "blackbeam_rust_mysql_common__bug40482-bin.000001": "INCIDENT",
};

/** Transactions and rows, counted with mysqlbinlog where the file is not tiny. */
const COUNTS: Readonly<Record<string, { transactions: number; rows: number }>> = {
  "alibaba_canal__mysql-bin.000001": { transactions: 111, rows: 95 },
  "blackbeam_rust_mysql_common__binlog_transaction_with_GTID_TAG.000001": { transactions: 1, rows: 1 },
  "blackbeam_rust_mysql_common__json.binlog.000001": { transactions: 8, rows: 18 },
  "blackbeam_rust_mysql_common__mariadb-bin.000001": { transactions: 2, rows: 2 },
  "blackbeam_rust_mysql_common__transaction_compression.000001": { transactions: 1, rows: 1 },
  "blackbeam_rust_mysql_common__ver_trunk_row_v2.001": { transactions: 12, rows: 5 },
  "github_gh-ost__mysql-bin.000066": { transactions: 13, rows: 20 },
  "osheroff_mysql-binlog-connector-java__mysql-bin.checksum-crc32": { transactions: 60, rows: 63 },
  "osheroff_mysql-binlog-connector-java__mysql-bin.sakila": { transactions: 53, rows: 47273 },
};

describe.skipIf(names.length === 0)(
  `binlogs collected from other tools${names.length === 0 ? ` (skipped: no folder ${FOLDER})` : ""}`,
  () => {
    it.each(names)("%s is read to its end or its fault, every event decoded", (name) => {
      const scan = scanBinlog(read(name));
      expect(scan.fault && { code: scan.fault.code, position: scan.fault.where.position }).toEqual(FAULTS[name]);
      expect(scan.grammarFault?.code).toBe(GRAMMAR_FAULTS[name]);
      const counts = COUNTS[name];
      if (counts !== undefined) expect({ transactions: scan.transactions, rows: scan.rows }).toEqual(counts);
      expect(scan.events.filter(({ decoded }) => decoded.kind === "opaque")).toEqual([]);
    });

    it.each(names)("%s gives the same events in chunks of a few bytes", (name) => {
      const file = read(name);
      const whole = scanBinlog(file).events.map(({ offset, type }) => `${offset} ${type}`);
      const chunked = scanBinlog(file, { chunkBytes: file.length > 100_000 ? 4093 : 7 }).events;
      expect(chunked.map(({ offset, type }) => `${offset} ${type}`)).toEqual(whole);
    });

    it.each(names.filter((name) => read(name).length < 200_000))(
      "%s with damaged bytes ends in a result or a named fault, never in a crash",
      (name) => {
        const file = read(name);
        const prng = createPrng(0xb1_10_6, name.length);
        const runs = Math.min(300, Math.ceil(3_000_000 / file.length));
        for (let run = 0; run < runs; run++) {
          const damaged = Buffer.from(file);
          const edits = prng.integer(1, 4);
          for (let edit = 0; edit < edits; edit++) {
            damaged[prng.integer(4, damaged.length - 1)] = prng.integer(0, 255);
          }
          const cut = prng.next() < 0.2 ? prng.integer(0, damaged.length) : damaged.length;
          // scanBinlog lets through what is no ReplicationError; checksums are mostly off, or the decoders would see little of the damage.
          scanBinlog(damaged.subarray(0, cut), { verify: prng.next() < 0.1 });
        }
      },
    );
  },
);
