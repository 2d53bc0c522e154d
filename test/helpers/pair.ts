import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect } from "vitest";
import { createPrng, type Prng } from "../../src/base/prng.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { Session } from "../../src/wire/session.ts";
import { CliProcess } from "./engine-process.ts";
import { LOAD_SCHEMA, prepareNumberedLoad, startNumberedLoad } from "./numbered-load.ts";
import { withServer } from "./servers.ts";

/**
 * Replicates a mixed load with DDL from a fresh server of one flavour into one of another, through the command line, and compares every row. What is written
 * are types and character sets that both know.
 */
export async function replicatePair(from: ServerFlavour, to: ServerFlavour, seed: number): Promise<void> {
  await withServer(from, { serverId: 1, options: RELAXED }, (source) =>
    withServer(to, { serverId: 2, options: RELAXED }, async (target) => {
      const folder = await mkdtemp(path.join(tmpdir(), "abreast-pair-"));
      try {
        await replicateLoad(source, target, folder, seed);
        await expectSameRows(source, target);
        const verify = new CliProcess(["verify", `--source=${source.url}`, `--target=${target.url}`]);
        expect([await verify.ended, verify.errors], verify.output).toEqual([0, expect.anything()]);
      } finally {
        await rm(folder, { recursive: true, force: true });
      }
    }),
  );
}

const RELAXED = ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"];
const LOAD_MS = 2500;
const TYPED_ROWS = 300;

async function replicateLoad(
  source: SandboxServer,
  target: SandboxServer,
  folder: string,
  seed: number,
): Promise<void> {
  const replicate = (...more: string[]): CliProcess =>
    new CliProcess([
      "replicate",
      `--source=${source.url}`,
      `--target=${target.url}`,
      `--folder=${path.join(folder, "engine")}`,
      "--start-from=binlog.000001:4",
      "--server-id=3",
      ...more,
    ]);
  const engine = replicate();
  await prepareNumberedLoad(source.address);
  const load = startNumberedLoad({ address: source.address, seed, threads: 4, pauseMsMax: 20 });
  try {
    await writeTypedRows(source, createPrng(seed));
    await sleep(LOAD_MS);
  } finally {
    await load.stop();
  }
  expect(load.counts.transactions).toBeGreaterThan(50);
  expect(load.counts.ddl).toBeGreaterThan(0);
  expect(engine.end, engine.errors).toBeUndefined();
  expect(await engine.interrupt(), engine.errors).toBe(0);
  const last = replicate("--until=now");
  expect(await last.ended, last.errors).toBe(0);
}

/** One column of every type that all flavours have, and values at its ends. */
async function writeTypedRows(source: SandboxServer, prng: Prng): Promise<void> {
  const session = await Session.connect(source.address);
  try {
    await session.execute(`USE ${LOAD_SCHEMA}; SET sql_mode=''`);
    await session.execute(
      "CREATE TABLE typed (id INT PRIMARY KEY, ti TINYINT, tu TINYINT UNSIGNED, si SMALLINT, mu MEDIUMINT UNSIGNED, iu INT UNSIGNED, bu BIGINT UNSIGNED, " +
        "de DECIMAL(30,10), fl FLOAT, db DOUBLE, bi BIT(64), ye YEAR, da DATE, ti3 TIME(3), dt6 DATETIME(6), ts TIMESTAMP(2) NULL, ch CHAR(20), " +
        "la VARCHAR(40) CHARACTER SET latin1, vb VARBINARY(30), bn BINARY(16), tx TEXT, bl BLOB, en ENUM('a','b','ü'), se SET('x','y','z'))",
    );
    for (let id = 1; id <= TYPED_ROWS; id++)
      await session.execute(`INSERT INTO typed VALUES (${id}, ${typedValues(prng)})`);
    await session.execute("UPDATE typed SET tu=255-tu, de=-de, tx=CONCAT(tx, '…'), bn=REVERSE(bn) WHERE id % 3 = 0");
    await session.execute("ALTER TABLE typed MODIFY ch VARCHAR(30), DROP COLUMN si, ADD KEY (da)");
    await session.execute("DELETE FROM typed WHERE id % 7 = 0");
  } finally {
    await session.close();
  }
}

function typedValues(prng: Prng): string {
  const pick = (...values: string[]): string => values[prng.integer(0, values.length - 1)] ?? "NULL";
  const bytes = (length: number): string => {
    const hex = Array.from({ length }, () => prng.integer(0, 255).toString(16).padStart(2, "0"));
    return `X'${hex.join("")}'`;
  };
  return [
    pick("-128", "127", "0", "NULL"),
    pick("0", "255", "200"),
    pick("-32768", "32767"),
    pick("0", "16777215", "8888607"),
    pick("0", "4294967295", "NULL"),
    pick("0", "18446744073709551615", "9223372036854775808"),
    pick("0", "-99999999999999999999.9999999999", "12345.6789", "NULL"),
    pick("0.5", "-1.25e10", "3.14"),
    pick("1e100", "-2.5e-50", "0.1"),
    pick("0", "b'1'", "18446744073709551615"),
    pick("1901", "2155", "0"),
    pick("'1000-01-01'", "'9999-12-31'", "'0000-00-00'", "NULL"),
    pick("'-838:59:59'", "'-00:00:00.010'", "'16:08:04.250'", "'00:00:00'"),
    pick("'2026-07-05 12:00:00.123456'", "'1000-01-01 00:00:00'", "'0000-00-00 00:00:00'"),
    pick("'2026-07-05 12:00:00.25'", "'1970-01-02 00:00:01'", "'0000-00-00 00:00:00'", "NULL"),
    pick("''", "'blank '", "'öäü'", "'日本語'"),
    pick("''", "'äöüß'", "REPEAT('x', 40)"),
    pick("''", bytes(30), "X'0000'"),
    pick("X'01000000000000000000000000000100'", "X'01'", bytes(16)),
    pick("''", "REPEAT('long ', 2000)", "'🙂'", "NULL"),
    pick("''", bytes(64), "REPEAT(X'00', 5000)"),
    pick("'a'", "'ü'", "NULL", "''"),
    pick("''", "'x,z'", "'x,y,z'"),
  ].join(", ");
}

/** Every row as the servers print it, without help from our own comparison. */
async function expectSameRows(source: SandboxServer, target: SandboxServer): Promise<void> {
  const [a, b] = [await allRows(source), await allRows(target)];
  expect([...b.keys()]).toEqual([...a.keys()]);
  expect(a.has("typed")).toBe(true);
  for (const [table, rows] of a) {
    const theirs = b.get(table) ?? [];
    const different = rows.findIndex((row, index) => row !== theirs[index]);
    expect({ table, rows: theirs.length, different: different < 0 ? undefined : theirs[different] }).toEqual({
      table,
      rows: rows.length,
      different: different < 0 ? undefined : rows[different],
    });
  }
}

async function allRows(server: SandboxServer): Promise<Map<string, string[]>> {
  const session = await Session.connect(server.address);
  try {
    await session.execute("SET time_zone='+00:00'");
    const tables = new Map<string, string[]>();
    for (const row of await session.query(`SHOW TABLES FROM ${LOAD_SCHEMA}`)) {
      const table = String(Object.values(row)[0]);
      const [result] = await session.execute(`SELECT * FROM ${LOAD_SCHEMA}.${table} ORDER BY 1`, { binary: true });
      const rows = (result?.rows ?? []).map((values) => values.map((value) => value?.toString("latin1")).join("|"));
      tables.set(table, rows);
    }
    return tables;
  } finally {
    await session.close();
  }
}
