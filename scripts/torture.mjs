// `npm run torture`: kills, over and over, under load: the engine, the target, the source, and the connections between them. Each victim gets servers of its own.
//   npm run torture -- [--flavours mysql-9.7,mariadb-10.11] [--victims engine,target,source,network,gaps] [--hits 60] [--seed N] [--semi-sync]
//                      [--workers N] [--policy P] [--commit-order preserve|relaxed] [--gtid own|preserve] [--pack-transactions N]
// A table on standard output, progress on standard error. Exit code 0: nothing was lost, nothing was repeated; 1: something was; 2: a wrong option.
import path from "node:path";
import { parseArgs } from "node:util";
import { prepare, root, say } from "./prepare.mjs";

/** Handed on to `replicate` as they are. */
const ENGINE_FLAGS = ["workers", "policy", "commit-order", "gtid", "pack-transactions"];
const VICTIMS = ["engine", "target", "source", "network"];
/** The engine while some transactions have passed others: with --commit-order relaxed only. */
const GAPS = "gaps";

const options = readOptions();
await prepare();
process.once("SIGINT", () => process.exit(130));
process.once("SIGTERM", () => process.exit(143));
// The helpers are TypeScript, shared with the tests; Node 20 runs none, so vite reads them, as it does for vitest.
const { runnerImport } = await import("vite");
const { module } = await runnerImport(path.join(root, "test/helpers/torture.ts"), {
  root,
  configFile: false,
  logLevel: "error",
});

const rows = [];
for (const flavour of options.flavours) {
  for (const victim of options.victims) rows.push(await run(flavour, victim));
}
console.table(
  rows.map(({ faults, seconds, ...row }) => ({
    ...row,
    seconds: Math.round(seconds),
    result: faults.length === 0 ? "exact" : "FAULT",
  })),
);
const faults = rows.flatMap((row) => row.faults.map((fault) => `${row.flavour}, ${row.victim}: ${fault}`));
for (const fault of faults) console.log(fault);
process.exit(faults.length === 0 ? 0 : 1);

async function run(flavour, victim) {
  const what = `${flavour}, ${victim}`;
  say(
    `torture: ${what}, ${options.hits} hits, seed ${options.seed}${options.semiSync ? ", semi-sync" : ""} ${options.engineFlags.join(" ")}`,
  );
  const report = await module.torture({
    flavour,
    victims: Array.from({ length: options.hits }, () => victim),
    seed: options.seed,
    semiSync: options.semiSync,
    engineFlags: options.engineFlags,
    onProgress: (text) => say(`${what}: ${text}`),
  });
  say(`${what}: ${report.faults.length === 0 ? "exact" : report.faults.join("\n")}`);
  return { flavour, victim, ...report };
}

function readOptions() {
  try {
    const { values } = parseArgs({
      options: {
        flavours: { type: "string", default: "mysql-9.7,mariadb-10.11" },
        victims: { type: "string", default: VICTIMS.join(",") },
        hits: { type: "string", default: "60" },
        seed: { type: "string", default: String(Date.now() % 1_000_000) },
        "semi-sync": { type: "boolean", default: false },
        ...Object.fromEntries(ENGINE_FLAGS.map((flag) => [flag, { type: "string" }])),
      },
    });
    const victims = values.victims.split(",");
    const wrong = victims.find((victim) => ![...VICTIMS, GAPS].includes(victim));
    if (wrong !== undefined) throw new Error(`there is no victim ${wrong}: use ${[...VICTIMS, GAPS].join(", ")}`);
    if (victims.includes(GAPS) && values["commit-order"] !== "relaxed") {
      throw new Error("nothing passes anything unless --commit-order is relaxed");
    }
    const [hits, seed] = [Number(values.hits), Number(values.seed)];
    if (!Number.isInteger(hits) || hits < 1) throw new Error("--hits is a whole number above 0");
    if (!Number.isInteger(seed)) throw new Error("--seed is a whole number");
    const engineFlags = ENGINE_FLAGS.flatMap((flag) =>
      values[flag] === undefined ? [] : [`--${flag}=${values[flag]}`],
    );
    return { flavours: values.flavours.split(","), victims, hits, seed, semiSync: values["semi-sync"], engineFlags };
  } catch (error) {
    say(error.message);
    return process.exit(2);
  }
}
