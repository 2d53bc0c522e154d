import { open, readFile, readdir, rename, rm, stat, truncate } from "node:fs/promises";
import { join } from "node:path";
import { assert } from "../base/assert.ts";
import { ReplicationError } from "../base/error.ts";
import type { Log } from "../base/log.ts";
import { diskError, errnoOf, syncFolder } from "./disk.ts";

const INDEX_FILE = "relay-bin.index";
const FILE_NAME = /^relay-bin\.(\d{6,})$/;

/** `relay-bin.000001`; more digits past a million, as the servers do. */
export const relayFileName = (number: number): string => `relay-bin.${String(number).padStart(6, "0")}`;

function relayFileNumber(name: string): number | undefined {
  const match = FILE_NAME.exec(name);
  return match === null ? undefined : Number(match[1]);
}

/** One file of the log: `bytes` of it are written and may be read. Only the last one grows; a sealed one never does again. */
export interface RelayFile {
  readonly number: number;
  readonly bytes: number;
  readonly sealed: boolean;
}

interface MutableFile extends RelayFile {
  bytes: number;
  sealed: boolean;
}

/**
 * The files of a relay log, in order, and their index on disk. A file is durable before the index names it, and the index forgets a file before it
 * is deleted: so after a crash at any instant every name in the index is a whole file, and a file without a name is a leftover that nobody was promised.
 * The index is replaced whole (temporary file, rename, sync of the folder), never edited.
 */
export class RelayFiles {
  readonly folder: string;
  readonly #files: MutableFile[];
  #waiting: (() => void)[] = [];
  #isClosed = false;
  /** One rewrite of the index at a time: the writer adds while the purge removes. */
  #rewriting: Promise<void> = Promise.resolve();

  private constructor(folder: string, files: MutableFile[]) {
    this.folder = folder;
    this.#files = files;
  }

  /** Reads the index, deletes what a crash left behind. Throws RELAY_LOG when a file is missing that the index names. */
  static async open(folder: string, log: Log): Promise<RelayFiles> {
    const index = await readIndex(folder);
    const indexed = index ?? [];
    const present = (await readdir(folder)).map(relayFileNumber).filter((number) => number !== undefined);
    await rm(join(folder, `${INDEX_FILE}.tmp`), { force: true });
    const leftovers = present.filter((number) => !indexed.includes(number)).sort((a, b) => a - b);
    // An empty index is what `remove` of everything leaves when it is killed; no index at all with files is another matter.
    if (index === undefined || index.length > 0) checkLeftovers(folder, indexed, leftovers);
    for (const number of leftovers) {
      log.info("deleted a relay file that is not in the index: left from a crash", { file: relayFileName(number) });
      await rm(join(folder, relayFileName(number)), { force: true });
    }
    const sizes: MutableFile[] = [];
    for (const number of indexed) sizes.push({ number, bytes: await sizeOf(folder, number), sealed: true });
    const files = new RelayFiles(folder, sizes);
    for (let first = files.first; first?.bytes === 0 && first !== files.last; first = files.first) {
      log.info("deleted an empty relay file: its purge was cut short", { file: relayFileName(first.number) });
      await files.remove([first.number]);
    }
    return files;
  }

  path(number: number): string {
    return join(this.folder, relayFileName(number));
  }

  get all(): readonly RelayFile[] {
    return this.#files;
  }

  get first(): RelayFile | undefined {
    return this.#files[0];
  }

  get last(): RelayFile | undefined {
    return this.#files.at(-1);
  }

  get totalBytes(): number {
    return this.#files.reduce((sum, file) => sum + file.bytes, 0);
  }

  find(number: number): RelayFile | undefined {
    // From the end: readers are mostly there.
    return this.#files.findLast((file) => file.number === number);
  }

  /** The file after this one; undefined when it is the last. */
  after(number: number): RelayFile | undefined {
    return this.#files.find((file) => file.number > number);
  }

  /** Adds a file that is on disk and synced. The file before it is sealed. */
  async add(number: number, bytes: number): Promise<void> {
    assert(number > (this.last?.number ?? 0), `relay file ${number} comes after the last one`);
    await this.#rewrite(async () => {
      await writeIndex(this.folder, [...this.#files.map((file) => file.number), number]);
      this.#seal();
      this.#files.push({ number, bytes, sealed: false });
    });
    this.wake();
  }

  /** The last file has grown: `bytes` of it can be read. */
  grow(bytes: number): void {
    const last = this.#files.at(-1);
    assert(last !== undefined && !last.sealed && bytes >= last.bytes, "only the file being written grows");
    last.bytes = bytes;
    this.wake();
  }

  /** Recovery cut the tail off. */
  cut(number: number, bytes: number): void {
    const file = this.#files.at(-1);
    assert(file?.number === number, "only the last file is cut");
    file.bytes = bytes;
  }

  /** Forgets these files, the oldest first, and deletes them. */
  async remove(numbers: readonly number[]): Promise<void> {
    if (numbers.length === 0) return;
    await this.#rewrite(async () => {
      const kept = this.#files.filter((file) => !numbers.includes(file.number));
      const names = kept.map((file) => file.number);
      try {
        await writeIndex(this.folder, names);
      } catch (error) {
        if (!(error instanceof ReplicationError) || error.code !== "DISK_FULL") throw error;
        // Too full for the index that would free it. `open` knows an emptied first file for one that was on its way out.
        await truncate(this.path(numbers[0] as number));
        await writeIndex(this.folder, names);
      }
      this.#files.splice(0, this.#files.length, ...kept);
      for (const number of numbers) await rm(this.path(number), { force: true });
    });
    this.wake();
  }

  /** Resolves at the next change of any file, or when `wake` is called. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const resolve of waiting) resolve();
  }

  /** The log was closed: nothing changes any more. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  close(): void {
    this.#isClosed = true;
    this.wake();
  }

  #seal(): void {
    const last = this.#files.at(-1);
    if (last !== undefined) last.sealed = true;
  }

  #rewrite(change: () => Promise<void>): Promise<void> {
    const done = this.#rewriting.then(change);
    this.#rewriting = done.catch(() => {});
    return done;
  }
}

/** Undefined when there is no index. */
async function readIndex(folder: string): Promise<number[] | undefined> {
  let text: string;
  try {
    text = await readFile(join(folder, INDEX_FILE), "utf8");
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw diskError(error, "the relay log's index cannot be read", { file: INDEX_FILE });
  }
  const numbers: number[] = [];
  for (const line of text.split("\n")) {
    if (line === "") continue;
    const number = relayFileNumber(line.replace(/^\.\//, ""));
    if (number === undefined || number <= (numbers.at(-1) ?? 0)) {
      throw new ReplicationError("RELAY_LOG", `the relay log's index has a line that cannot be: ${line}`, {
        where: { file: INDEX_FILE },
        hint: startOver(folder),
      });
    }
    numbers.push(number);
  }
  return numbers;
}

async function writeIndex(folder: string, numbers: readonly number[]): Promise<void> {
  const path = join(folder, INDEX_FILE);
  const made = `${path}.tmp`;
  try {
    const handle = await open(made, "w");
    try {
      await handle.writeFile(numbers.map((number) => `./${relayFileName(number)}\n`).join(""));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(made, path);
  } catch (error) {
    await rm(made, { force: true });
    throw diskError(error, "the relay log's index cannot be written", { file: INDEX_FILE });
  }
  try {
    await syncFolder(folder);
  } catch (error) {
    // Past the rename there is no way back, so this is never DISK_FULL.
    throw new ReplicationError("RELAY_LOG", "the relay log's folder cannot be synced", {
      where: { file: INDEX_FILE },
      hint: "check the disk, then start again: the relay log is repaired at start",
      cause: error,
    });
  }
}

/** A crash leaves files before the first (purge) or one after the last (a new file). Any other file without a name means that the index was damaged by hand. */
function checkLeftovers(folder: string, indexed: readonly number[], leftovers: readonly number[]): void {
  const first = indexed[0] ?? Infinity;
  const last = indexed.at(-1) ?? 0;
  const strange = leftovers.filter((number) => number > first && number < last);
  const newer = leftovers.filter((number) => number > last);
  const odd = strange[0] ?? (newer.length > 1 ? newer[0] : undefined);
  if (odd === undefined) return;
  throw new ReplicationError("RELAY_LOG", `${relayFileName(odd)} is in the folder but not in the relay log's index`, {
    where: { file: INDEX_FILE },
    hint: `put the right ${INDEX_FILE} back, or: ${startOver(folder)}`,
  });
}

async function sizeOf(folder: string, number: number): Promise<number> {
  try {
    return (await stat(join(folder, relayFileName(number)))).size;
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    throw new ReplicationError("RELAY_LOG", `the relay log's index names ${relayFileName(number)}, which is missing`, {
      where: { file: relayFileName(number) },
      hint: `put the file back, or: ${startOver(folder)}`,
    });
  }
}

/** The way out that always works: the relay log holds nothing that the source and the target's checkpoint cannot give again. */
export const startOver = (folder: string): string =>
  `empty the folder ${folder}; the engine then fetches again from the source what the target lacks`;
