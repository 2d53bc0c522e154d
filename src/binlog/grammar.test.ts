import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { FORMAT, le, makeEvent, makeQuery, MARIADB_FORMAT } from "../../test/helpers/binlog-event.ts";
import { ReplicationError } from "../base/error.ts";
import { EVENT_FLAG } from "./event.ts";
import { EVENT_TYPE } from "./event-type.ts";
import { eventFact, step } from "./grammar.ts";
import type { EventFact, Step, StreamState } from "./grammar.ts";
import { queryVerb } from "./query-verb.ts";

const T = EVENT_TYPE;

/** The words that the scripts below are written in. */
const WORDS: Readonly<Record<string, [type: number, fact: EventFact, flags?: number]>> = {
  fde: [T.FORMAT_DESCRIPTION, "none"],
  previous: [T.PREVIOUS_GTIDS, "none"],
  list: [T.GTID_LIST, "none"],
  checkpoint: [T.BINLOG_CHECKPOINT, "none"],
  heartbeat: [T.HEARTBEAT_V2, "none"],
  rotate: [T.ROTATE, "none"],
  stop: [T.STOP, "none"],
  gtid: [T.GTID, "none"],
  tagged: [T.GTID_TAGGED, "none"],
  anonymous: [T.ANONYMOUS_GTID, "none"],
  "gtid-group": [T.MARIADB_GTID, "gtid-group"],
  "gtid-standalone": [T.MARIADB_GTID, "gtid-standalone"],
  BEGIN: [T.QUERY, "begin"],
  COMMIT: [T.QUERY, "commit"],
  ROLLBACK: [T.QUERY, "rollback"],
  SAVEPOINT: [T.QUERY, "savepoint"],
  statement: [T.QUERY, "statement"],
  "XA-START": [T.QUERY, "xa-start"],
  "XA-END": [T.QUERY, "xa-end"],
  "XA-COMMIT": [T.QUERY, "xa-commit"],
  "XA-ROLLBACK": [T.QUERY, "xa-rollback"],
  dummy: [T.QUERY, "dummy"],
  prepare: [T.XA_PREPARE, "two-phase"],
  "one-phase": [T.XA_PREPARE, "one-phase"],
  annotate: [T.ANNOTATE_ROWS, "none"],
  map: [T.TABLE_MAP, "none"],
  rows: [T.UPDATE_ROWS, "none"],
  "rows-end": [T.WRITE_ROWS, "statement-end"],
  "rows-v1-end": [T.DELETE_ROWS_V1, "statement-end"],
  xid: [T.XID, "none"],
  intvar: [T.INTVAR, "none"],
  rand: [T.RAND, "none"],
  "user-var": [T.USER_VAR, "none"],
  "begin-load": [T.BEGIN_LOAD_QUERY, "none"],
  append: [T.APPEND_BLOCK, "none"],
  "execute-load": [T.EXECUTE_LOAD_QUERY, "none"],
  "delete-file": [T.DELETE_FILE, "none"],
  payload: [T.TRANSACTION_PAYLOAD, "none"],
  view: [T.VIEW_CHANGE, "none"],
  incident: [T.INCIDENT, "none"],
  unknown: [99, "none"],
  ignorable: [99, "none", EVENT_FLAG.IGNORABLE],
};

function take(state: StreamState, word: string): Step {
  const [type, fact, flags = 0] = WORDS[word] ?? [];
  if (type === undefined || fact === undefined) throw new Error(`no such word: ${word}`);
  return step(state, type, flags, fact);
}

/** `gtid:begin BEGIN:inside …`; an upper-case role has content; ends tell how; the state behind the last when it is not outside. */
function run(script: string): string {
  let state = "outside" as StreamState;
  const told = script.split(" ").map((word) => {
    const taken = take(state, word);
    state = taken.state;
    const role = taken.content ? taken.role.toUpperCase() : taken.role;
    return `${role}${taken.ending === undefined ? "" : `=${taken.ending}`}${taken.abandons ? "!" : ""}`;
  });
  return told.join(" ") + (state === "outside" ? "" : ` (${state})`);
}

describe("the grammar of a stream", () => {
  it.each([
    // MySQL
    ["gtid BEGIN map rows rows-end xid", "begin inside INSIDE INSIDE INSIDE end=commit"],
    ["tagged BEGIN annotate map rows-end xid", "begin inside inside INSIDE INSIDE end=commit"],
    ["gtid BEGIN COMMIT", "begin inside end=commit"],
    ["gtid BEGIN map rows-end COMMIT", "begin inside INSIDE INSIDE end=commit"],
    ["gtid BEGIN map rows-end ROLLBACK", "begin inside INSIDE INSIDE end=rollback"],
    [
      "gtid BEGIN map rows SAVEPOINT map rows-end SAVEPOINT xid",
      "begin inside INSIDE INSIDE INSIDE INSIDE INSIDE INSIDE end=commit",
    ],
    ["gtid statement", "begin END=implicit"],
    ["gtid user-var statement", "begin INSIDE END=implicit"],
    ["gtid BEGIN statement map rows-end xid", "begin inside INSIDE INSIDE INSIDE end=commit"],
    ["anonymous BEGIN intvar rand user-var statement xid", "begin inside INSIDE INSIDE INSIDE INSIDE end=commit"],
    ["gtid BEGIN begin-load append intvar execute-load xid", "begin inside INSIDE INSIDE INSIDE INSIDE end=commit"],
    ["gtid BEGIN begin-load delete-file ROLLBACK", "begin inside INSIDE INSIDE end=rollback"],
    ["gtid XA-START map rows-end SAVEPOINT XA-END prepare", "begin inside INSIDE INSIDE INSIDE inside end=prepare"],
    ["gtid XA-START map rows-end XA-END one-phase", "begin inside INSIDE INSIDE inside end=commit"],
    ["gtid XA-COMMIT gtid XA-ROLLBACK", "begin END=implicit begin END=implicit"],
    ["gtid payload BEGIN map rows-end xid", "begin payload inside INSIDE INSIDE end=commit"],
    ["gtid BEGIN view COMMIT", "begin inside inside end=commit"],
    // MariaDB
    ["gtid-group annotate map rows-end xid", "begin inside INSIDE INSIDE end=commit"],
    ["gtid-group statement COMMIT", "begin INSIDE end=commit"],
    ["gtid-group statement map rows-end xid", "begin INSIDE INSIDE INSIDE end=commit"],
    ["gtid-standalone statement", "begin END=implicit"],
    ["gtid-standalone intvar statement", "begin INSIDE END=implicit"],
    ["gtid-standalone begin-load append execute-load", "begin INSIDE INSIDE END=implicit"],
    ["gtid-group map rows-v1-end XA-END prepare", "begin INSIDE INSIDE inside end=prepare"],
    ["gtid-standalone XA-COMMIT", "begin END=implicit"],
    // Without GTIDs
    ["BEGIN map rows-end xid", "begin INSIDE INSIDE end=commit"],
    ["BEGIN intvar statement COMMIT", "begin INSIDE INSIDE end=commit"],
    ["statement statement", "STANDALONE=implicit STANDALONE=implicit"],
    ["intvar rand user-var statement", "BEGIN INSIDE INSIDE END=implicit"],
    ["begin-load append execute-load", "BEGIN INSIDE END=implicit"],
    ["begin-load delete-file", "BEGIN END=implicit"],
    ["map rows rows-v1-end statement", "BEGIN INSIDE END=implicit STANDALONE=implicit"],
    ["XA-START map rows-end XA-END prepare", "begin INSIDE INSIDE inside end=prepare"],
    // What belongs to no transaction
    ["fde previous gtid statement rotate fde", "control control begin END=implicit control control"],
    [
      "fde list checkpoint gtid-group checkpoint heartbeat map rows-end xid stop",
      "control control control begin control control INSIDE INSIDE end=commit control",
    ],
    ["view statement", "control STANDALONE=implicit"],
    ["gtid ignorable BEGIN ignorable xid", "begin ignored inside ignored end=commit"],
    ["dummy BEGIN dummy xid", "ignored begin ignored end=commit"],
    // A transaction that the source never finished
    ["gtid BEGIN map rows rotate fde gtid statement", "begin inside INSIDE INSIDE control! control begin END=implicit"],
    ["gtid stop", "begin control!"],
    ["intvar fde", "BEGIN control!"],
    ["gtid-group map", "begin INSIDE (transaction)"],
    ["gtid", "begin (gtid)"],
  ])("%s", (script, told) => {
    expect(run(script)).toBe(told);
  });

  it.each([
    ["xid", "GRAMMAR"],
    ["COMMIT", "GRAMMAR"],
    ["ROLLBACK", "GRAMMAR"],
    ["SAVEPOINT", "GRAMMAR"],
    ["rows-end", "GRAMMAR"],
    ["prepare", "GRAMMAR"],
    ["gtid gtid", "GRAMMAR"],
    ["gtid map", "GRAMMAR"],
    ["gtid xid", "GRAMMAR"],
    ["gtid COMMIT", "GRAMMAR"],
    ["gtid BEGIN gtid", "GRAMMAR"],
    ["gtid BEGIN BEGIN", "GRAMMAR"],
    ["gtid BEGIN XA-COMMIT", "GRAMMAR"],
    ["gtid BEGIN payload", "GRAMMAR"],
    ["gtid BEGIN previous", "GRAMMAR"],
    ["gtid XA-START xid", "GRAMMAR"],
    ["gtid-standalone map", "GRAMMAR"],
    ["gtid-standalone BEGIN", "GRAMMAR"],
    ["gtid-group BEGIN", "GRAMMAR"],
    ["gtid-group gtid-group", "GRAMMAR"],
    ["intvar BEGIN", "GRAMMAR"],
    ["gtid BEGIN incident", "INCIDENT"],
    ["incident", "INCIDENT"],
    ["unknown", "UNKNOWN_EVENT"],
    ["gtid BEGIN unknown", "UNKNOWN_EVENT"],
  ])("%s is refused: %s", (script, code) => {
    expect(() => run(script)).toThrow(expect.objectContaining({ code, hint: expect.any(String) }));
  });

  it("hands out a few fixed objects only, whatever comes", () => {
    const seen = new Set<Step>();
    const words = Object.keys(WORDS);
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...words), { maxLength: 30 }), (script) => {
        let state: StreamState = "outside";
        for (const word of script) {
          try {
            const taken = take(state, word);
            state = taken.state;
            seen.add(taken);
            // An end leads outside, and nothing else but control events does.
            if (taken.ending !== undefined) expect(state).toBe("outside");
          } catch (error) {
            expect(error).toBeInstanceOf(ReplicationError);
          }
        }
      }),
      { numRuns: 500 },
    );
    expect(seen.size).toBeLessThan(50);
  });
});

describe("what the grammar must know of an event", () => {
  it.each([
    ["BEGIN", "begin"],
    ["begin ", "begin"],
    ["BEGIN /* 1 */", "begin"],
    ["BEGINNING", "statement"],
    ["BEGIN NOT ATOMIC SELECT 1; END", "statement"],
    ["COMMIT", "commit"],
    ["COMMIT;", "commit"],
    ["COMMITTED", "statement"],
    ["ROLLBACK", "rollback"],
    ["ROLLBACK TO `x`", "savepoint"],
    ["rollback to savepoint x", "savepoint"],
    ["SAVEPOINT `COMMIT`", "savepoint"],
    ["RELEASE SAVEPOINT x", "savepoint"],
    ["XA START X'31',X'',1", "xa-start"],
    ["XA END X'31',X'',1", "xa-end"],
    ["XA COMMIT X'31',X'',1", "xa-commit"],
    ["XA ROLLBACK X'31',X'',1", "xa-rollback"],
    ["XA RECOVER", "statement"],
    ["# Dummy event replacing event type 160 that slave cannot handle.", "dummy"],
    ["# a comment", "statement"],
    ["CREATE TABLE t (a INT)", "statement"],
    ["", "statement"],
    ["B", "statement"],
  ])("the query %j is a %s", (sql, verb) => {
    expect(queryVerb(Buffer.from(sql), 0, sql.length)).toBe(verb);
    expect(eventFact(makeQuery(sql), FORMAT)).toBe(verb);
  });

  it("reads the flags of GTID, XA_PREPARE and row events", () => {
    const gtid = (flags: number): Buffer => makeEvent(T.MARIADB_GTID, [le(8, 1), le(4, 0), flags, Buffer.alloc(6)]);
    expect(eventFact(gtid(0x0c), MARIADB_FORMAT)).toBe("gtid-group");
    expect(eventFact(gtid(0x29), MARIADB_FORMAT)).toBe("gtid-standalone");
    expect(eventFact(makeEvent(T.XA_PREPARE, [0, Buffer.alloc(12)]), FORMAT)).toBe("two-phase");
    expect(eventFact(makeEvent(T.XA_PREPARE, [1, Buffer.alloc(12)]), FORMAT)).toBe("one-phase");
    const rows = (flags: number): Buffer => makeEvent(T.WRITE_ROWS, [le(6, 1), le(2, flags), le(2, 2), 1, 1]);
    expect(eventFact(rows(0), FORMAT)).toBe("none");
    expect(eventFact(rows(1), FORMAT)).toBe("statement-end");
    expect(eventFact(makeEvent(T.XID, [le(8, 1)]), FORMAT)).toBe("none");
  });

  it.each([T.QUERY, T.MARIADB_GTID, T.XA_PREPARE, T.WRITE_ROWS])(
    "an event of type %i that is too short is corrupt",
    (type) => {
      expect(() => eventFact(makeEvent(type, []), FORMAT)).toThrow(expect.objectContaining({ code: "CORRUPT_EVENT" }));
    },
  );
});
