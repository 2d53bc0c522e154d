import fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { CHECKPOINT_DDL, takeOver } from "../../src/apply/checkpoint.ts";
import { describeConflict } from "../../src/apply/conflict/describe.ts";
import { applyResolving, type Resolution } from "../../src/apply/conflict/resolve.ts";
import type { Job } from "../../src/apply/job.ts";
import { readTargetFacts } from "../../src/apply/statement/target.ts";
import { WorkerSession } from "../../src/apply/worker-session.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import type { EventList } from "../../src/transaction/event-list.ts";
import type { Transaction } from "../../src/transaction/transaction.ts";
import { Session } from "../../src/wire/session.ts";
import { assembleFiles, binlogFiles } from "./assemble.ts";
import { rowsOf } from "./replay.ts";
import { useServer } from "./servers.ts";

const CHANNEL = "conflicts";
const ENGINE = "00000000-0000-0000-0000-00000000c0f1";
/** A source whose GTIDs the server does not have. */
export const FOREIGN_UUID = "aaaaaaaa-0000-0000-0000-000000000001";

/**
 * One server is source and target by turns, where there is no other source: a transaction is taken from its binlog, then the tables are changed, then it is applied to
 * them.
 */
export class ConflictBench {
  readonly server: () => SandboxServer;
  readonly #source: () => SandboxServer;
  session!: Session;
  worker!: WorkerSession;
  #sourceSession!: Session;

  constructor(server: () => SandboxServer, source = server) {
    this.server = server;
    this.#source = source;
  }

  async open(gtid: "own" | "preserve"): Promise<void> {
    this.session = await Session.connect(this.server().address);
    this.#sourceSession = this.#source === this.server ? this.session : await Session.connect(this.#source().address);
    for (const sql of CHECKPOINT_DDL) await this.session.execute(sql);
    const start = { source: { file: "", position: 0 }, gtids: "", transactions: 0n };
    await takeOver(this.session, { channel: CHANNEL, engineId: ENGINE, workers: 1 }, start, "");
    const session = await Session.connect(this.server().address);
    const facts = await readTargetFacts(rowsOf(session));
    const readBody = ({ body }: Transaction): EventList[] => ("events" in body ? [body.events] : []);
    this.worker = new WorkerSession(
      session,
      { channel: CHANNEL, worker: 0, engineId: ENGINE, gtid, facts, readBody },
      1 << 26,
    );
  }

  close(): void {
    this.session.destroy();
    this.#sourceSession.destroy();
    this.worker.session.destroy();
  }

  async run(...statements: string[]): Promise<void> {
    for (const sql of statements) await this.session.execute(sql);
  }

  async runOnSource(...statements: string[]): Promise<void> {
    for (const sql of statements) await this.#sourceSession.execute(sql);
  }

  async rows(sql: string): Promise<(string | null)[][]> {
    return (await this.session.execute(sql)).at(-1)?.rows ?? [];
  }

  /** Runs the statements as one transaction of a source. */
  async logged(...statements: string[]): Promise<Transaction> {
    await this.runOnSource("FLUSH BINARY LOGS", "BEGIN", ...statements, "COMMIT");
    const { transactions } = assembleFiles((await binlogFiles(this.#source())).slice(-1));
    const transaction = transactions.findLast(({ kind }) => kind === "rows");
    if (transaction === undefined) throw new Error("the statements changed no rows");
    return this.worker.settings.gtid === "own"
      ? transaction
      : { ...transaction, id: { kind: "mysql", uuid: FOREIGN_UUID, tag: "", gno: ++this.#gno } };
  }
  #gno = 0n;

  job(transaction: Transaction): Job {
    const low = { source: transaction.end, gtids: "", transactions: 1n };
    const { ordinal } = transaction;
    return {
      run: {
        id: 1,
        ordinals: [ordinal],
        first: ordinal,
        last: ordinal,
        bytes: 0,
        rows: 0,
        attempt: 1,
        atTurn: true,
        resolve: true,
      },
      transactions: [transaction],
      checkpoint: { low, ahead: "", last: BigInt(++this.#last) },
      before: () => low,
      intent: undefined,
    };
  }
  #last = 0;

  async resolve(transaction: Transaction, mode: "skip" | "overwrite"): Promise<Resolution> {
    const { session } = this.worker;
    try {
      const resolution = await applyResolving(this.worker, this.job(transaction), mode);
      await session.execute(resolution.commit);
      return resolution;
    } finally {
      await session.execute("ROLLBACK");
      for (const sql of this.worker.gtidNext(undefined)) await session.execute(sql);
    }
  }
}

const ROWS = "SELECT id,u,v,HEX(b) FROM c.t ORDER BY id";

export function describeConflicts(flavour: ServerFlavour): void {
  describe(flavour, () => {
    const server = useServer(flavour);
    const bench = new ConflictBench(server);

    beforeAll(async () => {
      await bench.open("own");
      await bench.run(
        "CREATE DATABASE c CHARACTER SET utf8mb4",
        "CREATE TABLE c.t(id INT UNSIGNED PRIMARY KEY, u VARCHAR(20) UNIQUE, v INT, b BINARY(4)) ENGINE=InnoDB",
        "CREATE TABLE c.keyless(a INT, d DATETIME(3)) ENGINE=InnoDB",
        "CREATE TABLE c.fired(id INT AUTO_INCREMENT PRIMARY KEY) ENGINE=InnoDB",
      );
    });
    beforeEach(() => bench.run("DELETE FROM c.t", "DELETE FROM c.keyless"));
    afterAll(() => bench.close());

    test("an insert whose primary key is there already is told with both rows", async () => {
      const transaction = await bench.logged(
        "INSERT INTO c.t VALUES (1,'fine',1,NULL),(4000000000,'the source''s',-2,X'0100')",
      );
      await bench.run("DELETE FROM c.t", "INSERT INTO c.t VALUES (4000000000,'the target''s',7,X'FFFF')");
      expect(await describeConflict(bench.worker, bench.job(transaction))).toEqual({
        kind: "duplicate",
        table: "c.t",
        operation: "insert",
        key: "PRIMARY",
        keyValues: "id=4000000000",
        before: undefined,
        after: "id=4000000000, u='the source's', v=-2, b=0x01000000",
        target: "id=4000000000, u='the target's', v=7, b=0xFFFF0000",
        text:
          "insert into c.t: a row is there already with id=4000000000 (key PRIMARY); source after: id=4000000000, u='the source's', v=-2, b=0x01000000; " +
          "target: id=4000000000, u='the target's', v=7, b=0xFFFF0000",
      });
      // Nothing of it stays.
      expect(await bench.rows(ROWS)).toHaveLength(1);
      expect(await bench.rows("SELECT transactions FROM abreast.checkpoint WHERE worker=0")).toEqual([["0"]]);
    });

    test("a value that is unique and taken is told by its key, also by what is equal under the collation", async () => {
      const transaction = await bench.logged("INSERT INTO c.t VALUES (1,'é',1,NULL)");
      await bench.run("DELETE FROM c.t", "INSERT INTO c.t VALUES (2,'E',2,NULL)");
      expect(await describeConflict(bench.worker, bench.job(transaction))).toMatchObject({
        key: "u",
        keyValues: "u='é'",
        target: "id=2, u='E', v=2, b=NULL",
      });
    });

    test("a row to update or delete that is missing is told by its key", async () => {
      await bench.run("INSERT INTO c.t VALUES (1,'a',1,NULL),(2,'b',2,NULL)");
      const update = await bench.logged("UPDATE c.t SET v=9 WHERE id=2");
      const deletion = await bench.logged("DELETE FROM c.t WHERE id=2");
      expect(await describeConflict(bench.worker, bench.job(update))).toMatchObject({
        kind: "missing",
        operation: "update",
        key: "PRIMARY",
        keyValues: "id=2",
        before: "id=2, u='b', v=2, b=NULL",
        after: "id=2, u='b', v=9, b=NULL",
        target: undefined,
      });
      expect((await describeConflict(bench.worker, bench.job(deletion)))?.text).toBe(
        "delete from c.t: no row with id=2 (key PRIMARY); source before: id=2, u='b', v=9, b=NULL; target: no such row",
      );
    });

    test("an update onto a value that is taken is told by the row that has it", async () => {
      await bench.run("INSERT INTO c.t VALUES (1,'a',1,NULL)");
      const transaction = await bench.logged("UPDATE c.t SET u='b' WHERE id=1");
      await bench.run("UPDATE c.t SET u='a'", "INSERT INTO c.t VALUES (5,'b',5,NULL)");
      expect(await describeConflict(bench.worker, bench.job(transaction))).toMatchObject({
        kind: "duplicate",
        operation: "update",
        key: "u",
        keyValues: "u='b'",
        target: "id=5, u='b', v=5, b=NULL",
      });
    });

    test("without a key the whole row is what was looked for", async () => {
      await bench.run("INSERT INTO c.keyless VALUES (1,'2026-07-05 12:00:00.250')");
      const transaction = await bench.logged("DELETE FROM c.keyless");
      expect(await describeConflict(bench.worker, bench.job(transaction))).toMatchObject({
        table: "c.keyless",
        key: undefined,
        keyValues: "a=1, d=2026-07-05 12:00:00.250",
        target: undefined,
      });
    });

    test("where nothing conflicts nothing is told, and nothing is done", async () => {
      const transaction = await bench.logged("INSERT INTO c.t VALUES (1,'a',1,NULL)");
      await bench.run("DELETE FROM c.t");
      expect(await describeConflict(bench.worker, bench.job(transaction))).toBeUndefined();
      expect(await bench.rows(ROWS)).toEqual([]);
    });

    const mixed = async (): Promise<Transaction> => {
      await bench.run("INSERT INTO c.t VALUES (10,'up',1,NULL),(11,'del',1,NULL),(12,'here',1,NULL)");
      const transaction = await bench.logged(
        "INSERT INTO c.t VALUES (1,'a',1,NULL),(2,'b',1,NULL),(3,'c',1,X'01'),(4,'d',1,NULL)",
        "UPDATE c.t SET v=v+1 WHERE id IN (10,12)",
        "DELETE FROM c.t WHERE id=11",
        "INSERT INTO c.t VALUES (5,'e',1,NULL)",
      );
      await bench.run(
        "DELETE FROM c.t",
        "INSERT INTO c.t VALUES (2,'other',77,NULL),(20,'c',77,NULL),(12,'here',1,NULL)",
      );
      return transaction;
    };

    test("skip leaves out the rows that conflict and applies all others, with the checkpoint", async () => {
      const { skipped, overwritten, lines } = await bench.resolve(await mixed(), "skip");
      expect({ skipped, overwritten }).toEqual({ skipped: 4, overwritten: 0 });
      expect(lines).toHaveLength(4);
      expect(lines[0]).toMatch(/^insert into c\.t: a row is there already with id=2 .*: left out$/);
      expect(await bench.rows(ROWS)).toEqual([
        ["1", "a", "1", null],
        ["2", "other", "77", null],
        ["4", "d", "1", null],
        ["5", "e", "1", null],
        ["12", "here", "2", null],
        ["20", "c", "77", null],
      ]);
      expect(await bench.rows("SELECT transactions FROM abreast.checkpoint WHERE worker=0")).toEqual([["1"]]);
    });

    test("overwrite makes the target's rows the source's", async () => {
      const { skipped, overwritten, lines } = await bench.resolve(await mixed(), "overwrite");
      expect({ skipped, overwritten }).toEqual({ skipped: 1, overwritten: 3 });
      expect(lines.map((line) => line.slice(line.lastIndexOf(":") + 2))).toEqual([
        "overwritten",
        "overwritten",
        "overwritten",
        "left out",
      ]);
      expect(await bench.rows(ROWS)).toEqual([
        ["1", "a", "1", null],
        ["2", "b", "1", null],
        ["3", "c", "1", "01000000"],
        ["4", "d", "1", null],
        ["5", "e", "1", null],
        ["10", "up", "2", null],
        ["12", "here", "2", null],
      ]);
    });

    test("triggers do not fire for what is overwritten; where SQL has to delete and would fire one, it stops", async () => {
      await bench.run("INSERT INTO c.t VALUES (1,'a',1,NULL)");
      const byKey = await bench.logged("INSERT INTO c.t VALUES (2,'b',2,NULL)");
      await bench.run("DELETE FROM c.t WHERE id=2");
      const byOther = await bench.logged("INSERT INTO c.t VALUES (3,'b',2,NULL)");
      await bench.run(
        "DELETE FROM c.t",
        "INSERT INTO c.t VALUES (2,'b',0,NULL)",
        "CREATE TRIGGER c.gone AFTER DELETE ON c.t FOR EACH ROW INSERT INTO c.fired VALUES ()",
        "CREATE TRIGGER c.changed AFTER UPDATE ON c.t FOR EACH ROW INSERT INTO c.fired VALUES ()",
      );
      try {
        expect((await bench.resolve(byKey, "overwrite")).overwritten).toBe(1);
        expect(await bench.rows(ROWS)).toEqual([["2", "b", "2", null]]);
        await expect(bench.resolve(byOther, "overwrite")).rejects.toMatchObject({
          code: "CONFLICT",
          message: expect.stringContaining("delete triggers"),
          where: { table: "c.t" },
        });
        expect(await bench.rows("SELECT * FROM c.fired")).toEqual([]);
      } finally {
        await bench.run("DROP TRIGGER c.gone", "DROP TRIGGER c.changed");
      }
    });

    test("an update of a missing row whose log has not all columns cannot become an insert", async () => {
      await bench.run("INSERT INTO c.t VALUES (1,'a',1,NULL)", "SET SESSION binlog_row_image=MINIMAL");
      const transaction = await bench.logged("UPDATE c.t SET v=2 WHERE id=1");
      await bench.run("SET SESSION binlog_row_image=FULL", "DELETE FROM c.t");
      expect(await describeConflict(bench.worker, bench.job(transaction))).toMatchObject({
        keyValues: "id=1",
        after: "v=2",
      });
      await expect(bench.resolve(transaction, "overwrite")).rejects.toMatchObject({
        code: "CONFLICT",
        hint: expect.stringContaining("binlog_row_image=FULL"),
      });
      expect(await bench.resolve(transaction, "skip")).toMatchObject({ skipped: 1 });
    });

    test("children stay when their parent is overwritten, and a row that goes away takes its own along as foreign keys say", async () => {
      await bench.run(
        "CREATE TABLE c.child(id INT PRIMARY KEY, t INT UNSIGNED, FOREIGN KEY (t) REFERENCES c.t(id) ON DELETE CASCADE) ENGINE=InnoDB",
      );
      const transaction = await bench.logged("INSERT INTO c.t VALUES (1,'a',1,NULL),(2,'b',1,NULL)");
      await bench.run(
        "DELETE FROM c.t",
        "INSERT INTO c.t VALUES (1,'x',7,NULL),(9,'b',7,NULL)",
        "INSERT INTO c.child VALUES (1,1),(9,9)",
      );
      expect(await bench.resolve(transaction, "overwrite")).toMatchObject({ overwritten: 2 });
      expect(await bench.rows(ROWS)).toEqual([
        ["1", "a", "1", null],
        ["2", "b", "1", null],
      ]);
      expect(await bench.rows("SELECT id FROM c.child")).toEqual([["1"]]);
      await bench.run("DROP TABLE c.child");
    });

    test("generated columns and partitions are no hindrance", async () => {
      await bench.run(
        "CREATE TABLE c.parts(id INT, v INT, s INT GENERATED ALWAYS AS (v*2) STORED, w INT GENERATED ALWAYS AS (v+1) VIRTUAL, PRIMARY KEY (id), KEY (w)) " +
          "ENGINE=InnoDB PARTITION BY HASH (id) PARTITIONS 4",
        "INSERT INTO c.parts(id,v) VALUES (1,1),(2,1),(3,1)",
      );
      const transaction = await bench.logged(
        "UPDATE c.parts SET v=5 WHERE id<3",
        "UPDATE c.parts SET id=4 WHERE id=3",
        "INSERT INTO c.parts(id,v) VALUES (7,7)",
      );
      await bench.run("DELETE FROM c.parts", "INSERT INTO c.parts(id,v) VALUES (2,0),(4,0),(7,0),(3,0)");
      expect(await bench.resolve(transaction, "overwrite")).toMatchObject({ overwritten: 3 });
      expect(await bench.rows("SELECT id,v,s,w FROM c.parts ORDER BY id")).toEqual([
        ["1", "5", "10", "6"],
        ["2", "5", "10", "6"],
        ["4", "1", "2", "2"],
        ["7", "7", "14", "8"],
      ]);
      await bench.run("DROP TABLE c.parts");
    });

    test("what fails for another reason is no conflict", async () => {
      await bench.run("CREATE TABLE c.gone(id INT PRIMARY KEY) ENGINE=InnoDB");
      const transaction = await bench.logged("INSERT INTO c.t VALUES (1,'a',1,NULL)", "INSERT INTO c.gone VALUES (1)");
      await bench.run("DROP TABLE c.gone", "DELETE FROM c.t");
      await expect(bench.resolve(transaction, "skip")).rejects.toMatchObject({ code: "APPLY" });
      await expect(describeConflict(bench.worker, bench.job(transaction))).rejects.toMatchObject({ code: "APPLY" });
    });

    test("whatever the target has: after overwrite the rows that the transaction touched are the source's", async () => {
      const id = fc.integer({ min: 1, max: 6 });
      const rowsOfTable = fc.uniqueArray(fc.tuple(id, id, fc.nat(9)), {
        maxLength: 5,
        comparator: (a, b) => a[0] === b[0] || a[1] === b[1],
      });
      const change = fc.oneof(
        fc.tuple(id, id).map(([key, u]) => `REPLACE INTO c.t VALUES (${key},'${u}',100,NULL)`),
        fc.tuple(id, id).map(([key, u]) => `UPDATE IGNORE c.t SET u='${u}', v=v+100 WHERE id=${key}`),
        fc.tuple(id, id).map(([from, to]) => `UPDATE IGNORE c.t SET id=${to}, v=v+100 WHERE id=${from}`),
        id.map((key) => `DELETE FROM c.t WHERE id=${key}`),
      );
      const fill = (rows: [number, number, number][]): string[] => [
        "DELETE FROM c.t",
        ...rows.map(([key, u, v]) => `INSERT INTO c.t VALUES (${key},'${u}',${v},NULL)`),
      ];
      await fc.assert(
        fc.asyncProperty(
          rowsOfTable,
          rowsOfTable,
          fc.array(change, { minLength: 1, maxLength: 6 }),
          async (source, target, changes) => {
            await bench.run(...fill(source));
            const before = new Map((await bench.rows(ROWS)).map((row) => [row[0], row.join()]));
            // One row more, so that something is always logged.
            const transaction = await bench.logged(...changes, "INSERT INTO c.t VALUES (99,'99',1,NULL)");
            const after = new Map((await bench.rows(ROWS)).map((row) => [row[0], row.join()]));
            await bench.run(...fill(target));
            await bench.resolve(transaction, "overwrite");
            const found = new Map((await bench.rows(ROWS)).map((row) => [row[0], row.join()]));
            for (const key of new Set([...before.keys(), ...after.keys()])) {
              if (before.get(key) !== after.get(key)) expect(found.get(key)).toBe(after.get(key));
            }
          },
        ),
        { numRuns: 40, endOnFailure: true },
      );
    });
  });
}

/** Events of one flavour on a target of another. */
export function describeConflictsAcross(from: ServerFlavour, to: ServerFlavour): void {
  describe(`${from} to ${to}`, () => {
    const source = useServer(from);
    const target = useServer(to);
    const bench = new ConflictBench(target, source);
    afterAll(() => bench.close());

    test("rows are told and overwritten", async () => {
      await bench.open("own");
      const definition =
        "CREATE TABLE c.t(id INT UNSIGNED PRIMARY KEY, u VARCHAR(20) UNIQUE, v INT, b BINARY(4)) ENGINE=InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin";
      await bench.runOnSource("CREATE DATABASE c", definition, "INSERT INTO c.t VALUES (1,'a',1,NULL),(2,'b',2,X'01')");
      await bench.run("CREATE DATABASE c", definition);
      const transaction = await bench.logged(
        "INSERT INTO c.t VALUES (3,'c',3,NULL),(4,'d',4,NULL)",
        "UPDATE c.t SET v=v+10 WHERE id<3",
        "DELETE FROM c.t WHERE id=2",
      );
      await bench.run("INSERT INTO c.t VALUES (1,'a',1,NULL),(3,'there',0,NULL),(8,'d',0,NULL)");
      expect(await describeConflict(bench.worker, bench.job(transaction))).toMatchObject({
        key: "PRIMARY",
        after: "id=3, u='c', v=3, b=NULL",
        target: "id=3, u='there', v=0, b=NULL",
      });
      expect(await bench.resolve(transaction, "overwrite")).toMatchObject({ overwritten: 3, skipped: 0 });
      expect(await bench.rows(ROWS)).toEqual([
        ["1", "a", "11", null],
        ["3", "c", "3", null],
        ["4", "d", "4", null],
      ]);
    });
  });
}
