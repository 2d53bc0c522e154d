import type { RowDataPacket } from "mysql2/promise";
import { silentLog } from "../../src/base/log.ts";
import { Writesets } from "../../src/engine/writesets.ts";
import type { SandboxServer } from "../../src/sandbox/start.ts";
import type { KeyHashName } from "../../src/schedule/writeset/key-hash.ts";
import type { Writeset } from "../../src/schedule/writeset.ts";
import type { Transaction } from "../../src/transaction/transaction.ts";
import { Session } from "../../src/wire/session.ts";
import { assembleFiles, binlogFiles, runAll } from "./assemble.ts";
import { query } from "./servers.ts";

/** What the server logs for the statements, each its own transaction unless they say otherwise. */
export async function transactionsOf(server: SandboxServer, statements: readonly string[]): Promise<Transaction[]> {
  await query(server, "FLUSH BINARY LOGS");
  await runAll(server, statements);
  const files = await binlogFiles(server);
  return assembleFiles(files.slice(-1)).transactions;
}

/** The writesets of the row transactions among the statements, by the keys that the same server has when all have run. */
export async function writesetsOf(
  server: SandboxServer,
  statements: readonly string[],
  options: { target?: SandboxServer; hash?: KeyHashName } = {},
): Promise<Writeset[]> {
  const transactions = (await transactionsOf(server, statements)).filter(({ kind }) => kind !== "ddl");
  return withWritesets(options.target ?? server, options.hash ?? "xxhash64", async (writesets) => {
    const made: Writeset[] = [];
    for (const transaction of transactions) made.push(await writesets.of(transaction));
    return made;
  });
}

export async function withWritesets<T>(
  target: SandboxServer,
  hash: KeyHashName,
  work: (writesets: Writesets, session: Session) => Promise<T>,
): Promise<T> {
  const session = await Session.connect(target.address);
  const writesets = new Writesets({
    session: () => session,
    hash,
    log: silentLog,
    signal: new AbortController().signal,
  });
  try {
    return await work(writesets, session);
  } finally {
    await session.close();
  }
}

/** Whether the two must be applied in order, as a policy sees it by their hashes. */
export function conflict(a: Writeset, b: Writeset): boolean {
  const writes = new Set(a.writes);
  return (
    b.writes.some((hash) => writes.has(hash) || a.reads.includes(hash)) || b.reads.some((hash) => writes.has(hash))
  );
}

export interface TextColumn {
  /** `VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci`. */
  type: string;
  /** Of the key; 0: the whole column. */
  prefix?: number;
}

/**
 * For each pair of the texts: whether their keys have the same hash, and whether the server calls them equal (of a prefix: what the prefix leaves). Lists of pairs, to be
 * compared with each other.
 */
export async function equalTexts(
  server: SandboxServer,
  { type, prefix = 0 }: TextColumn,
  texts: readonly string[],
): Promise<{ byHash: string[]; byServer: string[] }> {
  const literal = (text: string): string => `CONVERT(X'${Buffer.from(text).toString("hex")}' USING utf8mb4)`;
  await query(
    server,
    `CREATE DATABASE IF NOT EXISTS texts; USE texts; DROP TABLE IF EXISTS u, v;
     CREATE TABLE u(v ${type} NOT NULL, UNIQUE(v${prefix > 0 ? `(${prefix})` : ""})); CREATE TABLE v(id INT PRIMARY KEY, v ${type} NOT NULL)`,
  );
  const inserted = texts.map((text, id) => `(${id},${literal(text)})`);
  await query(server, `USE texts; INSERT INTO v VALUES ${inserted.join(",")}`);
  const writesets = await writesetsOf(server, [
    "USE texts",
    ...texts.flatMap((text) => [`INSERT INTO u VALUES (${literal(text)})`, "DELETE FROM u"]),
  ]);
  const hashes = writesets.filter((_, index) => index % 2 === 0).map(({ writes }) => writes[0]);
  const byHash = texts.flatMap((a, i) =>
    texts.flatMap((b, j) =>
      i < j && hashes[i] !== undefined && hashes[i] === hashes[j] ? [JSON.stringify([a, b])] : [],
    ),
  );
  const cut = (side: string): string => (prefix > 0 ? `LEFT(${side}.v,${prefix})` : `${side}.v`);
  const rows = await query<RowDataPacket[]>(
    server,
    `SELECT a.id i, b.id j FROM texts.v a JOIN texts.v b ON a.id<b.id AND ${cut("a")}=${cut("b")} ORDER BY i, j`,
  );
  const byServer = rows.map(({ i, j }) => JSON.stringify([texts[i as number], texts[j as number]]));
  if (writesets.some(({ opaque, fallback }) => opaque || fallback)) byHash.push("opaque");
  return { byHash, byServer };
}
