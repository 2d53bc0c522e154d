import { createConnection } from "mysql2/promise";
import type { Connection, QueryResult } from "mysql2/promise";
import { afterAll, beforeAll } from "vitest";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { startServer } from "../../src/sandbox/start.ts";
import type { SandboxServer, StartServerOptions } from "../../src/sandbox/start.ts";

export type TestServerOptions = Omit<StartServerOptions, "flavour">;

/** Starts a server, runs the test with it and stops it, also after a failure. A server that cannot be had fails the test. */
export async function withServer<T>(
  flavour: ServerFlavour,
  options: TestServerOptions,
  test: (server: SandboxServer) => Promise<T>,
): Promise<T> {
  const server = await startServer({ onProgress: report, ...options, flavour });
  try {
    return await test(server);
  } finally {
    await server.stop();
  }
}

/**
 * One server for all tests of the file or `describe` block that calls it: started before the first, stopped after the last.
 * Returns how to get at it; call that inside tests and hooks only.
 */
export function useServer(flavour: ServerFlavour, options: TestServerOptions = {}): () => SandboxServer {
  let server: SandboxServer | undefined;
  beforeAll(async () => {
    server = await startServer({ onProgress: report, ...options, flavour });
  });
  afterAll(async () => {
    await server?.stop();
  });
  return () => {
    if (server === undefined) throw new Error(`${flavour} is not running: useServer's result is for tests and hooks`);
    return server;
  };
}

/** Runs statements (several may be in one text) on a connection of its own; returns mysql2's result, rows for a SELECT. */
export async function query<T extends QueryResult>(
  server: SandboxServer,
  sql: string,
  values?: readonly unknown[],
): Promise<T> {
  return withConnection(server, async (connection) => {
    const [result] = await connection.query<T>(sql, values as unknown[] | undefined);
    return result;
  });
}

/** A connection for a session's state (transactions, variables), closed afterwards. */
export async function withConnection<T>(
  server: SandboxServer,
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const { host, port, user, password } = server.address;
  const connection = await createConnection({
    host,
    port,
    user,
    password,
    multipleStatements: true,
    supportBigNumbers: true,
    bigNumberStrings: false,
    dateStrings: true,
  });
  try {
    return await work(connection);
  } finally {
    await connection.end().catch(() => {});
  }
}

/** Fetching takes seconds: the one who waits sees why. Starting from the cache says nothing. */
function report(text: string): void {
  process.stderr.write(`${text}\n`);
}
