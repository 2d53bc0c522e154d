import { spawn } from "node:child_process";
import { once } from "node:events";
import { expect } from "vitest";
import { findInputs, type Fault } from "../../src/inspect/input/input.ts";
import { printRows, type RowsOptions, type RowsOutcome } from "../../src/inspect/rows/print-rows.ts";
import { printUndo } from "../../src/inspect/rows/print-undo.ts";
import { findServer } from "../../src/sandbox/find.ts";
import { commandOf } from "../../src/sandbox/installation.ts";
import type { Command } from "../../src/sandbox/process.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { type Table, readTables } from "../../src/schema/catalog.ts";
import { openSession } from "./replay.ts";
import { memory } from "./spill-memory.ts";

export interface Printed {
  sql: string;
  outcome: RowsOutcome;
}

/** The statements of these binlog files, or those that undo them. No fault is expected in them. */
export async function printed(
  how: "rows" | "undo",
  paths: readonly string[],
  options: Omit<RowsOptions, "onFault"> = {},
): Promise<Printed> {
  const pieces: Buffer[] = [];
  const faults: Fault[] = [];
  const write = (bytes: Buffer): undefined => void pieces.push(Buffer.from(bytes));
  const all: RowsOptions = { ...options, onFault: (fault) => faults.push(fault) };
  const inputs = await findInputs(paths);
  const outcome = how === "rows" ? await printRows(inputs, all, write) : await printUndo(inputs, all, write, memory);
  expect(faults).toEqual([]);
  return { sql: Buffer.concat(pieces).toString("latin1"), outcome };
}

/** Gives the text to the server's own client, which is how people run it. Latin1 stands for bytes. */
export async function runWithClient(server: SandboxServer, sql: string): Promise<void> {
  const { file, args, env } = await clientOf(server);
  const client = spawn(file, args, { env, stdio: ["pipe", "ignore", "pipe"] });
  let errors = "";
  client.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  client.stdin.on("error", () => {});
  client.stdin.end(Buffer.from(sql, "latin1"));
  const [code] = (await once(client, "close")) as [number];
  if (code !== 0) {
    const line = Number(/at line (\d+)/.exec(errors)?.[1] ?? 0);
    throw new Error(`${errors.trim()}: ${sql.split("\n")[line - 1]?.slice(0, 2000)}`);
  }
}

/** MySQL 5.6 comes without a client; MariaDB's talks to it. */
async function clientOf(server: SandboxServer): Promise<Command> {
  if (server.installation.client !== undefined) return server.command("mysql", ["--batch"]);
  const other = await findServer("mariadb-10.11");
  const { port } = server.address;
  const options = ["--no-defaults", "--protocol=TCP", "--host=127.0.0.1", `--port=${port}`, "--user=root", "--batch"];
  return commandOf(other, other.client ?? "mariadb", options);
}

export async function tablesOf(server: SandboxServer): Promise<Table[]> {
  const session = await openSession(server);
  try {
    return await readTables(session);
  } finally {
    await session.close();
  }
}
