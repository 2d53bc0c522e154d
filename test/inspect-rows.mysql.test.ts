import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeAll, expect, test } from "vitest";
import { binlogFiles } from "./helpers/assemble.ts";
import { CliProcess, type ProcessEnd } from "./helpers/engine-process.ts";
import { contents, runAll } from "./helpers/replay.ts";
import { runWithClient } from "./helpers/row-statements.ts";
import { useServer } from "./helpers/servers.ts";

/** What a user sees of `inspect --rows`, `--undo`, `--source` and `--follow`, in processes of their own. */

const server = useServer("mysql-9.7");
const running: CliProcess[] = [];
let file = "";

beforeAll(async () => {
  // Builds what is not built, so that no later command says that it does.
  expect((await run("--version")).end).toBe(0);
  await runAll(server(), [
    "CREATE DATABASE shop",
    "CREATE TABLE shop.orders(id INT PRIMARY KEY, note VARCHAR(20))",
    "INSERT INTO shop.orders VALUES(1,'one'),(2,'two')",
  ]);
});

afterEach(async () => {
  for (const cli of running.splice(0)) await cli.kill();
});

function start(...args: string[]): CliProcess {
  const cli = new CliProcess(args);
  running.push(cli);
  return cli;
}

async function run(...args: string[]): Promise<{ end: ProcessEnd; output: string; errors: string }> {
  const cli = start(...args);
  const end = await cli.ended;
  return { end, output: cli.output, errors: cli.errors };
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(20);
}

test("a mistake is taken back: --undo with the server's names, from the file to the client", async () => {
  const before = await contents(server(), "shop");
  await runAll(server(), [
    "FLUSH BINARY LOGS",
    "UPDATE shop.orders SET note='oops'",
    "DELETE FROM shop.orders WHERE id=2",
  ]);
  file = (await binlogFiles(server())).at(-1) ?? "";
  const rows = await run("inspect", file, "--rows", "--source", server().url);
  expect(rows).toMatchObject({ end: 0, errors: "" });
  expect(rows.output).toContain("UPDATE `shop`.`orders` SET `note`='oops' WHERE `id`=1 LIMIT 1;");
  const undo = await run("inspect", file, "--undo", "--source", server().url);
  expect(undo).toMatchObject({ end: 0, errors: "" });
  await runWithClient(server(), undo.output);
  expect(await contents(server(), "shop")).toEqual(before);
});

test("without names the text says so, and a range that names nothing is told", async () => {
  const { end, errors, output } = await run("inspect", file, "--rows", "--from", `${path.basename(file)}:4`);
  expect(end).toBe(1);
  expect(errors).toContain("`shop`.`orders`: nobody told the names of its columns\n  Try: --schema DUMP.sql");
  expect(errors).toMatch(/\d changes cannot be executed again; the text has them as comments/);
  expect(output).toContain("-- UPDATE `shop`.`orders` SET @2='oops' WHERE @1=1");
  expect(output).not.toMatch(/^(?:INSERT|UPDATE|DELETE)/m);
  const nothing = await run("inspect", file, "--rows", "--to", "11111111-2222-3333-4444-555555555555:7");
  expect(nothing.end).toBe(1);
  expect(nothing.errors).toContain("11111111-2222-3333-4444-555555555555:7");
});

test("a table that does not come is told, and a * stands for a whole name", async () => {
  const { end, errors } = await run("inspect", file, "--undo", "--table", "shop.nope", "--source", server().url);
  expect({ end, errors }).toEqual({ end: 1, errors: "no change of shop.nope in this range\n" });
  const named = await run("inspect", file, "--undo", "--table", "*.orders", "--source", server().url);
  expect(named).toMatchObject({ end: 0, errors: "" });
  expect(named.output).toContain("INSERT INTO `shop`.`orders`");
});

test("DDL cannot be undone: it is a comment, and the exit code says so", async () => {
  await runAll(server(), ["FLUSH BINARY LOGS", "CREATE TABLE shop.later(id INT)"]);
  const { end, output, errors } = await run("inspect", (await binlogFiles(server())).at(-1) ?? "", "--undo");
  expect(end).toBe(1);
  expect(output).toContain("-- cannot be undone, it is a statement: CREATE TABLE shop.later(id INT)");
  expect(errors).toContain("1 change cannot be undone");
});

test("a live server is read to its end, reported like files, or followed until Ctrl-C", async () => {
  const report = await run("inspect", "--source", server().url, "--json");
  expect(report.end).toBe(0);
  expect(JSON.parse(report.output)).toMatchObject({ faults: [], tables: [{ schema: "shop", table: "orders" }] });
  const follow = start("inspect", "--source", server().url, "--follow", "--interval", "0.2");
  await until(() => follow.output.includes("most in shop.orders"));
  expect(await follow.interrupt()).toBe(0);
  const rows = start("inspect", "--source", server().url, "--follow", "--rows");
  await until(() => rows.output.includes("'oops'"));
  await runAll(server(), ["INSERT INTO shop.orders VALUES(77,'seen as it came')"]);
  await until(() => rows.output.includes("VALUES (77,'seen as it came');"));
  // What a DDL makes of a table is asked for again.
  await runAll(server(), [
    "ALTER TABLE shop.orders CHANGE note remark VARCHAR(20), ADD COLUMN amount INT",
    "INSERT INTO shop.orders VALUES(78,'behind it',5)",
    "CREATE TABLE shop.younger(code INT PRIMARY KEY)",
    "INSERT INTO shop.younger VALUES(79)",
  ]);
  await until(() => rows.output.includes("VALUES (79)"));
  expect(rows.output).toContain("INSERT INTO `shop`.`orders` (`id`,`remark`,`amount`) VALUES (78,'behind it',5);");
  expect(rows.output).toContain("INSERT INTO `shop`.`younger` (`code`) VALUES (79);");
  expect(await rows.interrupt()).toBe(0);
  expect(rows.errors).toBe("");
});

test.each([
  ["--rows", "VALUES (79)"],
  ["--interval=0.2", "rows/s"],
])("nobody reads a quiet source's %s any more: it ends by itself", async (flag, last) => {
  const cli = start("inspect", "--source", server().url, "--follow", flag);
  await until(() => cli.output.includes(last));
  cli.closeOutput();
  expect(await cli.ended).toBe(0);
});

test("a source that does not send all: --undo prints nothing, --rows says that its text is incomplete", async () => {
  const from = ["--source", server().url, "--from", "binlog.999999:4"];
  const undo = await run("inspect", "--undo", ...from);
  expect(undo).toMatchObject({ end: 3, output: "" });
  const rows = await run("inspect", "--rows", ...from);
  expect(rows.end).toBe(3);
  expect(rows.output).toMatch(/^-- this text is incomplete: /m);
  expect(rows.output).not.toContain("INSERT");
});

test("an undo without room for its temporary file prints nothing and fails", async () => {
  await runAll(server(), [
    "CREATE TABLE shop.long_texts(id INT PRIMARY KEY, v LONGTEXT)",
    "INSERT INTO shop.long_texts VALUES(1,REPEAT('x',9000000))",
    "FLUSH BINARY LOGS",
    "DELETE FROM shop.long_texts",
  ]);
  const long = (await binlogFiles(server())).at(-1) ?? "";
  const cli = new CliProcess(["inspect", long, "--undo", "--source", server().url], { TMPDIR: "/nowhere/at/all" });
  running.push(cli);
  expect(await cli.ended).toBe(3);
  expect(cli.output).toBe("");
  expect(cli.errors).toContain("the temporary file that --undo needs in /nowhere/at/all cannot be used");
  expect(cli.errors).toContain("Try: TMPDIR=FOLDER");
  expect(cli.errors).not.toContain("offset");
});

test.each([
  [["--rows", "--undo", "x"], "--rows and --undo are two texts"],
  [["--follow", "x"], "--follow is for a live server"],
  [["--table", "a", "--rows", "package.json"], '"a" names no table'],
  [["--rows", "--from", "yesterday", "package.json"], '"yesterday" cannot be an end of a range'],
  [[], "inspect needs a file, or a server"],
])("what makes no sense is refused: inspect %j", async (args, message) => {
  const { end, errors } = await run("inspect", ...args);
  expect(end).toBe(2);
  expect(errors).toContain(message);
  expect(errors).toContain("Try: ");
});
