import { beforeAll, expect, it } from "vitest";
import { collectedCorpus, damagedFile, failureOf, keepFind, ownCorpus, type Corpus } from "./helpers/inspect-fuzz.ts";
import { READERS } from "./helpers/inspect-readers.ts";

/** A taste of scripts/fuzz.mjs, which does this for as long as one likes. */
const SEED = 20_261_130;
const FILES = 150;

let corpora: Corpus[];
beforeAll(async () => {
  const collected = collectedCorpus();
  corpora = [await ownCorpus(), ...(collected === undefined ? [] : [collected])];
});

it("damaged binlogs of all servers do no harm to any reader", async () => {
  for (let index = 0; index < FILES; index++) {
    const { corpus, file } = damagedFile(corpora, SEED, index);
    for (const [reader, read] of Object.entries(READERS)) {
      const error = await failureOf(read, file);
      if (error === undefined) continue;
      const kept = await keepFind({ corpus, file, seed: SEED, index, reader, read, error });
      expect.fail(`${reader}: ${error}; the file is kept in ${kept}`);
    }
  }
});
