import { EventEmitter, once } from "node:events";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { withLockFile } from "./lock.ts";
import { identifyProcess } from "./process.ts";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "abreast-test-"));
  file = join(folder, "deep", "er", "a.lock");
});

afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

test("holders follow each other, and the second is told that it waits", async () => {
  const steps: string[] = [];
  const gate = new EventEmitter();
  const first = withLockFile(
    file,
    () => steps.push("first waits"),
    async () => {
      steps.push("first in");
      await once(gate, "open");
      steps.push("first out");
    },
  );
  await expect.poll(() => steps).toEqual(["first in"]);
  const second = withLockFile(
    file,
    () => steps.push("second waits"),
    async () => steps.push("second in"),
  );
  await expect.poll(() => steps).toEqual(["first in", "second waits"]);
  gate.emit("open");
  await Promise.all([first, second]);
  expect(steps).toEqual(["first in", "second waits", "first out", "second in"]);
  expect(await readdir(join(folder, "deep", "er"))).toEqual([]);
});

test("the lock of a failed holder is free", async () => {
  await expect(
    withLockFile(
      file,
      () => {},
      () => Promise.reject(new Error("no")),
    ),
  ).rejects.toThrow("no");
  expect(
    await withLockFile(
      file,
      () => {},
      () => Promise.resolve("in"),
    ),
  ).toBe("in");
});

test("the lock of a process that ended is taken away, also when its pid is in use again", async () => {
  const self = identifyProcess(process.pid);
  const stale = join(folder, "stale.lock");
  for (const owner of [
    { pid: 2 ** 22 + 1, startedAt: "boot:1", token: "t" },
    { ...self, startedAt: "boot:1", token: "t" },
  ]) {
    await writeFile(stale, JSON.stringify(owner));
    expect(
      await withLockFile(
        stale,
        () => {},
        () => Promise.resolve("in"),
      ),
    ).toBe("in");
  }
});

test("a lock file whose owner died before writing it is taken away", async () => {
  const empty = join(folder, "empty.lock");
  await writeFile(empty, "");
  await utimes(empty, 0, 0);
  expect(
    await withLockFile(
      empty,
      () => {},
      () => Promise.resolve("in"),
    ),
  ).toBe("in");
});
