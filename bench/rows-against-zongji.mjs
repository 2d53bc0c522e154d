// Rows per second of `abreast inspect --rows` and of @vlasky/zongji on the same binlog, of about 100 MB, which a server of our own writes first.
// node bench/rows-against-zongji.mjs [MB]
import { execFileSync, spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { prepare } from "../scripts/prepare.mjs";

const here = path.dirname(fileURLToPath(import.meta.url));
const ROUNDS = 3;
const THREADS = 4;
const TABLES = 4;
const TABLE_SIZE = 2_000;
/** ER_LOCK_DEADLOCK: such a transaction is left out. */
const DEADLOCK = 1213;
const megabytes = Number(process.argv[2] ?? 100);

await prepare();
const { startServer } = await import("../dist/sandbox/start.js");
const { Session } = await import("../dist/wire/session.js");

const say = (text) => process.stderr.write(`${text}\n`);
if (!existsSync(path.join(here, "node_modules"))) {
  say("fetching zongji (npm ci)");
  execFileSync("npm", ["ci", "--no-audit", "--no-fund"], { cwd: here, stdio: ["ignore", "ignore", "inherit"] });
}
const server = await startServer({
  flavour: "mysql-9.7",
  options: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=0", "--binlog-row-metadata=FULL"],
  onProgress: say,
});
try {
  const file = await writeLog();
  const end = statSync(file).size;
  say(`${file}: ${(end / 1e6).toFixed(0)} MB`);
  const results = { abreast: [], zongji: [] };
  for (let round = 0; round < ROUNDS; round++) {
    results.zongji.push(await zongji(path.basename(file), end));
    results.abreast.push(await abreast(file, results.zongji[0].rows));
  }
  report(results);
} finally {
  await server.stop();
}

/** The transactions of sysbench's oltp_write_only, one to a round trip; the log file that they are in, closed. */
async function writeLog() {
  const session = await Session.connect(server.address);
  await session.execute("CREATE DATABASE sbtest; USE sbtest");
  for (let table = 1; table <= TABLES; table++) {
    await session.execute(
      `CREATE TABLE sbtest${table}(id INT AUTO_INCREMENT PRIMARY KEY, k INT NOT NULL DEFAULT 0, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL, KEY k_${table}(k))`,
    );
    const rows = Array.from({ length: TABLE_SIZE }, (_, i) => `(${i + 1},${i},'${digits(10)}','${digits(5)}')`);
    await session.execute(`INSERT INTO sbtest${table} VALUES ${rows.join(",")}`);
  }
  await session.execute("FLUSH BINARY LOGS");
  const [{ Log_name: name }] = (await session.query("SHOW BINARY LOGS")).slice(-1);
  const file = path.join(server.dataFolder, name);
  say("writing the log");
  let done = false;
  await Promise.all(
    Array.from({ length: THREADS }, async () => {
      const own = await Session.connect(server.address);
      await own.execute("USE sbtest");
      for (let count = 0; !done; count++) {
        await own.execute(transaction().join(";")).catch(async (error) => {
          if (error.sqlCode !== DEADLOCK) throw error;
          await own.execute("ROLLBACK");
        });
        if (count % 100 === 0 && statSync(file).size > megabytes * 1e6) done = true;
      }
      await own.close();
    }),
  );
  await session.execute("FLUSH BINARY LOGS");
  await session.close();
  return file;
}

/** One update of an indexed column, one of a column without index, one row deleted and inserted again (oltp_write_only.lua, sysbench 1.0.20). */
function transaction() {
  const changed = randomInt(1, TABLES + 1);
  const id = randomInt(1, TABLE_SIZE + 1);
  return [
    "BEGIN",
    `UPDATE sbtest${randomInt(1, TABLES + 1)} SET k=k+1 WHERE id=${randomInt(1, TABLE_SIZE + 1)}`,
    `UPDATE sbtest${randomInt(1, TABLES + 1)} SET c='${digits(10)}' WHERE id=${randomInt(1, TABLE_SIZE + 1)}`,
    `DELETE FROM sbtest${changed} WHERE id=${id}`,
    `INSERT INTO sbtest${changed} (id,k,c,pad) VALUES (${id},${randomInt(1, TABLE_SIZE + 1)},'${digits(10)}','${digits(5)}')`,
    "COMMIT",
  ];
}

/** `01234567890-…`: groups of eleven digits, as sysbench has them. */
function digits(groups) {
  return Array.from({ length: groups }, () => String(randomInt(0, 1e11)).padStart(11, "0")).join("-");
}

/** Until it has decoded the last row: starting Node and connecting included. */
async function zongji(name, end) {
  const args = [path.join(here, "zongji.mjs"), String(server.address.port), name, String(end)];
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  let text = "";
  child.stdout.on("data", (chunk) => (text += chunk));
  const [code] = await once(child, "close");
  if (code !== 0) throw new Error(`zongji ended with ${code}`);
  return JSON.parse(text);
}

/** The whole program, its text thrown away. */
async function abreast(file, rows) {
  const started = performance.now();
  const args = [path.join(here, "..", "bin", "abreast.mjs"), "inspect", "--rows", file];
  const child = spawn("/bin/sh", ["-c", '"$0" "$@" > /dev/null; times', process.execPath, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  child.stdout.on("data", (chunk) => (text += chunk));
  await once(child, "close");
  // The second line of `times` is of the children: 0m1.23s 0m0.04s
  const parts = [...(text.trim().split("\n").at(-1) ?? "").matchAll(/(\d+)m([\d.]+)s/g)];
  const cpuSeconds = parts.reduce((sum, [, minutes, seconds]) => sum + 60 * minutes + Number(seconds), 0);
  return { rows, seconds: (performance.now() - started) / 1000, cpuSeconds };
}

function report({ abreast: ours, zongji: theirs }) {
  const best = (runs, key) => Math.min(...runs.map((run) => run[key]));
  const rate = (runs, key) => runs[0].rows / best(runs, key);
  const line = (name, runs) =>
    `${name.padEnd(24)}${[rate(runs, "seconds"), rate(runs, "cpuSeconds")].map((value) => Math.round(value).toLocaleString("en").padStart(18)).join("")}`;
  const ratio = (key) => (rate(ours, key) / rate(theirs, key)).toFixed(2);
  process.stdout.write(
    [
      `${theirs[0].rows.toLocaleString("en")} rows of ${theirs[0].transactions.toLocaleString("en")} transactions; whole processes, best of ${ROUNDS} runs in turn`,
      `${"".padEnd(24)}${"rows/s".padStart(18)}${"rows/s of CPU".padStart(18)}`,
      line("abreast inspect --rows", ours),
      line("@vlasky/zongji", theirs),
      `${"ratio".padEnd(24)}${ratio("seconds").padStart(18)}${ratio("cpuSeconds").padStart(18)}`,
      "",
    ].join("\n"),
  );
}
