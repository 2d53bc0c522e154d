import fc from "fast-check";
import { expect, test } from "vitest";
import { memory } from "../../../test/helpers/spill-memory.ts";
import { ReverseSpool } from "./reverse-spool.ts";

const read = (spool: ReverseSpool): string[] => Array.from(spool.backwards(), (bytes) => bytes.toString("latin1"));

test("whatever is appended and cut back comes out last first", () => {
  const step = fc.oneof(
    { weight: 5, arbitrary: fc.tuple(fc.string({ unit: "grapheme-ascii", maxLength: 30 })) },
    { weight: 1, arbitrary: fc.constant("truncate" as const) },
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(), (steps, choice) => {
      const spool = new ReverseSpool(memory);
      const model: { text: string; place: number }[] = [];
      for (const taken of steps) {
        if (taken === "truncate") {
          const kept = model.length === 0 ? 0 : choice % model.length;
          spool.truncate(model[kept]?.place ?? 0);
          model.length = kept;
        } else {
          model.push({ text: taken[0], place: spool.length });
          spool.append(Buffer.from(taken[0], "latin1"));
        }
      }
      expect(read(spool)).toEqual(model.map(({ text }) => text).toReversed());
    }),
  );
});

test("what memory does not hold goes to a file, also in the middle of the cutting back", () => {
  const spool = new ReverseSpool(memory);
  const texts = Array.from({ length: 40 }, (_, i) => String(i).padEnd(i === 20 ? 9_000_000 : 400_000, "."));
  const places = texts.map((text) => {
    const place = spool.length;
    spool.append(Buffer.from(text, "latin1"));
    return place;
  });
  spool.truncate(places[30] ?? 0);
  spool.append(Buffer.from("last"));
  expect(read(spool).map((text) => text.slice(0, 6))).toEqual([
    "last",
    ...texts
      .slice(0, 30)
      .toReversed()
      .map((text) => text.slice(0, 6)),
  ]);
});

test("pieces that are skipped come where they are repeated", () => {
  const spool = new ReverseSpool(memory);
  const append = (text: string): void => spool.append(Buffer.from(text));
  append("first");
  const from = spool.length;
  append("prepared 1");
  append("prepared 2");
  const to = spool.length;
  spool.skip(from);
  append("between");
  spool.repeat(from, to);
  append("last");
  expect(read(spool)).toEqual(["last", "prepared 2", "prepared 1", "between", "first"]);
});
