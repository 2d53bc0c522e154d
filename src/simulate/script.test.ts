import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { playSimulation } from "./script.fixture.ts";

const FOLDER = new URL("testdata/", import.meta.url);

test.each(readdirSync(FOLDER).filter((name) => name.endsWith(".txt")))("%s happens as it is told", async (name) => {
  const file = new URL(name, FOLDER);
  await expect(playSimulation(readFileSync(file, "utf8"))).toMatchFileSnapshot(file.pathname);
});
