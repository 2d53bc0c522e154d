import { expect, test } from "vitest";
import { Fold } from "../../src/inspect/keys/fold.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { Session } from "../../src/wire/session.ts";

/** Latin, Greek, Cyrillic, Hebrew, Arabic, kana, Han, Hangul, accented letters, punctuation, letters of full and half width. */
const RANGES = [
  [0x1, 0x17f],
  [0x386, 0x481],
  [0x48a, 0x52f],
  [0x5d0, 0x5ea],
  [0x620, 0x6d4],
  [0x1e00, 0x1ef9],
  [0x1f00, 0x1ffe],
  [0x2000, 0x205f],
  [0x3041, 0x30fc],
  [0x4e00, 0x9eff],
  [0xac00, 0xd7a3],
  [0xff01, 0xffed],
  [0x1f600, 0x1f640],
  [0x1d400, 0x1d430],
  [0x20000, 0x20040],
] as const;

function textsFor(charset: string): string[] {
  const isOneByte = charset === "latin1";
  const ranges = isOneByte
    ? ([
        [0x1, 0x7f],
        [0xa1, 0xff],
      ] as const)
    : RANGES;
  const characters = ranges.flatMap(([from, to]) =>
    Array.from({ length: to - from + 1 }, (_, i) => String.fromCodePoint(from + i)),
  );
  const letters = Array.from({ length: 26 }, (_, i) => String.fromCharCode(97 + i));
  return ["", ...characters, ...letters.flatMap((a) => letters.map((b) => a + b))];
}

/** `level`: of MariaDB the first alone tells what its comparison looks at. */
export function testFolds(
  server: () => SandboxServer,
  collations: readonly string[],
  { level = "" }: { level?: string } = {},
): void {
  test.each(collations)("what %s calls equal is folded to one text, and little else is", async (collation) => {
    const charset = collation.split("_")[0] ?? "";
    const fold = new Fold(collation);
    const foldsOf = new Map<string, Set<string>>();
    const all = new Set<string>();
    const session = await Session.connect(server().address);
    try {
      const texts = textsFor(charset);
      for (let at = 0; at < texts.length; at += 500) {
        const batch = texts.slice(at, at + 500);
        const columns = batch.map((text) => {
          const converted = `CONVERT(CONVERT(X'${Buffer.from(text).toString("hex")}' USING utf8mb4) USING ${charset})`;
          return `WEIGHT_STRING(${converted} COLLATE ${collation}${level})`;
        });
        const results = await session.execute(`SELECT ${columns.join(",")}`, { binary: true });
        for (const [index, text] of batch.entries()) {
          const weight = results[0]?.rows[0]?.[index]?.toString("hex") ?? "";
          const folded = fold.of(text);
          const folds = foldsOf.get(weight) ?? new Set();
          foldsOf.set(weight, folds.add(folded));
          all.add(folded);
        }
      }
    } finally {
      await session.close();
    }
    expect([...foldsOf.values()].filter((folds) => folds.size > 1).map((folds) => [...folds])).toEqual([]);
    expect(all.size).toBeGreaterThan(0.5 * foldsOf.size);
  });
}
