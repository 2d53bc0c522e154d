// `node scripts/fuzz.mjs --seconds N --seed S`: gives damaged binlogs to everything that reads binlogs. What one of them does not survive (an error that is not for
// operators, more than 10 seconds, more than 500 MB) is kept in test/fuzz-seeds, where a test reads it again.
//   node scripts/fuzz.mjs [--seconds 60] [--seed N] [--from 0] [--readers transactions,inspect] [--dry]
// Real files to damage are made by local servers once, and kept in the user's cache. Progress on standard error, one line of JSON at the end; exit code 1 with finds.
import { fork } from "node:child_process";
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseArgs } from "node:util";
import { prepare, root, say } from "./prepare.mjs";

const HANG_MS = 10_000;
const RESIDENT_BYTES_MAX = 500e6;
/** Of V8's own heap: what is above ends the process, which is a find too. */
const HEAP_MB_MAX = 350;
const TOLD_EVERY_MS = 30_000;

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "60" },
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    from: { type: "string", default: "0" },
    readers: { type: "string" },
    dry: { type: "boolean", default: false },
    child: { type: "boolean", default: false },
  },
});
const seed = Number(options.seed);

// The helpers are TypeScript, shared with the tests; Node 20 runs none, so vite reads them, as it does for vitest. What is imported late needs it still there.
async function helpers() {
  const { createServer, createServerModuleRunner } = await import("vite");
  const server = await createServer({
    root,
    configFile: false,
    logLevel: "error",
    appType: "custom",
    optimizeDeps: { noDiscovery: true },
    server: { middlewareMode: true, hmr: false, ws: false, watch: null },
  });
  const runner = createServerModuleRunner(server.environments.ssr, { hmr: false });
  const load = (name) => runner.import(path.join(root, "test/helpers", name));
  return { fuzz: await load("inspect-fuzz.ts"), ...(await load("inspect-readers.ts")) };
}

/** Finds of this child, so that each is made small and kept once. */
const known = new Set();

if (options.child) await runCases();
else await watch();

async function corporaOf(fuzz) {
  const collected = fuzz.collectedCorpus();
  return [await fuzz.ownCorpus(), ...(collected === undefined ? [] : [collected])];
}

/** The child: case after case, each told before it begins. */
async function runCases() {
  const { fuzz, READERS } = await helpers();
  const corpora = await corporaOf(fuzz);
  const names = options.readers?.split(",") ?? Object.keys(READERS);
  for (let index = Number(options.from); ; index++) {
    await tell({ index, reader: "" });
    const { corpus, file } = fuzz.damagedFile(corpora, seed, index);
    for (const reader of names) {
      await tell({ index, reader });
      const read = READERS[reader];
      const error = await fuzz.failureOf(read, file);
      if (error !== undefined) await find(fuzz, { corpus, file, index, reader, read, error });
    }
    // The peak so far, so that a reader which takes much and gives it back is seen too.
    if (process.resourceUsage().maxRSS * 1024 > RESIDENT_BYTES_MAX) {
      await tell({ index, reader: names.join(","), grown: process.resourceUsage().maxRSS * 1024 });
      process.exit(0);
    }
  }
}

async function find(fuzz, what) {
  const { reader, error, index } = what;
  if (known.has(`${reader} ${error}`)) return tell({ again: error });
  known.add(`${reader} ${error}`);
  const kept = options.dry ? "not kept" : path.relative(root, await fuzz.keepFind({ ...what, seed }));
  await tell({ find: error, reader, index, kept });
}

/** What ended the child is kept by its parent. */
async function keepLost({ reader, index, error }) {
  if (options.dry) return;
  const { fuzz } = await helpers();
  const { corpus, file } = fuzz.damagedFile(await corporaOf(fuzz), seed, index);
  const kept = await fuzz.keepFind({ corpus, file, seed, index, reader, read: undefined, error });
  say(`fuzz: kept in ${path.relative(root, kept)}`);
}

function tell(message) {
  return new Promise((resolve) => process.send(message, resolve));
}

/** The parent: starts children, and ends those that hang. */
async function watch() {
  await prepare({ build: false });
  const end = Date.now() + Number(options.seconds) * 1000;
  const totals = { seed, cases: 0, finds: [] };
  let from = Number(options.from);
  let toldAtMs = Date.now();
  while (Date.now() < end) {
    const last = await child(from, end, totals, (index) => {
      totals.cases++;
      if (Date.now() - toldAtMs < TOLD_EVERY_MS) return;
      toldAtMs = Date.now();
      say(`fuzz: seed ${seed}, file ${index}, ${totals.finds.length} finds`);
    });
    if (last < from && Date.now() < end) {
      say("fuzz: no file could be read");
      process.exit(2);
    }
    from = last + 1;
  }
  process.stdout.write(`${JSON.stringify({ ...totals, next: from })}\n`);
  process.exit(totals.finds.length === 0 ? 0 : 1);
}

/** @returns the last case it began */
function child(from, end, totals, onCase) {
  const args = ["--child", `--seed=${seed}`, `--from=${from}`, ...(options.dry ? ["--dry"] : [])];
  if (options.readers !== undefined) args.push(`--readers=${options.readers}`);
  const reading = fork(path.join(root, "scripts/fuzz.mjs"), args, {
    execArgv: [`--max-old-space-size=${HEAP_MB_MAX}`],
  });
  let at = { index: from - 1, reader: "" };
  let beganCpuMs = 0;
  let ending = false;
  let lost;
  const found = (what) => {
    totals.finds.push(what);
    say(`fuzz: ${JSON.stringify(what)}`);
  };
  reading.on("message", (message) => {
    if (message.find !== undefined || message.grown !== undefined) found(message);
    if (message.grown !== undefined) lost = { ...message, error: "takes more than 500 MB" };
    if (message.index === undefined) return;
    if (message.index > at.index) onCase(message.index);
    at = message;
    beganCpuMs = cpuMs(reading.pid);
  });
  const timer = setInterval(() => {
    // By its own time on the processor: others may keep it waiting.
    if (at.index >= from && cpuMs(reading.pid) - beganCpuMs > HANG_MS) {
      found({ hang: at.reader, index: at.index, seed });
      lost = { ...at, error: `does not come back, file ${seed}/${at.index}` };
      ending = true;
      reading.kill("SIGKILL");
    } else if (Date.now() > end) {
      ending = true;
      reading.kill("SIGKILL");
    }
  }, 500);
  return new Promise((resolve) => {
    reading.once("exit", (code, signal) => {
      clearInterval(timer);
      if (!ending && code !== 0) {
        found({ died: signal ?? code, reader: at.reader, index: at.index, seed });
        lost = { ...at, error: `ends the process with ${signal ?? code}, file ${seed}/${at.index}` };
      }
      const kept = lost === undefined || at.reader === "" ? Promise.resolve() : keepLost(lost);
      kept.then(
        () => resolve(at.index),
        (error) => {
          say(`fuzz: not kept: ${error.message}`);
          resolve(at.index);
        },
      );
    });
  });
}

/** Ticks are 10 ms on Linux (proc(5), utime and stime). */
function cpuMs(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return (Number(fields[11]) + Number(fields[12])) * 10;
  } catch {
    return 0;
  }
}
