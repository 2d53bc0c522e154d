import { open, type FileHandle } from "node:fs/promises";
import { ReplicationError, type Where } from "../base/error.ts";
import { systemReason } from "../base/system-error.ts";

/** `ENOSPC` and the like; undefined for an error that is none of the system's. */
export function errnoOf(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Full disk, quota, or a limit on file size: what an operator can lift while we wait. */
const FULL = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** A failure of the file system as the operator's error: DISK_FULL, which may be tried again, or RELAY_LOG. */
export function diskError(error: unknown, what: string, where: Where): ReplicationError {
  if (error instanceof ReplicationError) return error.at(where);
  const errno = errnoOf(error);
  const cause = systemReason(error);
  if (errno !== undefined && FULL.has(errno)) {
    return new ReplicationError("DISK_FULL", `${what}: ${cause}`, {
      where,
      hint: "free space on the relay log's disk; receiving goes on by itself",
      cause: error,
    });
  }
  return new ReplicationError("RELAY_LOG", `${what}: ${cause}`, {
    where,
    hint: "check the disk and the folder's permissions, then start again: the relay log is repaired at start",
    cause: error,
  });
}

/** Writes all of the buffers from `offset` on: the system may take less than asked, as it does just before the disk is full. */
export async function writeFully(handle: FileHandle, buffers: Buffer[], offset: number): Promise<void> {
  let rest = buffers;
  let at = offset;
  while (rest.length > 0) {
    const { bytesWritten } = await handle.writev(rest, at);
    at += bytesWritten;
    rest = withoutFirst(rest, bytesWritten);
  }
}

function withoutFirst(buffers: Buffer[], bytes: number): Buffer[] {
  let skip = bytes;
  for (const [index, buffer] of buffers.entries()) {
    if (skip < buffer.length) return [buffer.subarray(skip), ...buffers.slice(index + 1)];
    skip -= buffer.length;
  }
  return [];
}

/** Reads until `into` is full or the file ends; gives the number of bytes. */
export async function readFully(handle: FileHandle, into: Buffer, offset: number): Promise<number> {
  let length = 0;
  while (length < into.length) {
    const { bytesRead } = await handle.read(into, length, into.length - length, offset + length);
    if (bytesRead === 0) break;
    length += bytesRead;
  }
  return length;
}

/** Makes names in the folder durable: a new file or a rename is lost with the power until its folder is synced. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
