import { openSync, closeSync, readSync, readdirSync, realpathSync, statSync, type Stats } from "node:fs";
import { open } from "node:fs/promises";
import path from "node:path";
import { ReplicationError } from "../../base/error.ts";
import { systemReason } from "../../base/system-error.ts";
import { compressionOf, gunzipped, unzstded, type Compression } from "./compression.ts";

/** One binlog file. */
export interface BinlogInput {
  /** As the server calls it: without a folder, and without `.gz` or `.zst`; with as much of its path as tells it from others of that name. */
  name: string;
  /** As it lies there, compressed or not; undefined where nobody knows it beforehand. */
  bytes: number | undefined;
  /** Its uncompressed bytes, from the first on. Each call begins anew. @throws ReplicationError CONFIG, CORRUPT_EVENT: what came before is whole */
  chunks(): AsyncIterable<Buffer>;
  /** Where it lies, when it is a file. */
  path?: string;
  /** Where it lies, when it is a plain file that can be read at any offset. */
  plainPath?: string;
}

/** What could not be read: from `offset` of the uncompressed file on. */
export interface Fault {
  file: string;
  offset: number;
  reason: string;
}

const CHUNK_BYTES = 1 << 20;
const HEAD_BYTES = 512;
const MAGICS = ["fe62696e", "fd62696e"];
/** `binlog.000001`, `mysql-bin.000001.gz`, and what comes after .999999. */
const BINLOG_NAME = /^(.+)\.(\d{6,})(?:\.(?:gz|zst))?$/;

/**
 * The binlog files that `paths` name: files (plain, or compressed with gzip or zstd, known by their first bytes), folders, index files, and `-` for standard input. In binlog
 * order: by the number at the end of the name where names are alike.
 * @throws ReplicationError CONFIG: there is no such file, or none in the folder
 */
export async function findInputs(paths: readonly string[]): Promise<BinlogInput[]> {
  const found = paths.flatMap((given) => filesOf(given));
  const seen = new Set<string>();
  const files = found.filter((file) => {
    const real = realPath(file);
    return seen.has(real) ? false : seen.add(real);
  });
  const ordered = inOrder(files);
  const names = namesOf(ordered);
  return ordered.map((file, i) => inputOf(file, names[i] ?? file));
}

const STDIN = "/dev/stdin";

function namesOf(files: readonly string[]): string[] {
  const names = files.map((file) =>
    file === STDIN ? "standard input" : path.basename(file).replace(/\.(?:gz|zst)$/, ""),
  );
  const alike = new Map<string, string[]>();
  for (const [i, name] of names.entries()) alike.set(name, [...(alike.get(name) ?? []), files[i] ?? ""]);
  return names.map((name, i) => {
    const others = (alike.get(name) ?? []).filter((other) => other !== files[i]);
    if (others.length === 0) return name;
    for (let parts = 1; ; parts++) {
      const own = lastParts(files[i] ?? "", parts);
      if (others.every((other) => lastParts(other, parts) !== own)) return own;
    }
  });
}

/** Different files differ in the whole of it. */
const lastParts = (file: string, parts: number): string => path.resolve(file).split(path.sep).slice(-parts).join("/");

function filesOf(given: string): string[] {
  if (given === "-") return [STDIN];
  const stats = statusOf(given);
  if (stats.isDirectory()) return filesInFolder(given);
  return isIndex(given, stats) ? filesInIndex(given) : [given];
}

function statusOf(given: string): Stats {
  try {
    return statSync(given);
  } catch (error) {
    throw new ReplicationError("CONFIG", `${given} cannot be read: ${systemReason(error)}`, {
      hint: "give a binlog file, a folder with binlog files, or their index file",
      cause: error,
    });
  }
}

/** A folder's binlog files; relay logs only where there is nothing else, since they repeat what other servers wrote. */
function filesInFolder(folder: string): string[] {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch (error) {
    throw new ReplicationError("CONFIG", `the folder ${folder} cannot be read: ${systemReason(error)}`, {
      cause: error,
    });
  }
  const numbered = names.filter((name) => BINLOG_NAME.test(name)).map((name) => path.join(folder, name));
  const files = numbered.filter((file) => statSync(file, { throwIfNoEntry: false })?.isFile() === true);
  const bases = [...new Set(files.map(baseOf))];
  const own = bases.filter((base) => !/relay/i.test(base));
  const chosen = own.length > 0 ? own : bases;
  if (chosen.length === 0) {
    throw new ReplicationError("CONFIG", `the folder ${folder} has no binlog files`, {
      hint: "binlog files are called like binlog.000001; give others by their names",
    });
  }
  if (chosen.length > 1) {
    throw new ReplicationError("CONFIG", `the folder ${folder} has binlogs of ${chosen.length} names`, {
      hint: `give one: ${chosen.map((base) => path.join(folder, `${base}.*[0-9]`)).join(" or ")}`,
    });
  }
  return files.filter((file) => baseOf(file) === chosen[0]);
}

const baseOf = (file: string): string => BINLOG_NAME.exec(path.basename(file))?.[1] ?? "";

/** An index holds the paths of binlog files, one a line, as the server sees them. */
function isIndex(given: string, stats: Stats): boolean {
  if (!stats.isFile() || !given.endsWith(".index")) return false;
  return !MAGICS.includes(headOf(given).toString("hex", 0, 4));
}

function filesInIndex(index: string): string[] {
  const text = headOf(index, statSync(index).size).toString("utf8");
  const lines = text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
  if (lines.length === 0) throw new ReplicationError("CONFIG", `the index ${index} names no files`);
  return lines.map((line) => {
    const beside = path.join(path.dirname(index), path.basename(line));
    // The folder may have been copied from elsewhere: what lies beside the index is meant.
    const isBeside = statSync(beside, { throwIfNoEntry: false }) !== undefined;
    return isBeside || !path.isAbsolute(line) ? beside : line;
  });
}

function headOf(file: string, bytes = HEAD_BYTES): Buffer {
  const head = Buffer.alloc(bytes);
  const descriptor = openSync(file, "r");
  try {
    return head.subarray(0, readSync(descriptor, head, 0, bytes, 0));
  } finally {
    closeSync(descriptor);
  }
}

/** By number, inside each series of names that differ in nothing else; series in the order of their first file. */
function inOrder(files: readonly string[]): string[] {
  const series = new Map<string, string[]>();
  for (const file of files) {
    const base = baseOf(file);
    const key = base === "" ? file : path.join(path.dirname(file), base);
    const others = series.get(key);
    if (others === undefined) series.set(key, [file]);
    else others.push(file);
  }
  const number = (file: string): number => Number(BINLOG_NAME.exec(path.basename(file))?.[2] ?? 0);
  return [...series.values()].flatMap((alike) => alike.sort((a, b) => number(a) - number(b)));
}

function inputOf(file: string, name: string): BinlogInput {
  const stats = statSync(file, { throwIfNoEntry: false });
  const isPlainFile = stats?.isFile() === true;
  const compression = isPlainFile ? compressionOf(readableHead(file)) : "none";
  return {
    name,
    bytes: isPlainFile ? stats.size : undefined,
    chunks: () => (isPlainFile ? unpacked(file, compression) : unpackedUnknown(file)),
    ...(isPlainFile ? { path: file } : {}),
    ...(isPlainFile && compression === "none" ? { plainPath: file } : {}),
  };
}

/** What cannot be opened is told when it is read: the other files are read all the same. */
function readableHead(file: string): Buffer {
  try {
    return headOf(file);
  } catch {
    return Buffer.alloc(0);
  }
}

function unpacked(file: string, compression: Compression): AsyncIterable<Buffer> {
  const raw = rawChunks(file);
  if (compression === "gzip") return gunzipped(raw);
  return compression === "zstd" ? unzstded(raw) : raw;
}

/** Of a pipe, whose first bytes are not read twice. */
async function* unpackedUnknown(file: string): AsyncGenerator<Buffer> {
  const raw = rawChunks(file)[Symbol.asyncIterator]();
  const first = await raw.next();
  if (first.done === true) return;
  const all = async function* (): AsyncGenerator<Buffer> {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => raw };
  };
  const compression = compressionOf(first.value);
  yield* compression === "gzip" ? gunzipped(all()) : compression === "zstd" ? unzstded(all()) : all();
}

async function* rawChunks(file: string): AsyncGenerator<Buffer> {
  let handle;
  try {
    handle = await open(file, "r");
  } catch (error) {
    throw new ReplicationError("CONFIG", `it cannot be opened: ${systemReason(error)}`, { cause: error });
  }
  try {
    for (;;) {
      // Each chunk is its reader's own: events are views of it.
      const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
      let length: number;
      try {
        length = (await handle.read(chunk, 0, CHUNK_BYTES, null)).bytesRead;
      } catch (error) {
        throw new ReplicationError("CORRUPT_EVENT", `it cannot be read on: ${systemReason(error)}`, { cause: error });
      }
      if (length === 0) return;
      yield length === CHUNK_BYTES ? chunk : chunk.subarray(0, length);
    }
  } finally {
    await handle.close();
  }
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return path.resolve(file);
  }
}
