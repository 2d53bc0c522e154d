import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { RowDataPacket } from "mysql2/promise";
import { expect } from "vitest";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import { scanBinlog } from "./binlog-scan.ts";
import type { Scan } from "./binlog-scan.ts";
import { query } from "./servers.ts";

/** What `mysqlbinlog -v` says of a file: where events begin, and how many rows of each kind it holds. */
interface Listing {
  offsets: number[];
  rows: { write: number; update: number; delete: number };
}

async function list(server: SandboxServer, path: string): Promise<Listing> {
  const { file, args, env } = server.command("mysqlbinlog", ["--base64-output=decode-rows", "--verbose", path]);
  const { stdout } = await promisify(execFile)(file, args, { env, maxBuffer: 1 << 28, encoding: "latin1" });
  const count = (pattern: RegExp): number => stdout.match(pattern)?.length ?? 0;
  const offsets = new Set<number>();
  for (const [, offset] of stdout.matchAll(/^# at (\d+)$/gm)) offsets.add(Number(offset));
  return {
    offsets: [...offsets].toSorted((a, b) => a - b),
    rows: {
      write: count(/^### INSERT INTO/gm),
      update: count(/^### UPDATE/gm),
      delete: count(/^### DELETE FROM/gm),
    },
  };
}

/**
 * Reads a closed binlog file of the server with our code, and expects the server to see the same events at the same places: SHOW BINLOG EVENTS for their types,
 * mysqlbinlog (where the server comes with one) for the rows in them.
 */
export async function expectAgreement(server: SandboxServer, file: string): Promise<Scan> {
  const path = join(server.dataFolder, file);
  const scan = scanBinlog(readFileSync(path));
  expect(scan.fault).toBeUndefined();
  expect(scan.grammarFault).toBeUndefined();
  expect(scan.state).toBe("outside");

  const shown = await query<RowDataPacket[]>(server, `SHOW BINLOG EVENTS IN '${file}'`);
  expect(scan.events.map(({ name }) => name)).toEqual(shown.map((row) => row["Event_type"] as string));
  // The server gives events inside a compressed payload the payload's end as their position.
  const places = shown.map((row) => row["Pos"] as number);
  for (const [i, { offset, inPayload }] of scan.events.entries()) if (!inPayload) expect(places[i]).toBe(offset);

  if (server.installation.mysqlbinlog !== undefined) {
    const listing = await list(server, path);
    const ours = scan.events.filter(({ inPayload }) => !inPayload).map(({ offset }) => offset);
    expect(listing.offsets).toEqual(ours);
    expect(rowsByKind(scan)).toEqual(listing.rows);
  }
  return scan;
}

function rowsByKind(scan: Scan): Listing["rows"] {
  const rows = { write: 0, update: 0, delete: 0 };
  for (const event of scan.events) {
    if (event.decoded.kind === "rows") rows[event.decoded.operation] += event.rows ?? 0;
  }
  return rows;
}

/** The file that the server writes to now, closed: a new one is begun. */
export async function closeBinlog(server: SandboxServer): Promise<string> {
  const rows = await query<RowDataPacket[]>(server, "SHOW BINARY LOGS");
  await query(server, "FLUSH BINARY LOGS");
  return rows.at(-1)?.["Log_name"] as string;
}
