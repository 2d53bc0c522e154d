import { readFile } from "node:fs/promises";
import net from "node:net";
import type { TLSSocket } from "node:tls";
import mysql from "mysql2";
import { ReplicationError } from "../base/error.ts";
import { describeAddress, type ServerAddress } from "../base/server-url.ts";
import { systemReason } from "../base/system-error.ts";
import { ed25519Plugin, parsecPlugin } from "./mariadb-auth.ts";
import { sqlErrorCode, SqlError } from "./sql-error.ts";

export interface LoginOptions {
  /** For TCP, TLS and the login together. */
  connectTimeoutMs?: number;
  /** Shown in performance_schema.session_connect_attrs. */
  programName?: string;
  /** For Session.executeWithFile. The server can then ask for a file at any time, and is refused at any other. */
  localFiles?: boolean;
  /** An UPDATE tells how many rows it changed, not how many it found: what most clients of the servers ask for. */
  changedRows?: boolean;
}

/** A socket on which the server waits for the first command, with nothing unread and no listener that would take its data. */
export interface LoggedIn {
  socket: net.Socket;
  connectionId: number;
  /** The version string of the server's greeting. */
  serverVersion: string;
}

const CONNECT_TIMEOUT_MS = 10_000;
/** Seconds of silence before the kernel probes: a peer that vanished without a FIN is noticed in about two minutes even where nobody expects data. */
const KEEP_ALIVE_DELAY_MS = 30_000;
/** utf8mb4_general_ci: the newest collation that MySQL 5.6 knows too. */
const UTF8MB4_GENERAL_CI = 45;

/**
 * What we take back from the capabilities that mysql2 asks for. Query attributes put bytes before the text of COM_QUERY, session tracking puts some into
 * OK packets, LOCAL_FILES lets a server ask for our files, IGNORE_SPACE and ODBC change how text is parsed. It never asks for DEPRECATE_EOF or, unless told
 * to, for compression. FOUND_ROWS (matched, not changed rows are counted; see `changedRows`) and multiple results stay.
 */
const FLAGS = ["-CLIENT_QUERY_ATTRIBUTES", "-SESSION_TRACK", "-LOCAL_FILES", "-IGNORE_SPACE", "-ODBC"];

/**
 * Opens a TCP connection, encrypts it if asked to, and logs in with whatever authentication plugin the server wants. mysql2 does the login; the socket
 * then belongs to the caller.
 * @throws ReplicationError CONNECT when trying later can help, ACCESS_DENIED when it cannot; neither names the password
 */
export async function login(address: ServerAddress, options: LoginOptions = {}): Promise<LoggedIn> {
  const deadline = AbortSignal.timeout(options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS);
  const ca = address.caFile === undefined ? undefined : await readAuthority(address.caFile);
  const tcp = await connectTcp(address, deadline);
  await checkGreeting(tcp, address, deadline);
  tcp.setNoDelay(true);
  tcp.setKeepAlive(true, KEEP_ALIVE_DELAY_MS);
  // mysql2 hands the socket on to tls.connect, which checks a certificate against this name when the address is a bare IP.
  Reflect.set(tcp, "_host", address.host);

  return new Promise((resolve, reject) => {
    const connection = mysql.createConnection({
      user: address.user,
      password: address.password,
      host: address.host,
      port: address.port,
      stream: tcp,
      connectTimeout: 0,
      charsetNumber: UTF8MB4_GENERAL_CI,
      multipleStatements: true,
      flags: [
        ...FLAGS.filter((flag) => flag !== "-LOCAL_FILES" || options.localFiles !== true),
        ...(options.changedRows === true ? ["-FOUND_ROWS"] : []),
      ],
      enableCleartextPlugin: address.tls !== "off",
      authPlugins: { client_ed25519: ed25519Plugin(address.password), parsec: parsecPlugin(address.password) },
      connectAttributes: { program_name: options.programName ?? "abreast" },
      ...(address.tls === "off"
        ? {}
        : {
            ssl: {
              rejectUnauthorized: address.tls === "verify",
              verifyIdentity: address.tls === "verify",
              ...(ca === undefined ? {} : { ca }),
            },
          }),
    });
    const onTimeout = (): void => fail(tooLate(address));
    const fail = (error: ReplicationError): void => {
      deadline.removeEventListener("abort", onTimeout);
      tcp.destroy();
      reject(error);
    };
    deadline.addEventListener("abort", onTimeout);
    tcp.resume();
    // Stays for good: what mysql2 says of a socket that is no longer its own must not end the process.
    connection.on("error", (error) => fail(loginError(address, error)));
    connection.once("connect", (handshake: { connectionId: number; serverVersion: string }) => {
      deadline.removeEventListener("abort", onTimeout);
      resolve({
        socket: takeSocket(connection),
        connectionId: handshake.connectionId,
        serverVersion: handshake.serverVersion,
      });
    });
  });
}

/**
 * Takes the socket (the TLS one, if encrypted) away from mysql2. `_closing` makes its remaining listeners silent when the socket ends; the listeners
 * themselves stay, since those of `node:tls` hang on the same socket.
 */
function takeSocket(connection: mysql.Connection): net.Socket {
  const inner = connection as unknown as { stream: net.Socket | TLSSocket };
  Reflect.set(connection, "_closing", true);
  inner.stream.removeAllListeners("data");
  inner.stream.pause();
  return inner.stream;
}

function connectTcp(address: ServerAddress, deadline: AbortSignal): Promise<net.Socket> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ host: address.host, port: address.port });
    const onTimeout = (): void => {
      socket.destroy();
      reject(tooLate(address));
    };
    const onError = (error: Error): void => {
      deadline.removeEventListener("abort", onTimeout);
      reject(loginError(address, error));
    };
    deadline.addEventListener("abort", onTimeout);
    socket.once("error", onError);
    socket.once("connect", () => {
      deadline.removeEventListener("abort", onTimeout);
      socket.removeListener("error", onError);
      resolve(socket);
    });
  });
}

/**
 * Waits for the first bytes and leaves them to be read, paused: a server begins with its handshake, version 10, or an error, as packet 0 (Protocol::HandshakeV10).
 * What another service says would be waited for as a packet of megabytes.
 */
function checkGreeting(socket: net.Socket, address: ServerAddress, deadline: AbortSignal): Promise<void> {
  const server = describeAddress(address);
  return new Promise((resolve, reject) => {
    const settle = (error?: ReplicationError): void => {
      deadline.removeEventListener("abort", onTimeout);
      socket.off("data", onData).off("error", onError).off("end", onEnd);
      if (error === undefined) return resolve();
      socket.on("error", () => {}).destroy();
      reject(error);
    };
    let greeting = Buffer.alloc(0);
    const onData = (chunk: Buffer): void => {
      greeting = Buffer.concat([greeting, chunk]);
      if (greeting.length < GREETING_BYTES) return;
      if (greeting[3] !== 0 || (greeting[4] !== HANDSHAKE_V10 && greeting[4] !== ERROR_PACKET)) {
        return settle(
          new ReplicationError("CONNECT", `${server}: this is no MySQL or MariaDB server`, {
            retry: "never",
            hint: "give the port on which the server takes its clients, usually 3306",
          }),
        );
      }
      socket.pause();
      socket.unshift(greeting);
      settle();
    };
    const onTimeout = (): void => settle(tooLate(address));
    const onError = (error: Error): void => settle(loginError(address, error));
    const onEnd = (): void => settle(closedEarly(server));
    deadline.addEventListener("abort", onTimeout);
    socket.on("data", onData).on("error", onError).on("end", onEnd);
  });
}

/** Up to the protocol's version. */
const GREETING_BYTES = 5;
const HANDSHAKE_V10 = 10;
const ERROR_PACKET = 0xff;

function tooLate(address: ServerAddress): ReplicationError {
  return new ReplicationError("CONNECT", `${describeAddress(address)} did not answer in time`, {
    hint: "check host and port, that a MySQL or MariaDB server listens there, and the firewalls in between",
  });
}

function closedEarly(server: string, cause?: unknown): ReplicationError {
  return new ReplicationError("CONNECT", `${server} closed the connection during the login`, {
    hint: "check that a MySQL or MariaDB server listens there; its error log says more",
    cause,
  });
}

async function readAuthority(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (cause) {
    throw new ReplicationError(
      "CONFIG",
      `the certificate authority's file ${file} cannot be read: ${systemReason(cause)}`,
      {
        hint: "check its name and permissions",
        cause,
      },
    );
  }
}

function loginError(address: ServerAddress, error: unknown): ReplicationError {
  if (error instanceof ReplicationError) return error;
  const { code, errno, sqlState, message } = error as {
    code?: string;
    errno?: unknown;
    sqlState?: string;
    message: string;
  };
  const server = describeAddress(address);
  if (typeof errno === "number" && errno > 0 && sqlState !== undefined) {
    const kind = sqlErrorCode(errno);
    return new SqlError(
      kind === "ACCESS_DENIED" ? kind : "CONNECT",
      `${server} refused the login: ${message} (error ${errno})`,
      errno,
      sqlState,
      {
        hint:
          kind === "ACCESS_DENIED"
            ? "check the user, the password and from which hosts this user may log in"
            : "look at max_connections, the limits of this user and the server's error log",
      },
    );
  }
  if (code === "HANDSHAKE_NO_SSL_SUPPORT") {
    return new ReplicationError("CONNECT", `${server} offers no TLS`, {
      retry: "never",
      hint: "use tls=off, or give the server a certificate",
    });
  }
  if (code === "HANDSHAKE_SSL_ERROR" || message.includes("certificate")) {
    return new ReplicationError("CONNECT", `${server}: TLS failed: ${message}`, {
      retry: "never",
      hint: "use tls=verify with ca=FILE of the authority that signed the certificate, or tls=on",
      cause: error,
    });
  }
  if (code === "AUTH_SWITCH_PLUGIN_ERROR" || code === "MYSQL_CLEAR_PASSWORD_NOT_ENABLED") {
    return new ReplicationError("ACCESS_DENIED", `${server}: the login failed: ${message}`, {
      hint: code === "AUTH_SWITCH_PLUGIN_ERROR" ? "use another authentication plugin for this user" : "use tls=on",
      cause: error,
    });
  }
  if (code === "PROTOCOL_CONNECTION_LOST") {
    return closedEarly(server, error);
  }
  const text = code ?? (message === "" ? "no connection" : message);
  return new ReplicationError("CONNECT", `${server} cannot be reached: ${text}`, {
    hint: REACH_HINTS[text] ?? "check host and port, and that the server runs",
    cause: error,
  });
}

const REACH_HINTS: Readonly<Record<string, string>> = {
  ECONNREFUSED: "check host and port, and that the server runs and listens there (bind_address, skip_networking)",
  ENOTFOUND: "check the host's name",
  EAI_AGAIN: "check the host's name, and that names can be resolved",
  ETIMEDOUT: "check host and port, and the firewalls in between",
  EHOSTUNREACH: "check host and port, and the firewalls in between",
};
