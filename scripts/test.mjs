// `npm test`: the static checks, then every test, then one line `N passed, N failed` in which each static check counts as one test.
// `npm test -- src/relay` hands its arguments to vitest. Works in a fresh clone: what is missing is installed first.
// Exit code 1 when anything failed, no test ran, or a suite that needs a real server was skipped. `--summary=FILE` also writes the last line there.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { prepare, root, say } from "./prepare.mjs";

const STATIC_CHECKS = [
  { name: "types (tsc)", package: "typescript", bin: "tsc", args: ["-p", "tsconfig.json"] },
  { name: "lint (oxlint)", package: "oxlint", bin: "oxlint", args: [] },
  { name: "format (oxfmt)", package: "oxfmt", bin: "oxfmt", args: ["--check", "src", "test", "scripts", "bin"] },
  { name: "unused code (knip)", package: "knip", bin: "knip", args: [] },
];

const summaryFlag = "--summary=";
const summaryFile = process.argv.find((argument) => argument.startsWith(summaryFlag))?.slice(summaryFlag.length);
const vitestArguments = process.argv.slice(2).filter((argument) => !argument.startsWith(summaryFlag));

await prepare({ build: false });
const checks = STATIC_CHECKS.map(runCheck);
const tests = runTests();
const failures = [...checks.filter((check) => !check.passed).map((check) => check.name), ...tests.failures];
const passed = checks.filter((check) => check.passed).length + tests.passed;

if (failures.length > 0) process.stdout.write(`\nFailed:\n${failures.map((name) => `  ${name}\n`).join("")}`);
const summary = `${passed} passed, ${failures.length} failed`;
if (summaryFile !== undefined) writeFileSync(summaryFile, `${summary}\n`);
process.stdout.write(`\n${summary}\n`);
process.exitCode = failures.length === 0 ? 0 : 1;

function runCheck(check) {
  say(`checking ${check.name}`);
  return { name: check.name, passed: runTool(check.package, check.bin, check.args).status === 0 };
}

/** @returns the number of passed tests, and a name for everything that did not pass. */
function runTests() {
  const folder = mkdtempSync(path.join(os.tmpdir(), "abreast-test-"));
  const reportFile = path.join(folder, "report.json");
  const reporters = ["--reporter=default", "--reporter=json", `--outputFile.json=${reportFile}`];
  say("running the tests (vitest)");
  const { status } = runTool("vitest", "vitest", ["run", ...reporters, ...vitestArguments]);
  const report = readReport(reportFile);
  rmSync(folder, { recursive: true, force: true });
  if (report === undefined) return { passed: 0, failures: ["tests (vitest): ended without a report"] };
  const { passed, failures } = judge(report);
  if (passed === 0 && failures.length === 0) failures.push("tests (vitest): no test ran");
  // An error outside any test, such as a promise that nobody waited for.
  if (status !== 0 && failures.length === 0) failures.push(`tests (vitest): ended with exit code ${status}`);
  return { passed, failures };
}

function judge(report) {
  let passed = 0;
  const failures = [];
  const isNarrowed = vitestArguments.some((argument) => /^(-t|--testNamePattern)/.test(argument));
  for (const file of report.testResults) {
    const name = path.relative(root, file.name);
    const needsServer = /\.(mysql|mariadb)\.test\.ts$/.test(name) || name.startsWith(`test${path.sep}`);
    for (const test of file.assertionResults) {
      if (test.status === "passed") passed += 1;
      else if (test.status === "failed") failures.push(`${name}: ${test.fullName}`);
      else if (needsServer && !isNarrowed) failures.push(`${name}: ${test.fullName} (skipped)`);
    }
    // A file that cannot be loaded has no tests, and a hook that fails has none of its own.
    const hasFailedTest = file.assertionResults.some((test) => test.status === "failed");
    if (file.status === "failed" && !hasFailedTest) failures.push(`${name}: ${firstLine(file.message)}`);
  }
  return { passed, failures };
}

function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

function firstLine(text) {
  return text.trim().split("\n")[0] || "cannot be loaded";
}

function runTool(packageName, bin, args) {
  const folder = path.join(root, "node_modules", packageName);
  const { bin: bins } = JSON.parse(readFileSync(path.join(folder, "package.json"), "utf8"));
  const script = path.join(folder, typeof bins === "string" ? bins : bins[bin]);
  return spawnSync(process.execPath, [script, ...args], { cwd: root, stdio: ["ignore", "inherit", "inherit"] });
}
