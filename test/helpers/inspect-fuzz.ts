import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync, gzipSync } from "node:zlib";
import { createPrng } from "../../src/base/prng.ts";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { serversFolder } from "../../src/sandbox/folders.ts";
import { withServer } from "./servers.ts";
import { logEverything } from "./inspect-load.ts";
import { baseOf, mutate, type Base } from "./inspect-mutate.ts";

/** Binlogs that other tools collected; not part of this package, and no piece of them goes into a seed. */
export const COLLECTED_FOLDER = fileURLToPath(new URL("../../../shared/binlogs", import.meta.url));
const SEEDS_FOLDER = fileURLToPath(new URL("../fuzz-seeds", import.meta.url));
const OWN_FOLDER = path.join(path.dirname(serversFolder()), "fuzz-binlogs");

/** Files that are damaged, and whose pieces are mixed: those that our own servers wrote apart from those of others. */
export interface Corpus {
  name: "own" | "collected";
  bases: Base[];
}

/** A damaged file that a reader did not survive. `file` is gzip in base64; files made of others' pieces are made again from their numbers. */
export interface Seed {
  reader: string;
  error: string;
  file?: string;
  made?: { seed: number; index: number; sha256: string };
}

const SERVERS: readonly { folder: string; flavour: ServerFlavour; options: readonly string[] }[] = [
  { folder: "mysql-9.7", flavour: "mysql-9.7", options: [] },
  {
    folder: "mysql-9.7-anonymous",
    flavour: "mysql-9.7",
    options: ["--gtid-mode=OFF", "--enforce-gtid-consistency=OFF"],
  },
  { folder: "mysql-9.7-no-checksum", flavour: "mysql-9.7", options: ["--binlog-checksum=NONE"] },
  { folder: "mysql-5.6", flavour: "mysql-5.6", options: [] },
  {
    folder: "mysql-5.6-no-gtid",
    flavour: "mysql-5.6",
    options: ["--skip-gtid-mode", "--skip-enforce-gtid-consistency"],
  },
  { folder: "mariadb-10.11", flavour: "mariadb-10.11", options: [] },
  { folder: "mariadb-11.8", flavour: "mariadb-11.8", options: ["--binlog-row-metadata=FULL"] },
];

/** The user's cache holds a log of each server; what is missing is made. */
export async function ownCorpus(): Promise<Corpus> {
  for (const { folder, flavour, options } of SERVERS) {
    const place = path.join(OWN_FOLDER, folder);
    if (existsSync(place)) continue;
    await withServer(flavour, { options }, async (server) => {
      const files = await logEverything(server, { bytes: 0 });
      const half = `${place}.${process.pid}`;
      mkdirSync(half, { recursive: true });
      for (const file of files) writeFileSync(path.join(half, path.basename(file)), readFileSync(file));
      renameSync(half, place);
    });
  }
  return { name: "own", bases: SERVERS.flatMap(({ folder }) => basesIn(path.join(OWN_FOLDER, folder))) };
}

/** Undefined when the folder is not there. */
export function collectedCorpus(): Corpus | undefined {
  if (!existsSync(COLLECTED_FOLDER)) return undefined;
  // The large one would take all the time, and has nothing that others do not have.
  return { name: "collected", bases: basesIn(COLLECTED_FOLDER).filter(({ events }) => events.length < 1000) };
}

function basesIn(folder: string): Base[] {
  const names = readdirSync(folder).toSorted();
  return names.flatMap(
    (name) => baseOf(`${path.basename(folder)}/${name}`, readFileSync(path.join(folder, name))) ?? [],
  );
}

/** The index-th damaged file of a seed. */
export function damagedFile(corpora: readonly Corpus[], seed: number, index: number): { corpus: Corpus; file: Buffer } {
  const prng = createPrng(seed, index);
  const corpus = corpora[prng.integer(0, corpora.length - 1)] as Corpus;
  const base = corpus.bases[prng.integer(0, corpus.bases.length - 1)] as Base;
  return { corpus, file: mutate(base, corpus.bases, prng) };
}

const FRAMES = 4;

/** Why the reader did not survive: the error's words and where it came from. Numbers in them differ from file to file. Undefined when it did. */
export async function failureOf(read: (file: Buffer) => Promise<void>, file: Buffer): Promise<string | undefined> {
  try {
    await read(file);
    return undefined;
  } catch (error) {
    const { name, message, stack = "" } = error instanceof Error ? error : new Error(String(error));
    const places = [...stack.matchAll(/^\s+at .*\/((?:src|test)\/[^:)]+):(\d+)/gm)].slice(0, FRAMES);
    return `${name}: ${message.replaceAll(/\d+/g, "N").slice(0, 200)} at ${places.map(([, at, line]) => `${at}:${line}`).join(", ")}`;
  }
}

export interface Find {
  corpus: Corpus;
  file: Buffer;
  seed: number;
  index: number;
  reader: string;
  /** Undefined when it cannot be asked again: it did not come back. */
  read: ((file: Buffer) => Promise<void>) | undefined;
  error: string;
}

/** Keeps what a test is to read again, as small as it gets. @returns where */
export async function keepFind({ corpus, file, seed, index, reader, read, error }: Find): Promise<string> {
  if (corpus.name === "own" && read === undefined) return keepSeed({ reader, error }, file, "own");
  if (corpus.name === "own" && read !== undefined) {
    return keepSeed(
      { reader, error },
      await smallest(file, async (some) => (await failureOf(read, some)) === error),
      "own",
    );
  }
  return keepSeed({ reader, error, made: { seed, index, sha256: sha256(file) } }, file, corpus.name);
}

/** Events are left out as long as the reader still fails with the same words. */
async function smallest(file: Buffer, failsAlike: (file: Buffer) => Promise<boolean>): Promise<Buffer> {
  const parsed = baseOf("", file);
  if (parsed === undefined) return file;
  let events = [...parsed.events];
  let rest = parsed.rest;
  const joined = (some: readonly Buffer[], end: Buffer): Buffer => Buffer.concat([file.subarray(0, 4), ...some, end]);
  if (!(await failsAlike(joined(events, rest)))) return file;
  if (rest.length > 0 && (await failsAlike(joined(events, Buffer.alloc(0))))) rest = Buffer.alloc(0);
  for (let size = Math.ceil(events.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2)) {
    for (let at = 1; at < events.length;) {
      const fewer = [...events.slice(0, at), ...events.slice(at + size)];
      if (await failsAlike(joined(fewer, rest))) events = fewer;
      else at += size;
    }
  }
  return joined(events, rest);
}

function keepSeed(seed: Omit<Seed, "file">, file: Buffer, corpus: Corpus["name"]): string {
  const whole: Seed =
    corpus === "own"
      ? { reader: seed.reader, error: seed.error, file: gzipSync(file, { level: 9 }).toString("base64") }
      : seed;
  const name = `${seed.reader}-${createHash("sha256").update(seed.error).digest("hex").slice(0, 10)}.json`;
  mkdirSync(SEEDS_FOLDER, { recursive: true });
  const place = path.join(SEEDS_FOLDER, name);
  if (!existsSync(place)) writeFileSync(place, `${JSON.stringify(whole, undefined, 2)}\n`);
  return place;
}

/** All seeds that are kept, by name of the file. */
export function keptSeeds(): Map<string, Seed> {
  const names = existsSync(SEEDS_FOLDER) ? readdirSync(SEEDS_FOLDER).toSorted() : [];
  return new Map(names.map((name) => [name, JSON.parse(readFileSync(path.join(SEEDS_FOLDER, name), "utf8")) as Seed]));
}

/** Undefined when it was made of files that are not there, or are others now. */
export function fileOf(seed: Seed, collected: Corpus | undefined): Buffer | undefined {
  if (seed.file !== undefined) return gunzipSync(Buffer.from(seed.file, "base64"));
  if (seed.made === undefined || collected === undefined) return undefined;
  const { file } = damagedFile([collected], seed.made.seed, seed.made.index);
  return sha256(file) === seed.made.sha256 ? file : undefined;
}

function sha256(file: Buffer): string {
  return createHash("sha256").update(file).digest("hex");
}
