import { expect, test } from "vitest";
import { FORMAT, le, makeEvent, makeQuery, MARIADB_FORMAT } from "../../../test/helpers/binlog-event.ts";
import { factsOf } from "../../../test/helpers/target-facts.ts";
import { ReplicationError } from "../../base/error.ts";
import type { BinlogFormat } from "../../binlog/format.ts";
import { type Step, StepBuilder } from "./steps.ts";

const START = { file: "bin.000001", position: 4711 };
const MYSQL_97 = factsOf("9.7.4");

const about = (format: BinlogFormat = FORMAT): { format: BinlogFormat; start: typeof START } => ({
  format,
  start: START,
});

const push = (builder: StepBuilder, ...events: Buffer[]): Step[] => builder.push(events, about(), true);

/** The statements of steps in the order in which they run. */
const flat = (steps: Step[]): string[] =>
  steps.flatMap((step) => (step.kind === "rows" ? ["rows"] : [...step.setup, step.text.toString()]));

const tableMap = (id: number): Buffer => makeEvent(19, [le(6, id), le(2, 1), 1, "d", 0, 1, "t", 0, 1, 3, 0, 0]);
const rows = (id: number, ends: boolean): Buffer =>
  makeEvent(30, [le(6, id), le(2, ends ? 1 : 0), le(2, 2), 1, 0xff, 0, le(4, 1)]);

function refusal(work: () => unknown): ReplicationError {
  try {
    work();
  } catch (error) {
    if (error instanceof ReplicationError) return error;
  }
  throw new Error("not refused");
}

test("context is set before the statement, and only once for statements of one session", () => {
  const steps = flat(
    push(new StepBuilder(MYSQL_97), makeQuery("INSERT INTO t VALUES(1)"), makeQuery("INSERT INTO t VALUES(2)")),
  );
  expect(steps.slice(0, 2)).toEqual([
    "USE `d`",
    expect.stringMatching(/^SET TIMESTAMP=1700000000,pseudo_thread_id=7,/),
  ]);
  expect(steps.slice(2)).toEqual(["INSERT INTO t VALUES(1)", "INSERT INTO t VALUES(2)"]);
});

test("what belongs to one statement is set for that one alone", () => {
  const insertId = makeEvent(5, [2, le(8, 77)]);
  const rand = makeEvent(13, [le(8, 5), le(8, 6)]);
  const builder = new StepBuilder(MYSQL_97);
  push(builder, makeQuery("SELECT 1"));
  expect(
    flat(push(builder, insertId, rand, makeQuery("INSERT INTO t VALUES(1)"), makeQuery("INSERT INTO t VALUES(2)"))),
  ).toEqual([
    "SET INSERT_ID=77",
    "SET @@RAND_SEED1=5,@@RAND_SEED2=6",
    "INSERT INTO t VALUES(1)",
    "INSERT INTO t VALUES(2)",
  ]);
});

test("after row events their time and checks are set again", () => {
  const builder = new StepBuilder(MYSQL_97);
  const steps = push(builder, makeQuery("SELECT 1"), tableMap(1), rows(1, true), makeQuery("SELECT 2"));
  expect(steps.map(({ kind }) => kind)).toEqual(["statement", "rows", "statement"]);
  expect(flat(steps).at(-2)).toBe("SET TIMESTAMP=1700000000");
});

test("after forget everything is set again", () => {
  const builder = new StepBuilder(MYSQL_97);
  const first = flat(push(builder, makeQuery("SELECT 1")));
  expect(flat(push(builder, makeQuery("SELECT 1")))).toEqual(["SELECT 1"]);
  builder.forget();
  expect(flat(push(builder, makeQuery("SELECT 1")))).toEqual(first);
});

test("a source's statement that is cut has its table maps in every part", () => {
  const builder = new StepBuilder(MYSQL_97);
  const maps = [tableMap(1), tableMap(2)];
  const parts = [[...maps, rows(1, false)], [rows(1, false)], [rows(2, true), tableMap(3)], [rows(3, true)]];
  const events = parts.map((part) => {
    const [step, ...more] = builder.push(part, about(), false);
    expect(more).toEqual([]);
    return step?.kind === "rows" ? step.events : [];
  });
  expect(events).toEqual([
    [...maps, rows(1, false)],
    [...maps, rows(1, false)],
    [...maps, rows(2, true), tableMap(3)],
    [tableMap(3), rows(3, true)],
  ]);
});

test("LOAD DATA has its file, and the server is asked for LOCAL", () => {
  const block = (type: number, data: string): Buffer => makeEvent(type, [le(4, 9), data]);
  const sql = "LOAD DATA INFILE '/tmp/SQL_LOAD-1' INTO TABLE t";
  const from = sql.indexOf(" INFILE");
  const to = sql.indexOf(" TABLE");
  const execute = makeEvent(18, [
    le(4, 7),
    le(4, 0),
    1,
    le(2, 0),
    le(2, 0),
    le(4, 9),
    le(4, from),
    le(4, to),
    2,
    "d",
    0,
    sql,
  ]);
  const builder = new StepBuilder(MYSQL_97);
  const [step] = push(builder, block(17, "1\n"), block(9, "2\n"), execute);
  expect(step).toMatchObject({ kind: "load-data", expectedError: 0 });
  expect(step?.kind === "load-data" && Buffer.concat(step.data).toString()).toBe("1\n2\n");
  expect(flat([step as Step]).at(-1)).toBe("LOAD DATA LOCAL INFILE 'abreast' REPLACE INTO TABLE t");
  expect(refusal(() => push(builder, execute)).code).toBe("GRAMMAR");
});

test("a DDL tells the worker what it touches", () => {
  const [step] = push(new StepBuilder(MYSQL_97), makeQuery("RENAME TABLE a TO `x y`.b"));
  expect(step).toMatchObject({
    shown: "RENAME TABLE a TO `x y`.b",
    ddl: { schemas: ["x y", "d"], accounts: false, resume: "compare", opensTransaction: false },
  });
});

test("a statement that becomes two has its context before the first", () => {
  const builder = new StepBuilder(MYSQL_97);
  const steps = builder.push([makeQuery("CREATE OR REPLACE TABLE t(a INT)")], about(MARIADB_FORMAT), true);
  expect(flat(steps).slice(2)).toEqual(["DROP TABLE IF EXISTS t", "CREATE  TABLE t(a INT)"]);
});

test("what cannot be applied is refused with its place, and nothing of its context is taken for set", () => {
  const interrupted = makeQuery("DELETE FROM t");
  interrupted.writeUInt16LE(1317, 28);
  const builder = new StepBuilder(MYSQL_97);
  const error = refusal(() => push(builder, interrupted));
  expect(error).toMatchObject({ code: "UNSUPPORTED", where: START });
  expect(error.message).toContain("DELETE FROM t");
  expect(flat(push(builder, makeQuery("SELECT 1")))[0]).toBe("USE `d`");
  expect(refusal(() => push(builder, makeEvent(8, [Buffer.alloc(20)]))).code).toBe("UNSUPPORTED");
});

test("an error that the source met is the one to expect", () => {
  const failed = makeQuery("INSERT INTO t VALUES(1),(1)");
  failed.writeUInt16LE(1062, 28);
  const [step] = push(new StepBuilder(MYSQL_97), failed);
  expect(step).toMatchObject({ kind: "statement", expectedError: 1062 });
});
