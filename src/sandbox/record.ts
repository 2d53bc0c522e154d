import { mkdir, readFile, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { ReplicationError } from "../base/error.ts";
import { FLAVOUR_NAMES } from "./flavours.ts";
import { sandboxStateFolder } from "./folders.ts";

const recordSchema = z.object({
  name: z.string(),
  flavour: z.enum(FLAVOUR_NAMES),
  version: z.string(),
  url: z.string(),
  port: z.number(),
  serverId: z.number(),
  process: z.object({ pid: z.number(), startedAt: z.string() }),
  /** UTC, ISO 8601. */
  startedAt: z.string(),
  dataFolder: z.string(),
  runFolder: z.string(),
  errorLogFile: z.string(),
});

/** What `sandbox up` writes down about a server: one JSON file each, named after it. */
export type SandboxRecord = z.infer<typeof recordSchema>;

/** Also a file's and a folder's name. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** @throws ReplicationError CONFIG */
export function checkName(name: string): void {
  if (NAME.test(name)) return;
  throw new ReplicationError("CONFIG", `${JSON.stringify(name)} cannot be a sandbox server's name`, {
    hint: "use letters, digits, dots, dashes and underscores, at most 64",
  });
}

function recordFile(name: string): string {
  return join(sandboxStateFolder(), `${name}.json`);
}

/** Where a server's data is when no folder was given: ours to remove. */
export function ownDataFolder(name: string): string {
  return join(sandboxStateFolder(), name, "data");
}

export async function readRecord(name: string): Promise<SandboxRecord | undefined> {
  const file = recordFile(name);
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  const record = recordSchema.safeParse(parseJson(text));
  if (record.success) return record.data;
  throw new ReplicationError("SANDBOX", `${file} is not what sandbox up wrote`, {
    hint: "remove it, after stopping the server that it was about",
    cause: record.error,
  });
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export async function readRecords(): Promise<SandboxRecord[]> {
  const files = await readdir(sandboxStateFolder()).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    throw error;
  });
  const names = files.filter((file) => file.endsWith(".json")).map((file) => file.slice(0, -".json".length));
  const records = await Promise.all(names.sort().map((name) => readRecord(name)));
  return records.filter((record) => record !== undefined);
}

/** A reader sees the whole record or none. */
export async function writeRecord(record: SandboxRecord): Promise<void> {
  const file = recordFile(record.name);
  await mkdir(sandboxStateFolder(), { recursive: true });
  await writeFile(`${file}.${process.pid}`, `${JSON.stringify(record, undefined, 2)}\n`);
  await rename(`${file}.${process.pid}`, file);
}

export async function removeRecord(record: SandboxRecord): Promise<void> {
  await rm(recordFile(record.name), { force: true });
}
