import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect, test } from "vitest";
import { identifyProcess, isRunning, runProgram, signalProcess, waitForEnd } from "./process.ts";

test("a process is recognised by its pid and its start", () => {
  const self = identifyProcess(process.pid);
  expect(self).toBeDefined();
  if (self === undefined) return;
  expect(isRunning(self)).toBe(true);
  expect(isRunning({ ...self, startedAt: `${self.startedAt}1` })).toBe(false);
});

test("a process that got the pid of another one is not signalled", async () => {
  const stranger = spawn("sleep", ["60"], { stdio: "ignore" });
  try {
    const identity = identifyProcess(stranger.pid ?? 0);
    expect(identity).toBeDefined();
    if (identity === undefined) return;
    expect(signalProcess({ ...identity, startedAt: "an earlier boot:17" }, "SIGKILL")).toBe(false);
    expect(isRunning(identity)).toBe(true);
    expect(signalProcess(identity, "SIGTERM")).toBe(true);
    await once(stranger, "exit");
    expect(await waitForEnd(identity, 5_000)).toBe(true);
    expect(signalProcess(identity, "SIGKILL")).toBe(false);
  } finally {
    stranger.kill("SIGKILL");
  }
});

test("a process that has ended and was not waited for counts as ended", async () => {
  // The shell's child ends at once; the shell, which becomes sleep, never asks for it.
  const parent = spawn("sh", ["-c", "true & echo $!; exec sleep 60"], { stdio: ["ignore", "pipe", "ignore"] });
  try {
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const pid = Number(line.toString());
    await expect.poll(() => identifyProcess(pid)).toBeUndefined();
  } finally {
    parent.kill("SIGKILL");
  }
});

test("a program's whole lines are told while it runs, a last line without its end is only in the output", async () => {
  const lines: string[] = [];
  const result = await runProgram("sh", ["-c", "echo one; echo two; printf three; echo no >&2; exit 4"], {
    onLine: (line) => lines.push(line),
  });
  expect(lines).toEqual(["one", "two"]);
  expect(result).toEqual({ exitCode: 4, output: "one\ntwo\nthree", errors: "no\n" });
});
