import { expect } from "vitest";
import { BinlogStatementBuilder, formatStatement } from "../../src/apply/row-injection.ts";
import { createPrng } from "../../src/base/prng.ts";
import { EVENT_TYPE } from "../../src/binlog/event-type.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import type { Transaction } from "../../src/transaction/transaction.ts";
import type { Session } from "../../src/wire/session.ts";
import { assembleFiles, binlogFiles } from "./assemble.ts";
import { contents, openSession, runAll } from "./replay.ts";
import { withServer } from "./servers.ts";

const SCHEMAS = ["shop", "log"];

/** Foreign keys that cascade, one to its own table, a second unique key, a table without keys, a generated column, a trigger that writes to another schema. */
const DEFINITIONS = [
  "CREATE DATABASE shop",
  "CREATE DATABASE log",
  "CREATE TABLE shop.parent (id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
  "CREATE TABLE shop.child (id INT PRIMARY KEY, parent INT, note TEXT, FOREIGN KEY (parent) REFERENCES shop.parent (id) ON DELETE CASCADE ON UPDATE CASCADE) ENGINE=InnoDB",
  "CREATE TABLE shop.node (id INT PRIMARY KEY, above INT, FOREIGN KEY (above) REFERENCES shop.node (id) ON DELETE CASCADE) ENGINE=InnoDB",
  "CREATE TABLE shop.placed (id INT AUTO_INCREMENT PRIMARY KEY, place INT, data LONGBLOB, UNIQUE (place)) ENGINE=InnoDB",
  "CREATE TABLE log.keyless (x INT, t VARCHAR(20)) ENGINE=InnoDB",
  "CREATE TABLE log.written (id INT AUTO_INCREMENT PRIMARY KEY, parent INT) ENGINE=InnoDB",
  "CREATE TRIGGER shop.parent_written AFTER INSERT ON shop.parent FOR EACH ROW INSERT INTO log.written (parent) VALUES (NEW.id)",
];
const GENERATED =
  "CREATE TABLE shop.computed (id INT PRIMARY KEY, v INT, g INT GENERATED ALWAYS AS (v * 2) VIRTUAL, KEY (g)) ENGINE=InnoDB";

const CHANGES = [
  "INSERT INTO shop.parent VALUES (1,1),(2,2),(3,3),(4,4)",
  "INSERT INTO shop.child VALUES (1,1,'a'),(2,1,'b'),(3,2,'c'),(4,3,'d')",
  "UPDATE shop.parent SET id=20 WHERE id=2",
  "DELETE FROM shop.parent WHERE id=1",
  "INSERT INTO shop.child VALUES (5,20,REPEAT('x',20000))",
  "UPDATE shop.parent JOIN shop.child ON shop.child.parent=shop.parent.id SET v=9, note='joined' WHERE shop.parent.id=3",
  "DELETE FROM shop.parent WHERE id=3",
  // A child before its parent: only without checks.
  "SET foreign_key_checks=0",
  "INSERT INTO shop.child VALUES (6,50,'early')",
  "SET foreign_key_checks=1",
  "INSERT INTO shop.parent VALUES (50,5)",
  "INSERT INTO shop.node VALUES (1,NULL),(2,1),(3,2),(4,NULL),(5,4)",
  "UPDATE shop.node SET above=4 WHERE id=3",
  "DELETE FROM shop.node WHERE id=1",
  "INSERT INTO shop.node VALUES (1,3)",
  // A value of the second unique key moves from row to row.
  "INSERT INTO shop.placed VALUES (1,5,'one')",
  "DELETE FROM shop.placed WHERE id=1",
  "INSERT INTO shop.placed VALUES (2,5,REPEAT('y',70000))",
  "UPDATE shop.placed SET place=6 WHERE id=2",
  "INSERT INTO shop.placed (place,data) VALUES (5,NULL)",
  "REPLACE INTO shop.placed VALUES (9,5,'nine')",
  "INSERT INTO shop.placed (place,data) VALUES (6,'new') ON DUPLICATE KEY UPDATE data='changed', place=7",
  "INSERT INTO log.keyless VALUES (1,'a'),(1,'a'),(2,'b'),(NULL,'c')",
  "DELETE FROM log.keyless WHERE x=1 LIMIT 1",
  "UPDATE log.keyless SET t='z' WHERE x=1",
  "UPDATE log.keyless SET x=3 WHERE x=2",
  "DELETE FROM log.keyless WHERE x IS NULL",
];

/** More of the same, so that most tables come together in one statement. */
function randomChanges(count: number, withGenerated: boolean): string[] {
  const prng = createPrng(7);
  const below = (limit: number): number => prng.integer(0, limit - 1);
  const kinds: (() => string)[] = [
    () => `REPLACE INTO shop.parent VALUES (${100 + below(20)},${below(9)})`,
    () => `UPDATE shop.parent SET v=v+1 WHERE id>=${100 + below(20)}`,
    () => `DELETE FROM shop.parent WHERE id=${100 + below(20)}`,
    () => `REPLACE INTO shop.child SELECT ${100 + below(40)},id,'r' FROM shop.parent WHERE id=${100 + below(20)}`,
    () =>
      `UPDATE shop.child, shop.parent SET parent=shop.parent.id WHERE shop.parent.id=${100 + below(20)} AND shop.child.id=${100 + below(40)}`,
    () => `INSERT IGNORE INTO shop.node SELECT ${100 + below(30)},id FROM shop.node WHERE id=${100 + below(30)}`,
    () => `INSERT IGNORE INTO shop.node VALUES (${100 + below(30)},NULL)`,
    () => `DELETE FROM shop.node WHERE id=${100 + below(30)}`,
    () => `REPLACE INTO shop.placed VALUES (${100 + below(10)},${100 + below(10)},'r')`,
    () => `INSERT INTO log.keyless VALUES (${below(5)},'r')`,
    () => `UPDATE log.keyless SET t='u' WHERE x=${below(5)} LIMIT 1`,
    () => `DELETE FROM log.keyless WHERE x=${below(5)} LIMIT 1`,
  ];
  if (withGenerated) {
    kinds.push(
      () => `REPLACE INTO shop.computed (id,v) VALUES (${below(9)},${below(9)})`,
      () => `UPDATE shop.computed SET v=v+1 WHERE id=${below(9)}`,
    );
  }
  return Array.from({ length: count }, () => (kinds[below(kinds.length)] as () => string)());
}

/**
 * Writes many small transactions on a source, applies the rows of all of them as one transaction with merged statements on a target of the same flavour, and compares every
 * row; then tries the same again, which must fail and, rolled back, leave no trace.
 */
export async function injectMergedRows(flavour: ServerFlavour): Promise<void> {
  await withServer(flavour, { serverId: 1, options: ["--binlog-format=ROW"] }, (source) =>
    withServer(flavour, { serverId: 2 }, async (target) => {
      const withGenerated = flavour !== "mysql-5.6";
      const definitions = withGenerated ? [...DEFINITIONS, GENERATED] : DEFINITIONS;
      await runAll(target, definitions);
      await runAll(source, [...definitions, ...CHANGES, ...randomChanges(200, withGenerated)]);
      const transactions = assembleFiles(await binlogFiles(source)).transactions.filter(({ kind }) => kind === "rows");
      const queries = mergedBinlogs(transactions, flavour);
      const session = await openSession(target);
      try {
        await useFormat(session, transactions, flavour);
        await session.execute("BEGIN");
        for (const query of queries) await session.execute(query);
        await session.execute("COMMIT");
        const expected = await contentsOfAll(source);
        expect(await contentsOfAll(target)).toEqual(expected);
        await session.execute("BEGIN");
        await expect(session.execute(queries[0] as Buffer[])).rejects.toThrow();
        await session.execute("ROLLBACK");
        expect(await contentsOfAll(target)).toEqual(expected);
      } finally {
        await session.close();
      }
    }),
  );
}

function mergedBinlogs(transactions: readonly Transaction[], flavour: ServerFlavour): Buffer[][] {
  const side = flavour.startsWith("mariadb") ? "mariadb" : "mysql";
  const builder = new BinlogStatementBuilder({ source: side, target: side, bytesMax: 64 * 1024 });
  builder.mergeStatements = true;
  const queries: Buffer[][] = [];
  for (const { body } of transactions) {
    for (const event of "events" in body ? body.events : []) {
      const full = builder.add(event);
      if (full !== undefined) queries.push(full);
    }
  }
  const last = builder.finish();
  if (last !== undefined) queries.push(last);
  const ends = queries.reduce((sum, query) => sum + statementEnds(query), 0);
  expect(queries.length).toBeGreaterThan(1);
  expect(ends).toBeLessThan(0.75 * transactions.length);
  return queries;
}

function statementEnds(query: Buffer[]): number {
  const bytes = Buffer.from((query[1] as Buffer).toString("latin1"), "base64");
  let ends = 0;
  for (let at = 0; at < bytes.length; at += bytes.readUInt32LE(at + 9)) {
    if (bytes[at + 4] !== EVENT_TYPE.TABLE_MAP) ends += bytes.readUInt16LE(at + 25) & 1;
  }
  return ends;
}

async function useFormat(
  session: Session,
  transactions: readonly Transaction[],
  flavour: ServerFlavour,
): Promise<void> {
  const format = transactions[0]?.format;
  expect(format).toBeDefined();
  if (format === undefined) return;
  await session.execute(formatStatement(format, format.flavour));
  if (flavour.startsWith("mysql")) await session.execute("SET GTID_NEXT='AUTOMATIC'");
}

const contentsOfAll = async (server: SandboxServer): Promise<unknown[]> => {
  const all: unknown[] = [];
  for (const schema of SCHEMAS) all.push(await contents(server, schema));
  return all;
};
