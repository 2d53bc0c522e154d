import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { playScript } from "../../test/helpers/scheduler-script.ts";

const FOLDER = new URL("testdata/", import.meta.url);

describe("scripts: ABREAST_REWRITE=1 writes the answers, the diff is the review", () => {
  for (const name of readdirSync(FOLDER)) {
    test(name, () => {
      const script = readFileSync(new URL(name, FOLDER), "utf8");
      const played = playScript(script);
      if (process.env["ABREAST_REWRITE"] === "1") writeFileSync(new URL(name, FOLDER), played);
      else expect(played).toBe(script);
    });
  }
});
