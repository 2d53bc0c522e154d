// Makes a checkout runnable: `npm ci` when node_modules is missing or older than the lock file, `tsc` when a source is newer than the last good build.
// An installed package has no tsconfig.build.json, and there is nothing to do. What it does goes to stderr, so that stdout stays the command's own.
import { spawnSync } from "node:child_process";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));
const lockFile = path.join(root, ".abreast", "prepare.lock");
// tsc rewrites its own .tsbuildinfo also after a build with errors, and leaves it alone when no output changed: neither says "built". This file does.
const stampFile = path.join(root, "dist", ".built");

/** `build: false` only installs: vitest runs the sources themselves. */
export async function prepare({ build: wantsBuild } = { build: true }) {
  if (!existsSync(path.join(root, "tsconfig.build.json"))) return;
  if (!mustInstall() && !(wantsBuild && mustBuild())) return;
  await lock();
  try {
    if (mustInstall()) install();
    if (wantsBuild && mustBuild()) build();
  } finally {
    rmSync(lockFile, { force: true });
  }
}

function mustInstall() {
  // A link leads to the packages of another checkout, which an install would take away from it.
  if (lstatSync(path.join(root, "node_modules"), { throwIfNoEntry: false })?.isSymbolicLink()) return false;
  return (
    modifiedMs(path.join(root, "node_modules", ".package-lock.json")) < modifiedMs(path.join(root, "package-lock.json"))
  );
}

function install() {
  say("installing the packages of package-lock.json (npm ci)");
  run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  // npm keeps the file's time when the packages come from its cache.
  touch(path.join(root, "node_modules", ".package-lock.json"), Date.now());
}

function mustBuild() {
  const sources = ["src", "tsconfig.json", "tsconfig.build.json", "package.json"];
  return modifiedMs(stampFile) < Math.max(...sources.map((source) => newestMs(path.join(root, source))));
}

function build() {
  say("building dist/ (tsc)");
  // A source saved while tsc runs is newer than this, and builds again next time.
  const startedMs = Date.now();
  run(process.execPath, [path.join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json"]);
  writeFileSync(stampFile, "");
  touch(stampFile, startedMs);
}

/** One process installs and builds, others wait for it. A lock whose process is gone (kill -9) is taken over. */
async function lock() {
  mkdirSync(path.dirname(lockFile), { recursive: true });
  for (let told = false; ; told = true) {
    try {
      writeFileSync(lockFile, String(process.pid), { flag: "wx" });
      return;
    } catch (error) {
      if (error.code !== "EEXIST") throw error;
    }
    const holder = lockHolder();
    if (holder === "gone") {
      rmSync(lockFile, { force: true });
      continue;
    }
    if (!told) say(`waiting for process ${holder}, which installs or builds here`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

function lockHolder() {
  try {
    const pid = Number(readFileSync(lockFile, "utf8"));
    // Empty between creating and writing: its process lives.
    if (pid === 0) return modifiedMs(lockFile) < Date.now() - 10_000 ? "gone" : "?";
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    return error.code === "EPERM" ? "?" : "gone";
  }
}

export function say(text) {
  process.stderr.write(`abreast: ${text}\n`);
}

/** Runs a step whose failure ends everything, its output on stderr. */
function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (status === 0) return;
  if (error) say(`${command} cannot be run: ${error.message}`);
  else say(`${path.basename(command)} ${args.join(" ")} failed${status === null ? "" : ` with exit code ${status}`}`);
  rmSync(lockFile, { force: true });
  process.exit(3);
}

function modifiedMs(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function touch(file, ms) {
  if (existsSync(file)) utimesSync(file, ms / 1000, ms / 1000);
}

/** Folders count too: a deleted file changes only its folder. Tests and what only they use are not built. */
function newestMs(place) {
  let newest = modifiedMs(place);
  if (!existsSync(place) || !statSync(place).isDirectory()) return newest;
  for (const entry of readdirSync(place, { withFileTypes: true, recursive: true })) {
    if (/\.(test|fixture)\.ts$/.test(entry.name)) continue;
    newest = Math.max(newest, modifiedMs(path.join(entry.parentPath, entry.name)));
  }
  return newest;
}
