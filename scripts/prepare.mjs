// Makes a checkout runnable: `npm ci` when node_modules is missing or older than the lock file, `tsc` when a source is newer than the build.
// In an installed package there is no src/ folder and nothing to do. What it does goes to stderr, so that stdout stays the command's own.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

const root = path.dirname(path.dirname(fileURLToPath(import.meta.url)));

export async function prepare() {
  if (!existsSync(path.join(root, "src"))) return;
  const installed = path.join(root, "node_modules", ".package-lock.json");
  if (!existsSync(installed) || modifiedMs(installed) < modifiedMs(path.join(root, "package-lock.json"))) {
    say("installing the packages of package-lock.json (npm ci)");
    run("npm", ["ci", "--no-audit", "--no-fund", "--loglevel=error"]);
  }
  const built = path.join(root, "dist", ".tsbuildinfo");
  if (!existsSync(built) || modifiedMs(built) < newestMs(path.join(root, "src"))) {
    say("building dist/ (tsc)");
    run(process.execPath, [path.join(root, "node_modules/typescript/bin/tsc"), "-p", "tsconfig.build.json"]);
  }
}

export function say(text) {
  process.stderr.write(`abreast: ${text}\n`);
}

export function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ["ignore", 2, 2] });
  if (error) say(`${command} cannot be run: ${error.message}`);
  if (status !== 0) {
    say(`${command} ${args.join(" ")} failed${status === null ? "" : ` with exit code ${status}`}`);
    process.exit(3);
  }
}

function modifiedMs(file) {
  return existsSync(file) ? statSync(file).mtimeMs : 0;
}

function newestMs(folder) {
  let newest = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    newest = Math.max(newest, modifiedMs(path.join(entry.parentPath, entry.name)));
  }
  return newest;
}
