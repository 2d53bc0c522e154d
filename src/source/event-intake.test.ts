import { expect, test } from "vitest";
import { le, makeEvent, makeFormatDescription, makeQuery } from "../../test/helpers/binlog-event.ts";
import { appendChecksum } from "../binlog/checksum.ts";
import { EVENT_FLAG, eventType } from "../binlog/event.ts";
import { EVENT_TYPE } from "../binlog/event-type.ts";
import { EventIntake, type IntakeOptions } from "./event-intake.ts";

const GIB_4 = 2 ** 32;

function rotate(file: string, position: number, header: { artificial: boolean; endPosition?: number }): Buffer {
  return makeEvent(EVENT_TYPE.ROTATE, [le(8, position), file], {
    timestamp: header.artificial ? 0 : 1_700_000_000,
    flags: header.artificial ? EVENT_FLAG.ARTIFICIAL : 0,
    endPosition: header.endPosition ?? 0,
  });
}

/** An anonymous transaction of three events that ends at `end`. */
function transaction(end: number): Buffer[] {
  return [
    makeEvent(EVENT_TYPE.ANONYMOUS_GTID, [Buffer.alloc(42)], { endPosition: (end - 300) % GIB_4 }),
    withEnd(makeQuery("BEGIN"), (end - 200) % GIB_4),
    makeEvent(EVENT_TYPE.XID, [le(8, 1)], { endPosition: end % GIB_4 }),
  ];
}

function withEnd(event: Buffer, endPosition: number): Buffer {
  event.writeUInt32LE(endPosition, 13);
  return event;
}

interface Kept {
  type: number;
  sourceEnd: number;
  boundary: string;
}

function take(
  events: readonly Buffer[],
  options: Partial<IntakeOptions> = {},
): { kept: Kept[]; intake: EventIntake; rotates: number[] } {
  const kept: Kept[] = [];
  const rotates: number[] = [];
  const intake = new EventIntake(
    "8.0.40",
    {
      keep: (event, sourceEnd, boundary) => {
        kept.push({ type: eventType(event), sourceEnd, boundary });
        if (eventType(event) === EVENT_TYPE.ROTATE) rotates.push(Number(event.readBigUInt64LE(19)));
      },
      heartbeat: () => {},
    },
    { verifyChecksums: true, ...options },
  );
  for (const event of events) intake.take(event);
  return { kept, intake, rotates };
}

const BEGIN = [rotate("binlog.000007", 4, { artificial: true }), withEnd(makeFormatDescription("8.0.40"), 126)];

test("position, boundaries and files follow the stream; artificial events move nothing", () => {
  const { kept, intake } = take([
    ...BEGIN,
    ...transaction(1000),
    rotate("binlog.000008", 4, { artificial: false, endPosition: 1044 }),
    rotate("binlog.000008", 4, { artificial: true }),
    withEnd(makeFormatDescription("8.0.40"), 126),
    ...transaction(600),
  ]);
  expect(kept.map(({ sourceEnd }) => sourceEnd)).toEqual([4, 126, 700, 800, 1000, 1044, 4, 126, 300, 400, 600]);
  expect(kept.filter(({ boundary }) => boundary === "end").map(({ sourceEnd }) => sourceEnd)).toEqual([1000, 600]);
  expect(intake.position).toEqual({ file: "binlog.000008", position: 600 });
  expect(intake.transactions).toBe(2);
});

test("positions go on past 4 GiB although headers hold 32 bits", () => {
  const { kept } = take([
    ...BEGIN,
    ...transaction(GIB_4 - 1000),
    ...transaction(GIB_4 + 50),
    ...transaction(GIB_4 + 900),
  ]);
  expect(kept.filter(({ boundary }) => boundary === "end").map(({ sourceEnd }) => sourceEnd)).toEqual([
    GIB_4 - 1000,
    GIB_4 + 50,
    GIB_4 + 900,
  ]);
});

test("a start above 4 GiB is asked for from the file's beginning: what comes before it is dropped, and the relay log never sees it", () => {
  const start = GIB_4 + 50;
  const { kept, rotates, intake } = take(
    [...BEGIN, ...transaction(GIB_4 - 1000), ...transaction(start), ...transaction(start + 900)],
    { keepFrom: start },
  );
  expect(kept.map(({ type }) => type)).toEqual([
    EVENT_TYPE.ROTATE,
    EVENT_TYPE.FORMAT_DESCRIPTION,
    EVENT_TYPE.ANONYMOUS_GTID,
    EVENT_TYPE.QUERY,
    EVENT_TYPE.XID,
  ]);
  expect(rotates).toEqual([start]);
  expect(kept.map(({ sourceEnd }) => sourceEnd)).toEqual([start, start, start + 600, start + 700, start + 900]);
  expect(intake.transactions).toBe(1);
});

test("a start above 4 GiB where no event begins, or beyond the file's end, is POSITION_NOT_FOUND", () => {
  const stream = [...BEGIN, ...transaction(GIB_4 - 1000), ...transaction(GIB_4 + 50)];
  expect(() => take([...stream, ...transaction(GIB_4 + 2000)], { keepFrom: GIB_4 + 60 })).toThrow(
    expect.objectContaining({ code: "POSITION_NOT_FOUND", where: { file: "binlog.000007", position: GIB_4 + 60 } }),
  );
  const next = rotate("binlog.000008", 4, { artificial: false, endPosition: 94 });
  expect(() => take([...stream, next], { keepFrom: GIB_4 + 5000 })).toThrow(
    expect.objectContaining({ code: "POSITION_NOT_FOUND" }),
  );
});

test("a start at the very end of a file above 4 GiB goes on in the next file", () => {
  const end = GIB_4 + 50;
  const { kept, intake } = take(
    [
      ...BEGIN,
      ...transaction(GIB_4 - 1000),
      ...transaction(end),
      rotate("binlog.000008", 4, { artificial: false, endPosition: 94 }),
      rotate("binlog.000008", 4, { artificial: true }),
      withEnd(makeFormatDescription("8.0.40"), 126),
      ...transaction(600),
    ],
    { keepFrom: end },
  );
  expect(kept.map(({ sourceEnd }) => sourceEnd)).toEqual([end, end, end + 44, 4, 126, 300, 400, 600]);
  expect(intake.position).toEqual({ file: "binlog.000008", position: 600 });
});

test("an artificial Rotate tells by itself whether it has a checksum", () => {
  for (const first of [BEGIN[0] as Buffer, appendChecksum(BEGIN[0] as Buffer)]) {
    expect(take([first]).intake.position).toEqual({ file: "binlog.000007", position: 4 });
  }
});

test("an event whose length is not what its header tells is CORRUPT_EVENT", () => {
  const [gtid] = transaction(1000);
  expect(() => take([...BEGIN, (gtid as Buffer).subarray(0, 40)])).toThrow(
    expect.objectContaining({ code: "CORRUPT_EVENT" }),
  );
});

test("a stream that begins without naming its file is refused", () => {
  expect(() => take([BEGIN[1] as Buffer])).toThrow(expect.objectContaining({ code: "GRAMMAR" }));
});

test("a first transaction without its GTID event is the tail of one; a 5.6 source has none and is believed", () => {
  const [, begin, xid] = transaction(1000);
  const tail = [begin as Buffer, xid as Buffer];
  expect(() => take([...BEGIN, ...tail])).toThrow(expect.objectContaining({ code: "GRAMMAR" }));
  const old = [BEGIN[0] as Buffer, withEnd(makeFormatDescription("5.6.51"), 126)];
  expect(take([...old, ...tail]).intake.transactions).toBe(1);
});
