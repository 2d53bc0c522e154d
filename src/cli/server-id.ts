import { randomInt } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { ReplicationError } from "../base/error.ts";

/** Above what people number by hand, below the 32 bits that a server id has. */
const DRAWN_MIN = 1_000_000_000;
const DRAWN_MAX = 3_000_000_000;

/** The server id of a folder: drawn at random once, then always the same, so that the source sees one and the same replica. */
export function folderServerId(folder: string): number {
  const file = path.join(folder, "server-id");
  if (existsSync(file)) {
    const text = readFileSync(file, "utf8").trim();
    if (/^\d{1,10}$/.test(text) && Number(text) > 0) return Number(text);
    throw new ReplicationError("CONFIG", `${file} holds no server id`, {
      hint: "remove the file, or give --server-id",
    });
  }
  const drawn = randomInt(DRAWN_MIN, DRAWN_MAX);
  mkdirSync(folder, { recursive: true });
  writeFileSync(file, `${drawn}\n`);
  return drawn;
}
