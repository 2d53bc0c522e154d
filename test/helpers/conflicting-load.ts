import { ReplicationError } from "../../src/base/error.ts";
import { createPrng, type Prng } from "../../src/base/prng.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { Session } from "../../src/wire/session.ts";

/** All that makes parallel applying go wrong: hot rows, unique keys that are freed and taken again, foreign keys with cascades, tables without keys, DDL, two schemas. */
const TABLES = [
  "CREATE DATABASE shop",
  "CREATE DATABASE crm",
  "CREATE TABLE shop.hot(id INT PRIMARY KEY, n BIGINT NOT NULL)",
  "INSERT INTO shop.hot VALUES (1,0),(2,0),(3,0),(4,0),(5,0),(6,0)",
  "CREATE TABLE shop.taken(a INT AUTO_INCREMENT PRIMARY KEY, b INT, c INT, name VARCHAR(20) COLLATE utf8mb4_general_ci, UNIQUE(b,c), UNIQUE(name)) DEFAULT CHARSET=utf8mb4",
  "CREATE TABLE shop.parent(id INT PRIMARY KEY, v INT)",
  "CREATE TABLE shop.child(id INT AUTO_INCREMENT PRIMARY KEY, parent INT, v INT, FOREIGN KEY (parent) REFERENCES shop.parent(id) ON DELETE CASCADE)",
  "CREATE TABLE shop.strict(id INT AUTO_INCREMENT PRIMARY KEY, parent INT NOT NULL, FOREIGN KEY (parent) REFERENCES shop.parent(id))",
  "CREATE TABLE shop.code(id INT PRIMARY KEY, code INT NOT NULL UNIQUE, v INT)",
  "CREATE TABLE shop.coded(id INT AUTO_INCREMENT PRIMARY KEY, code INT, v INT, FOREIGN KEY (code) REFERENCES shop.code(code))",
  "CREATE TABLE shop.keyless(a INT, b INT)",
  "CREATE TABLE crm.notes(id INT AUTO_INCREMENT PRIMARY KEY, t VARCHAR(100), n INT DEFAULT 0)",
  "CREATE TABLE crm.big(id INT AUTO_INCREMENT PRIMARY KEY, v INT, t VARCHAR(200))",
];

export interface ConflictingLoad {
  transactions: number;
  threads: number;
  seed: number;
  /** Whether tables are defined anew meanwhile. Default true. */
  defines?: boolean;
}

/** Makes the tables and writes to them from several sessions at once until so many transactions are committed; one more session defines things anew meanwhile. */
export async function writeConflicts(server: SandboxServer, load: ConflictingLoad): Promise<void> {
  const session = await Session.connect(server.address);
  try {
    for (const sql of TABLES) await session.execute(sql);
    let left = load.transactions;
    const writers = Array.from({ length: load.threads }, async (_, thread) => {
      const own = await Session.connect(server.address);
      const prng = createPrng(load.seed, thread);
      const isolation = own.serverVersion.has("transaction-isolation") ? "transaction_isolation" : "tx_isolation";
      try {
        await own.execute(`SET SESSION ${isolation}='READ-COMMITTED'`);
        while (left-- > 0) await write(own, prng);
      } finally {
        await own.close();
      }
    });
    const defining = load.defines === false ? undefined : define(session, load.transactions, () => left);
    await Promise.all(writers);
    await defining;
  } finally {
    await session.close();
  }
}

/** What the sources of the field do beside each other; a transaction that the server refuses (a missing parent, a taken name) is rolled back and counts. */
async function write(session: Session, prng: Prng): Promise<void> {
  const n = (max: number): number => prng.integer(1, max);
  const choices: (() => string[])[] = [
    () => [`UPDATE shop.hot SET n=n*3+${n(9)} WHERE id=${n(6)}`],
    () => [`UPDATE shop.hot SET n=n+1 WHERE id=${n(6)}`, `INSERT INTO crm.notes(t) VALUES ('${"x".repeat(n(60))}')`],
    () => [`DELETE FROM shop.taken WHERE b=${n(5)}`],
    () => {
      const b = n(5);
      const rows = Array.from({ length: 6 }, (_, c) => `(${b},${c},${name(prng)})`);
      return [`INSERT IGNORE INTO shop.taken(b,c,name) VALUES ${rows.join(",")}`];
    },
    () => [`UPDATE shop.taken SET name=${name(prng)} WHERE b=${n(5)} AND c=${n(5)}`],
    () => [`INSERT IGNORE INTO shop.parent VALUES (${n(12)},${n(99)}),(${n(12)},0),(${n(12)},0)`],
    () => [`INSERT INTO shop.child(parent,v) VALUES (${n(12)},${n(99)}),(${n(12)},1)`],
    () => [`INSERT INTO shop.strict(parent) VALUES (${n(12)})`],
    () => [`DELETE FROM shop.strict WHERE parent=${n(12)}`],
    () => [`DELETE FROM shop.parent WHERE id=${n(12)}`],
    () => [`UPDATE shop.parent SET v=v+1 WHERE id=${n(12)}`],
    () => [`UPDATE shop.child SET v=v+1 WHERE parent=${n(12)} LIMIT 2`],
    () => [`UPDATE shop.child SET parent=${n(12)} WHERE parent=${n(12)} LIMIT 2`],
    () => [`UPDATE shop.strict SET parent=${n(12)} WHERE parent=${n(12)} LIMIT 2`],
    () => [`INSERT IGNORE INTO shop.code VALUES (${n(8)},${n(8)},${n(99)}),(${n(8)},${n(8)},0),(${n(8)},${n(8)},0)`],
    () => [`UPDATE shop.code SET ${n(4) === 1 ? `code=${n(8)}` : "v=v+1"} WHERE id=${n(8)}`],
    () => [`DELETE FROM shop.code WHERE id=${n(8)}`],
    () => [`INSERT INTO shop.coded(code,v) VALUES (${n(8)},1)`],
    () => [`UPDATE shop.coded SET ${n(2) === 1 ? `code=${n(8)}` : "v=v+1"} WHERE code=${n(8)} LIMIT 2`],
    () => [`DELETE FROM shop.coded WHERE code=${n(8)} LIMIT 2`],
    () => [`INSERT INTO shop.keyless VALUES (${n(5)},${n(3)}),(${n(5)},1)`],
    () => [`UPDATE shop.keyless SET b=b+1 WHERE a=${n(5)}`],
    () => [`DELETE FROM shop.keyless WHERE a=${n(5)} LIMIT 2`],
    () => [`UPDATE crm.notes SET n=n+1 WHERE id=${n(300)}`],
    () => [`INSERT INTO crm.big(v,t) SELECT id,REPEAT('y',${n(200)}) FROM crm.notes LIMIT 150`],
    () => [`UPDATE crm.big SET v=v+1 WHERE id % 7 = ${n(7)} LIMIT 200`],
    () => [`INSERT INTO crm.notes(t) VALUES ('p')`, `DELETE FROM crm.notes WHERE id=${n(300)}`],
  ];
  const statements = (choices[n(choices.length) - 1] as () => string[])();
  for (;;) {
    try {
      await session.execute(["BEGIN", ...statements, "COMMIT"].join(";"));
      return;
    } catch (error) {
      if (!(error instanceof ReplicationError) || error.code === "CONNECTION_LOST") throw error;
      await session.execute("ROLLBACK");
      if (error.retry !== "now") return;
    }
  }
}

/** Names that a collation without case and trailing spaces takes for each other. */
function name(prng: Prng): string {
  return ["'anna'", "'Anna '", "'ANNA'", "'bob'", "'é'", "'E'", "'ß'", "'s'", "NULL", "NULL"][
    prng.integer(0, 9)
  ] as string;
}

async function define(session: Session, transactions: number, left: () => number): Promise<void> {
  const statements = [
    "ALTER TABLE crm.notes ADD COLUMN extra INT DEFAULT 7",
    "ALTER TABLE shop.hot ADD COLUMN m INT DEFAULT 1",
    "CREATE TABLE shop.late(id INT PRIMARY KEY, v INT)",
    "CREATE UNIQUE INDEX ab ON crm.notes(id,t)",
    "ALTER TABLE shop.hot DROP COLUMN m",
    "DROP TABLE shop.late",
  ];
  for (const [index, sql] of statements.entries()) {
    while (left() > transactions * (1 - (index + 1) / (statements.length + 1))) {
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await session.execute(sql);
  }
}
