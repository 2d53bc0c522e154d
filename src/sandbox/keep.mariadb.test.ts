import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { build } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { identifyProcess } from "./process.ts";

/** A program that starts a server, tells its pid and folder, and then does what its argument says. */
const PROGRAM = `
import { startServer } from ${JSON.stringify(join(import.meta.dirname, "start.ts"))};
const server = await startServer({ flavour: "mariadb-10.11" });
console.log(JSON.stringify({ pid: server.pid, runFolder: server.runFolder }));
const act = {
  return: () => {},
  exit: () => process.exit(5),
  throw: () => { throw new Error("on purpose"); },
  wait: () => setInterval(() => {}, 1000),
  handle: () => {
    setInterval(() => {}, 1000);
    process.once("SIGTERM", async () => {
      console.log("server " + (server.isRunning() ? "up" : "gone"));
      await server.stop({ keepData: true });
      process.exit(6);
    });
  },
};
act[process.argv[2]]();
`;

let folder: string;
let program: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "abreast-test-"));
  const entry = join(folder, "program.ts");
  await writeFile(entry, PROGRAM);
  // Node 20 runs no TypeScript.
  await build({
    logLevel: "error",
    configFile: false,
    root: folder,
    build: {
      ssr: entry,
      outDir: join(folder, "out"),
      target: "node20",
      rollupOptions: { external: [/^mysql2/], output: { entryFileNames: "program.mjs" } },
    },
  });
  await symlink(join(import.meta.dirname, "..", "..", "node_modules"), join(folder, "node_modules"));
  program = join(folder, "out", "program.mjs");
});

afterAll(async () => {
  await rm(folder, { recursive: true });
});

interface Started {
  child: ChildProcess;
  /** Everything that the program prints after its first line. */
  lines: string[];
  serverPid: number;
  runFolder: string;
}

async function start(act: string): Promise<Started> {
  const child = spawn(process.execPath, [program, act], { stdio: ["ignore", "pipe", "pipe"] });
  let errors = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (errors += text));
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on("line", (line) => lines.push(line));
  await expect
    .poll(() => (lines.length > 0 || child.exitCode !== null ? "told" : "silent"), { timeout: 50_000 })
    .toBe("told");
  const first = lines.shift();
  if (first === undefined) throw new Error(`the program ended before its server ran: ${errors}`);
  const { pid, runFolder } = JSON.parse(first) as { pid: number; runFolder: string };
  return { child, lines, serverPid: pid, runFolder };
}

async function ended(child: ChildProcess): Promise<number | string | null> {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  return child.exitCode ?? child.signalCode;
}

test.each([
  ["return", 0],
  ["exit", 5],
  ["throw", 1],
] as const)("a server ends with a program that ends by %s, and its files are gone", async (act, code) => {
  const { child, serverPid, runFolder } = await start(act);
  expect(await ended(child)).toBe(code);
  await expect.poll(() => identifyProcess(serverPid)).toBeUndefined();
  expect(existsSync(runFolder)).toBe(false);
});

test.each(["SIGINT", "SIGTERM", "SIGHUP"] as const)("a server ends with a program that %s ends", async (signal) => {
  const { child, serverPid, runFolder } = await start("wait");
  child.kill(signal);
  expect(await ended(child)).toBe(signal);
  await expect.poll(() => identifyProcess(serverPid)).toBeUndefined();
  expect(existsSync(runFolder)).toBe(false);
});

test("a program that handles a signal itself still has its server, and may stop it in its own time", async () => {
  const { child, lines, serverPid } = await start("handle");
  child.kill("SIGTERM");
  expect(await ended(child)).toBe(6);
  expect(lines).toEqual(["server up"]);
  expect(identifyProcess(serverPid)).toBeUndefined();
});

test("a server ends with a program that is killed, and the next start removes what it left", async () => {
  const { child, serverPid, runFolder } = await start("wait");
  child.kill("SIGKILL");
  await ended(child);
  await expect.poll(() => identifyProcess(serverPid), { timeout: 20_000 }).toBeUndefined();
  const next = await start("return");
  await ended(next.child);
  expect(existsSync(runFolder)).toBe(false);
});
