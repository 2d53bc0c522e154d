import { describe, expect, test } from "vitest";
import { Alphabet } from "./alphabet.ts";

/** Lower case, two bytes a character; `ch` is a letter of its own. */
const contracting = (text: Buffer): Buffer =>
  Buffer.from(text.toString().toLowerCase().replaceAll("ch", "\uf000"), "utf16le").swap16();

/** Two levels: letters without case, then case; nothing else on the second. */
function levelled(text: Buffer): Buffer {
  const characters = Array.from(text.toString());
  const first = Buffer.from(characters.join("").toLowerCase().replaceAll("\0", ""), "utf16le").swap16();
  const second = characters.map((character) => Buffer.of(0, character === character.toLowerCase() ? 1 : 2));
  return Buffer.concat([first, Buffer.of(0, 0), ...second]);
}

async function learned(weightOf: (text: Buffer) => Buffer | null, pages: readonly number[] = [0]): Promise<Alphabet> {
  const alphabet = new Alphabet("utf8");
  for (const page of pages) await alphabet.learn(page, async (texts) => texts.map(weightOf));
  return alphabet;
}

const contracted = learned(contracting);
const withLevels = learned(levelled);

function write(alphabet: Alphabet, text: string): Buffer | undefined {
  const bytes = Buffer.from(text);
  const out = Buffer.alloc(alphabet.room(bytes.length));
  const end = alphabet.write(bytes, 0, bytes.length, out, 0);
  return end < 0 ? undefined : out.subarray(0, end);
}

describe("the weights of a text are put together from those of its characters", () => {
  test.each(["", "Abc", "hc", "c h", "hello", "xC"])("%j", async (text) => {
    expect(write(await contracted, text)).toEqual(contracting(Buffer.from(text)));
  });

  test.each(["Abc", "x", "", "A\0b"])("level by level: %j", async (text) => {
    expect(write(await withLevels, text)).toEqual(levelled(Buffer.from(text)));
  });

  test("from several pages, once they are learned", async () => {
    const alphabet = await learned(contracting, [0, 2, 1]);
    expect(write(alphabet, "Příliš žluťoučký")).toEqual(contracting(Buffer.from("Příliš žluťoučký")));
  });
});

describe("it does not answer for", () => {
  test.each(["ch", "Chuze", "aCHa"])("a contraction: %j", async (text) => {
    expect(write(await contracted, text)).toBeUndefined();
  });

  test("what is on a page not learned, and says which; or on none", async () => {
    const alphabet = await contracted;
    const missing = (text: string): number => alphabet.missingPage(Buffer.from(text), 0, Buffer.byteLength(text));
    expect([write(alphabet, "é"), write(alphabet, "日")]).toEqual([undefined, undefined]);
    expect(["abc", "é", "éž", "日", "é日"].map(missing)).toEqual([-1, 1, 2, -1, -1]);
  });

  test("anything where characters do not keep their weights, or have none", async () => {
    const reversed = (text: Buffer): Buffer => Buffer.from(Array.from(text).toReversed());
    expect(write(await learned(reversed), "ab")).toBeUndefined();
    const alphabet = await learned(() => null);
    expect([write(alphabet, "ab"), alphabet.space]).toEqual([undefined, undefined]);
    await alphabet.learn(1, async (texts) => texts.map(contracting));
    expect(write(alphabet, "é")).toBeUndefined();
  });
});

test("a space's weight is known where it is the same behind every character", async () => {
  expect((await contracted).space).toEqual(Buffer.of(0, 0x20));
  expect((await withLevels).space).toBeUndefined();
});
