import { ReplicationError } from "./error.ts";

/** How to reach and log in to a server. `tls`: `off`, `on` (encrypt), `verify` (encrypt and check the certificate). */
export interface ServerAddress {
  host: string;
  port: number;
  user: string;
  password: string;
  tls: "off" | "on" | "verify";
  /** PEM file of the authority, with `verify`. */
  caFile?: string;
}

const EXAMPLE = "mysql://user:password@host:3306/?tls=on";

/**
 * Reads `mysql://user:password@host:port/?tls=off|on|verify&ca=FILE` (also `mariadb://`). User and password are percent-decoded.
 * @throws ReplicationError CONFIG, which never quotes the password.
 */
export function parseServerUrl(text: string, name: string): ServerAddress {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new ReplicationError("CONFIG", `${name} is no URL`, { hint: `write it like ${EXAMPLE}` });
  }
  if (url.protocol !== "mysql:" && url.protocol !== "mariadb:") {
    throw new ReplicationError("CONFIG", `${name} starts with ${url.protocol}// instead of mysql://`, {
      hint: `write it like ${EXAMPLE}`,
    });
  }
  const tls = url.searchParams.get("tls") ?? "off";
  if (tls !== "off" && tls !== "on" && tls !== "verify") {
    throw new ReplicationError("CONFIG", `${name} has tls=${tls}`, { hint: "use tls=off, tls=on or tls=verify" });
  }
  for (const key of url.searchParams.keys()) {
    if (key !== "tls" && key !== "ca") {
      throw new ReplicationError("CONFIG", `${name} has an unknown parameter ${key}`, { hint: "known are tls and ca" });
    }
  }
  const caFile = url.searchParams.get("ca");
  return {
    host: url.hostname === "" ? "127.0.0.1" : url.hostname.replace(/^\[(.*)\]$/, "$1"),
    port: url.port === "" ? 3306 : Number(url.port),
    user: decodeURIComponent(url.username) || "root",
    password: decodeURIComponent(url.password),
    tls,
    ...(caFile === null ? {} : { caFile }),
  };
}

/** `user@host:port`, for messages: never the password. */
export function describeAddress(address: ServerAddress): string {
  return `${address.user}@${address.host}:${address.port}`;
}
