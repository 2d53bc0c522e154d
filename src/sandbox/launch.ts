import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { closeSync, openSync, readSync, fstatSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { createConnection } from "mysql2/promise";
import type { RowDataPacket } from "mysql2/promise";
import { ReplicationError } from "../base/error.ts";
import { lastLines } from "./failure.ts";
import type { ServerFlavour } from "./flavours.ts";
import { boundToUs, identifyProcess, signalProcess } from "./process.ts";
import type { Command, ProcessIdentity } from "./process.ts";
import type { ServerPlace } from "./server-options.ts";

/** Recovery after a crash is part of a start. */
const START_TIMEOUT_MS = 180_000;
const POLL_MS = 25;

export class PortTakenError extends ReplicationError {
  constructor(flavour: ServerFlavour, port: number) {
    super("SANDBOX", `${flavour} does not start: port ${port} is taken`, {
      hint: "choose another port, or none to get a free one",
    });
  }
}

export interface Launch {
  flavour: ServerFlavour;
  command: Command;
  /** The server's standard output and error are appended to it. */
  errorLogFile: string;
  place: ServerPlace;
  /** The error log goes away when the start fails. */
  temporaryData: boolean;
  /** The server ends with this process, however that ends. */
  endsWithUs: boolean;
  onStarted: (identity: ProcessIdentity) => void;
  onEnded: (identity: ProcessIdentity) => void;
}

/** Starts the process and waits until it answers as itself, with its own socket file: another server may have the port. */
export async function launchServer(launch: Launch): Promise<void> {
  const { errorLogFile } = launch;
  const log = openSync(errorLogFile, "a");
  const logStart = fstatSync(log).size;
  let child: ChildProcess;
  try {
    const { file, args, env } = launch.endsWithUs ? boundToUs(launch.command) : launch.command;
    // A group of its own: Ctrl-C in a terminal reaches us alone, and we end the servers in our order.
    child = spawn(file, args, { env, stdio: ["ignore", log, log], detached: true });
  } finally {
    closeSync(log);
  }
  const identity = child.pid === undefined ? undefined : identifyProcess(child.pid);
  let ended: Error | string | undefined;
  child.once("error", (error) => (ended = error));
  child.once("exit", (code, signal) => {
    ended ??= signal ?? `exit code ${code}`;
    if (identity !== undefined) launch.onEnded(identity);
  });
  child.unref();
  if (identity !== undefined) launch.onStarted(identity);

  const deadline = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    if (ended !== undefined || identity === undefined) throw startFailure(launch, ended, logStart);
    if (await answers(launch.place)) return;
    if (Date.now() > deadline) {
      signalProcess(identity, "SIGKILL");
      throw startFailure(launch, `no answer within ${START_TIMEOUT_MS / 1000} s`, logStart);
    }
    await sleep(POLL_MS);
  }
}

async function answers(place: ServerPlace): Promise<boolean> {
  try {
    const connection = await createConnection({
      host: "127.0.0.1",
      port: place.port,
      user: "root",
      connectTimeout: 5_000,
    });
    try {
      const [rows] = await connection.query<RowDataPacket[]>("SELECT @@socket AS socket");
      return rows[0]?.["socket"] === place.socketFile;
    } finally {
      await connection.end();
    }
  } catch {
    return false;
  }
}

function startFailure(launch: Launch, ended: Error | string | undefined, logStart: number): ReplicationError {
  const { flavour, place, errorLogFile, temporaryData } = launch;
  const said = readFrom(errorLogFile, logStart);
  if (/Address already in use|Bind on TCP\/IP port/i.test(said)) return new PortTakenError(flavour, place.port);
  const errors = said
    .split("\n")
    .filter((line) => /\[ERROR\]|^ERROR|error while loading|unknown (option|variable)/i.test(line));
  const why = ended instanceof Error ? ended.message : (ended ?? "it ended at once");
  const words = lastLines(errors.length > 0 ? errors.join("\n") : said, 4);
  return new ReplicationError("SANDBOX", `${flavour} does not start (${why})${words === "" ? "" : `:\n  ${words}`}`, {
    ...(temporaryData ? {} : { where: { file: errorLogFile } }),
    hint: hintFor(said),
    ...(ended instanceof Error ? { cause: ended } : {}),
  });
}

function hintFor(said: string): string {
  if (/unknown (option|variable)/i.test(said)) return "correct the options given to mysqld";
  if (/No space left|Errcode: 28|error: 28/i.test(said))
    return "free some space, or give a data folder on another disk";
  if (/Cannot allocate memory|Out of memory/i.test(said)) return "give it less: --innodb-buffer-pool-size=64M";
  if (/Unable to lock|another mysqld process|already running/i.test(said))
    return "another server uses this data folder: stop it, or give another folder";
  return "read the server's messages above";
}

/** What the log holds from `start` on; its last 64 KiB at most. */
function readFrom(file: string, start: number): string {
  const descriptor = openSync(file, "r");
  try {
    const { size } = fstatSync(descriptor);
    const from = Math.max(start, size - 65_536);
    const buffer = Buffer.alloc(Math.max(0, size - from));
    const length = readSync(descriptor, buffer, 0, buffer.length, from);
    return buffer.toString("utf8", 0, length);
  } finally {
    closeSync(descriptor);
  }
}
