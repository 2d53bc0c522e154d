import fc from "fast-check";
import { expect, test } from "vitest";
import { appendChecksum } from "../binlog/checksum.ts";
import { EventList, EventListBuilder } from "./event-list.ts";

/** An event of this many bytes, all but its length field the same. */
function eventOf(bytes: number, filling: number): Buffer {
  const event = Buffer.alloc(bytes, filling);
  event.writeUInt32LE(bytes, 9);
  return event;
}

const sizes = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: 19, max: 400 }) },
  { weight: 1, arbitrary: fc.integer({ min: 19, max: 100_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(32_768, 32_769, 262_144, 262_145, 700_000) },
);

test("lists hold copies of their events without checksum, whatever comes after them", () => {
  const lists = fc.array(
    fc.record({
      events: fc.array(fc.record({ size: sizes, filling: fc.nat(255) }), { maxLength: 12 }),
      hasChecksum: fc.boolean(),
      end: fc.constantFrom("take", "clear", "all but last"),
    }),
    { maxLength: 30 },
  );
  fc.assert(
    fc.property(lists, (wanted) => {
      const builder = new EventListBuilder();
      const taken: { list: EventList; events: Buffer[] }[] = [];
      let held: Buffer[] = [];
      for (const { events, hasChecksum, end } of wanted) {
        for (const { size, filling } of events) {
          const plain = eventOf(size, filling);
          held.push(plain);
          if (hasChecksum) builder.append(appendChecksum(plain), 4);
          else builder.append(plain, 0);
        }
        expect(builder.length).toBe(held.length);
        expect(builder.last?.length).toBe(held.at(-1)?.length);
        if (end === "clear") {
          builder.clear();
          held = [];
          continue;
        }
        const last = end === "take" ? undefined : held.pop();
        taken.push({ list: end === "take" ? builder.take() : builder.takeAllButLast(), events: held });
        held = last === undefined ? [] : [last];
      }
      for (const { list, events } of taken) {
        expect(list.length).toBe(events.length);
        expect(list.byteLength).toBe(events.reduce((sum, event) => sum + event.length, 0));
        expect([...list].every((event, i) => event.equals(events[i] as Buffer))).toBe(true);
      }
    }),
    { numRuns: 60 },
  );
});

test("a list keeps no more memory than a slab that it shares, or a third more than it needs", () => {
  const builder = new EventListBuilder();
  for (const count of [1, 200, 1000, 5000, 30_000, 3]) {
    for (let i = 0; i < count; i++) builder.append(eventOf(150, 1), 0);
    const list = builder.take();
    const memory = ([...list][0] as Buffer).buffer.byteLength;
    expect(memory).toBeLessThanOrEqual(Math.max(256 << 10, (list.byteLength * 4) / 3));
  }
});

test("the last event can be changed until it is taken", () => {
  const builder = new EventListBuilder();
  builder.append(eventOf(20, 1), 0);
  builder.append(eventOf(30, 1), 0);
  builder.last?.writeUInt8(7, 29);
  const first = builder.takeAllButLast();
  builder.last?.writeUInt8(8, 28);
  expect([...first, ...builder.take()].map((event) => event.at(-1))).toEqual([1, 7]);
  expect([...EventList.of([eventOf(20, 3), eventOf(21, 4)]).without(new Set([0]))]).toEqual([eventOf(21, 4)]);
});
