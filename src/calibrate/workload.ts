import { deleteRows, insertRows, type Row, updateRows } from "./events.ts";
import { ROWS } from "./scratch.ts";

/** Row events for ScratchWorker, which know what is in the table: each changes the rows as those before it have left them. */

const NARROW_TEXT_BYTES = 120;
const WIDE_TEXT_BYTES = 2_000;

const NARROW = "n".repeat(NARROW_TEXT_BYTES);
const WIDE = "w".repeat(WIDE_TEXT_BYTES);

/** An index must be searched to change it: neighbours by id are far apart by k. */
const keyOf = (id: number): number => (id * 7_919) % 100_003;

const row = (id: number, text = NARROW): Row => ({ id, k: keyOf(id), text });

function* ids(first: number, count: number): Generator<number> {
  for (let id = first; id < first + count; id++) yield id;
}

export function* inserts(first: number, count: number, rowsOfRun: number, text: "narrow" | "wide"): Generator<Buffer> {
  for (let at = first; at < first + count; at += rowsOfRun) {
    const rows = [...ids(at, Math.min(rowsOfRun, first + count - at))].map((id) =>
      row(id, text === "wide" ? WIDE : NARROW),
    );
    yield insertRows(ROWS, rows);
  }
}

/** Changes column k of rows that `inserts` made, again and again. */
export function* updates(first: number, count: number, rowsOfRun: number): Generator<Buffer> {
  for (let round = 0; ; round++) {
    for (let at = first; at + rowsOfRun <= first + count; at += rowsOfRun) {
      const images = [...ids(at, rowsOfRun)].flatMap((id) => [
        { ...row(id), k: keyOf(id) + round },
        { ...row(id), k: keyOf(id) + round + 1 },
      ]);
      yield updateRows(ROWS, images);
    }
  }
}

/** Of rows that nobody has changed since. */
export function* deletes(first: number, count: number, rowsOfRun: number): Generator<Buffer> {
  for (let at = first; at + rowsOfRun <= first + count; at += rowsOfRun) {
    yield deleteRows(
      ROWS,
      [...ids(at, rowsOfRun)].map((id) => row(id)),
    );
  }
}
