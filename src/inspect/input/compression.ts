import { createGunzip } from "node:zlib";
import { Decompress } from "fzstd";
import { ReplicationError } from "../../base/error.ts";

export type Compression = "none" | "gzip" | "zstd";

const GZIP_MAGIC = 0x1f8b;
const ZSTD_MAGIC = 0xfd2f_b528;

/** By the file's first bytes. */
export function compressionOf(head: Buffer): Compression {
  if (head.length >= 2 && head.readUInt16BE(0) === GZIP_MAGIC) return "gzip";
  return head.length >= 4 && head.readUInt32LE(0) === ZSTD_MAGIC ? "zstd" : "none";
}

/** Compressed bytes given to gzip at a time: it packs 1,000 to 1 at most, so what comes out of one slice stays in bounds. */
const GZIP_SLICE_BYTES = 32 << 10;
/** The same for zstd, where 4 bytes can stand for a block of 128 KiB. */
const ZSTD_SLICE_BYTES = 2 << 10;

/** What was packed. A file that is cut or broken gives what comes before the fault, then the fault. @throws ReplicationError CORRUPT_EVENT */
export async function* gunzipped(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  const gunzip = createGunzip();
  let out: Buffer[] = [];
  const failures: Error[] = [];
  const take = (): Buffer[] => {
    const taken = out;
    out = [];
    return taken;
  };
  // Not by iteration: that would drop what is ready when a fault comes.
  gunzip.on("data", (piece: Buffer) => out.push(piece));
  // Nor by the callback of a write alone: zlib forgets it when the data is broken.
  let written = (): void => {};
  gunzip.on("error", (error) => {
    failures.push(error);
    written();
  });
  try {
    for await (const chunk of packed) {
      for (let at = 0; at < chunk.length && failures.length === 0; at += GZIP_SLICE_BYTES) {
        const slice = chunk.subarray(at, at + GZIP_SLICE_BYTES);
        await new Promise<void>((resolve) => {
          written = resolve;
          gunzip.write(slice, () => resolve());
        });
        yield* take();
      }
      if (failures.length > 0) break;
    }
    if (failures.length === 0) {
      await new Promise<void>((resolve) => {
        gunzip.once("end", resolve).once("error", () => resolve());
        gunzip.end();
      });
    }
    yield* take();
    if (failures.length > 0) throw broken("gzip", failures[0]);
  } finally {
    gunzip.destroy();
  }
}

/** As `gunzipped`. */
export async function* unzstded(packed: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let out: Buffer[] = [];
  const decompress = new Decompress((piece) => {
    if (piece.length > 0) out.push(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
  });
  const push = function* (slice: Uint8Array, isLast: boolean): Generator<Buffer> {
    let failure: unknown;
    try {
      decompress.push(slice, isLast);
    } catch (error) {
      failure = error;
    }
    yield* out;
    out = [];
    if (failure !== undefined) throw broken("zstd", failure);
  };
  for await (const chunk of packed) {
    for (let at = 0; at < chunk.length; at += ZSTD_SLICE_BYTES) {
      yield* push(chunk.subarray(at, at + ZSTD_SLICE_BYTES), false);
    }
  }
  yield* push(new Uint8Array(0), true);
}

function broken(what: string, cause: unknown): ReplicationError {
  const detail = cause instanceof Error ? cause.message : String(cause);
  return new ReplicationError("CORRUPT_EVENT", `its ${what} data is cut or broken: ${detail}`, { cause });
}
