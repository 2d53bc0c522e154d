import { expect, test } from "vitest";
import { type HeaderFields, le, makeEvent, makeFormatDescription, makeQuery } from "../../test/helpers/binlog-event.ts";
import { ReplicationError } from "../base/error.ts";
import { Assembler, type AssemblerOptions } from "./assembler.ts";
import type { Transaction } from "./transaction.ts";

const ARTIFICIAL = 0x20;

/** Feeds events made by hand, each at its own place of one relay file. */
class Feed {
  readonly assembler: Assembler;
  readonly transactions: Transaction[] = [];
  #offset = 4;

  constructor(position = 4, options: Partial<AssemblerOptions> = {}) {
    this.assembler = new Assembler(
      { bytesInMemoryMax: 1 << 20, ...options },
      { source: { file: "bin.000001", position } },
    );
  }

  push(...events: Buffer[]): this {
    for (const event of events) {
      const next = this.#offset + event.length;
      const made = this.assembler.push(event, { file: 1, offset: this.#offset }, { file: 1, offset: next });
      if (made !== undefined) this.transactions.push(made);
      this.#offset = next;
    }
    return this;
  }

  get kinds(): string[] {
    return this.transactions.map(({ kind }) => kind);
  }
}

/** Events of one source file, each with the end position that it has there. */
class File {
  position: number;

  constructor(position: number) {
    this.position = position;
  }

  add(event: Buffer): Buffer {
    this.position += event.length;
    event.writeUInt32LE(this.position % 2 ** 32, 13);
    return event;
  }
}

const fde = (): Buffer => makeFormatDescription("8.0.40");
const rotate = (file: string, position: number, header: HeaderFields = {}): Buffer =>
  makeEvent(4, [le(8, position), file], header);
const artificialRotate = (file: string, position: number): Buffer =>
  rotate(file, position, { timestamp: 0, flags: ARTIFICIAL });
const gtid = (gno: number): Buffer =>
  makeEvent(33, [1, Buffer.alloc(16, 0xab), le(8, gno), 2, le(8, gno - 1), le(8, gno)]);
const xid = (): Buffer => makeEvent(16, [le(8, 5)]);
const tableMap = (id: number, table: string): Buffer =>
  makeEvent(19, [le(6, id), le(2, 1), 1, "d", 0, table.length, table, 0, 1, 3, 0, 0]);
const writeRows = (id: number, values: number[], flags = 1): Buffer =>
  makeEvent(30, [le(6, id), le(2, flags), le(2, 2), 1, 0xff, ...values.flatMap((value) => [0, le(4, value)])]);

const transaction = (file: File, gno: number): Buffer[] =>
  [gtid(gno), makeQuery("BEGIN"), tableMap(1, "t"), writeRows(1, [gno]), xid()].map((event) => file.add(event));

test("positions go on beyond 4 GiB", () => {
  const file = new File(2 ** 32 - 60);
  const feed = new Feed(2 ** 32 - 60).push(fde(), ...transaction(file, 1), ...transaction(file, 2));
  expect(feed.transactions.map(({ start, end }) => [start.position, end.position])).toEqual([
    [2 ** 32 - 60, 2 ** 32 - 60 + (feed.transactions[0]?.bytes ?? 0)],
    [2 ** 32 - 60 + (feed.transactions[0]?.bytes ?? 0), file.position],
  ]);
  expect(file.position).toBeGreaterThan(2 ** 32);
});

test("positions that MariaDB 11.4 leaves out inside groups are counted", () => {
  const file = new File(4);
  const events = [makeEvent(162, [le(8, 9), le(4, 0), 4, Buffer.alloc(6)]), tableMap(1, "t"), writeRows(1, [1]), xid()];
  for (const event of events) file.add(event);
  for (const event of events.slice(1, -1)) event.writeUInt32LE(0, 13);
  const feed = new Feed().push(makeFormatDescription("11.8.2-MariaDB-log"), ...events);
  expect(feed.transactions[0]).toMatchObject({
    id: { kind: "mariadb", domainId: 0, serverId: 1, sequence: 9n },
    start: { position: 4 },
    end: { position: file.position },
  });
});

test("a skipped part of the source's file moves the next transaction's start", () => {
  const file = new File(5_000);
  const feed = new Feed(4).push(fde(), ...transaction(file, 1));
  expect(feed.transactions[0]?.start.position).toBe(5_000);
});

test("rotations, artificial and real, name the file from then on", () => {
  const file = new File(300);
  const feed = new Feed().push(fde(), artificialRotate("bin.000007", 300), ...transaction(file, 1));
  feed.push(file.add(rotate("bin.000008", 4)));
  expect(feed.assembler.source).toEqual({ file: "bin.000008", position: 4 });
  feed.push(artificialRotate("bin.000008", 4), fde(), ...transaction(new File(4), 2));
  expect(feed.transactions.map(({ start }) => `${start.file}:${start.position}`)).toEqual([
    "bin.000007:300",
    "bin.000008:4",
  ]);
});

test("a transaction that the source's crash cut is dropped and noted", () => {
  const file = new File(4);
  const cut = transaction(file, 1).slice(0, 4);
  const feed = new Feed().push(fde(), ...cut);
  expect(feed.assembler.atBoundary).toBe(false);
  expect(feed.assembler.partialBytes).toBe(cut.reduce((sum, { length }) => sum + length, 0));
  feed.push(artificialRotate("bin.000002", 4), fde());
  expect(feed.assembler).toMatchObject({ atBoundary: true, cutTransactions: 1, partialBytes: 0 });
  feed.push(...transaction(new File(4), 1));
  expect(feed.transactions).toHaveLength(1);
  expect(feed.transactions[0]).toMatchObject({ ordinal: 1, rows: 1, start: { file: "bin.000002", position: 4 } });
});

test("a transaction that comes again after a lost connection comes out once", () => {
  const file = new File(4);
  const whole = transaction(file, 1);
  const feed = new Feed().push(fde(), ...whole.slice(0, 3), artificialRotate("bin.000001", 4), fde(), ...whole);
  expect(feed.transactions.map(({ start, end, rows }) => [start.position, end.position, rows])).toEqual([
    [4, file.position, 1],
  ]);
});

test("without GTIDs a transaction begins at BEGIN, or at the first event of a lone statement's context", () => {
  const file = new File(4);
  const events = [
    [makeQuery("BEGIN"), makeQuery("INSERT INTO t VALUES(1)"), makeQuery("COMMIT")],
    [makeEvent(5, [2, le(8, 7)]), makeQuery("INSERT INTO t VALUES(NULL)")],
    [makeQuery("CREATE TABLE t(a INT)")],
    [makeQuery("BEGIN"), tableMap(1, "t"), writeRows(1, [1]), makeQuery("COMMIT")],
    [makeQuery("BEGIN"), tableMap(1, "t"), writeRows(1, [1]), makeQuery("ROLLBACK")],
    [makeQuery("BEGIN"), makeQuery("COMMIT")],
    [makeQuery("BEGIN"), makeQuery("SAVEPOINT a"), tableMap(1, "t"), writeRows(1, [1]), xid()],
  ].map((some) => some.map((event) => file.add(event)));
  const feed = new Feed().push(fde(), ...events.flat());
  expect(feed.kinds).toEqual(["mixed", "ddl", "ddl", "rows", "mixed", "empty", "rows"]);
  expect(feed.transactions.map(({ ending }) => ending)).toEqual([
    "commit",
    "implicit",
    "implicit",
    "commit",
    "rollback",
    "commit",
    "commit",
  ]);
  expect(feed.transactions.map(({ start }) => start.position)).toEqual(
    events.map(([first]) => (first as Buffer).readUInt32LE(13) - (first as Buffer).length),
  );
  expect(feed.transactions.every(({ id }) => id.kind === "anonymous")).toBe(true);
  const last = feed.transactions.at(-1)?.body;
  expect(last !== undefined && "events" in last && last.events).toHaveLength(2);
});

test("a row event that only ends a statement gives its mark to the one before it", () => {
  const file = new File(4);
  const rows = [tableMap(1, "t"), writeRows(1, [1, 2], 0), writeRows(0xff_ff_ff, [], 1)];
  const feed = new Feed().push(fde(), ...[gtid(1), makeQuery("BEGIN"), ...rows, xid()].map((event) => file.add(event)));
  const body = feed.transactions[0]?.body;
  const events = body !== undefined && "events" in body ? [...body.events] : [];
  expect(events.map(({ length }) => length)).toEqual(rows.slice(0, 2).map(({ length }) => length));
  expect((events[1] as Buffer).readUInt16LE(25)).toBe(1);
  // The relay log's own bytes are left alone.
  expect((rows[1] as Buffer).readUInt16LE(25)).toBe(0);
});

test("table maps that no rows follow are left out", () => {
  const file = new File(4);
  const rows = [tableMap(2, "unused"), tableMap(1, "t"), writeRows(1, [1]), tableMap(2, "unused")];
  const feed = new Feed().push(fde(), ...[gtid(1), makeQuery("BEGIN"), ...rows, xid()].map((event) => file.add(event)));
  const body = feed.transactions[0]?.body;
  expect(body !== undefined && "events" in body && [...body.events]).toEqual(rows.slice(0, 3));
  expect([...(feed.transactions[0]?.tables ?? [])]).toEqual(["d.unused", "d.t"]);
});

test("a commit's time is the source's: from the GTID, or whole seconds and what a statement took", () => {
  const file = new File(4);
  const slow = makeQuery("ALTER TABLE t ADD a INT");
  slow.writeUInt32LE(30, 23);
  const feed = new Feed().push(fde(), file.add(slow), ...transaction(file, 1));
  expect(feed.transactions.map(({ committedAtUs }) => committedAtUs)).toEqual([
    1_700_000_030_000_000, 1_700_000_000_000_000,
  ]);
});

test("an error says where in the source it is", () => {
  const file = new File(1_000);
  const feed = new Feed(1_000).push(fde(), ...transaction(file, 1));
  const before = file.position;
  const wrong = [xid(), writeRows(9, [1]), makeEvent(99, []), makeEvent(26, [le(2, 1), 0])];
  const codes = wrong.map((event) => {
    try {
      feed.push(event);
    } catch (error) {
      if (error instanceof ReplicationError) {
        expect(error.where).toMatchObject({ file: "bin.000001" });
        expect(error.where.position).toBeGreaterThanOrEqual(before);
        return error.code;
      }
    }
    return "none";
  });
  expect(codes).toEqual(["GRAMMAR", "GRAMMAR", "UNKNOWN_EVENT", "INCIDENT"]);
});

test("unknown events that may be left out are counted, annotations are not", () => {
  const file = new File(4);
  const events = transaction(file, 1);
  events.splice(2, 0, makeEvent(99, [], { flags: 0x80 }), makeEvent(29, [5, "SELECT"]));
  const feed = new Feed().push(fde(), ...events);
  expect(feed.kinds).toEqual(["rows"]);
  expect(feed.assembler.ignoredEvents).toBe(1);
});
