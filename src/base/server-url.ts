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
const ENCODE = `write it like ${EXAMPLE}, with %40 for @, %3A for :, %2F for /, %3F for ?, %23 for # and %25 for % in a password`;

/**
 * Reads `mysql://user:password@host:port/?tls=off|on|verify&ca=FILE` (also `mariadb://`). User and password are percent-decoded.
 * @throws ReplicationError CONFIG, which never quotes the password.
 */
export function parseServerUrl(text: string, name: string): ServerAddress {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new ReplicationError("CONFIG", `${name} is no URL`, { hint: ENCODE });
  }
  // A `?` or `#` of the password ends the URL's host early: what follows may not be quoted either.
  if (url.hash !== "" || url.search.includes("@")) {
    throw new ReplicationError("CONFIG", `${name} is no URL`, { hint: ENCODE });
  }
  if (url.protocol !== "mysql:" && url.protocol !== "mariadb:") {
    throw new ReplicationError("CONFIG", `${name} starts with ${url.protocol}// instead of mysql://`, {
      hint: `write it like ${EXAMPLE}`,
    });
  }
  if (url.pathname !== "" && url.pathname !== "/") {
    throw new ReplicationError("CONFIG", `${name} names a database, but a whole server is replicated`, {
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
    user: decode(url.username, name) || "root",
    password: decode(url.password, name),
    tls,
    ...(caFile === null ? {} : { caFile }),
  };
}

function decode(text: string, name: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw new ReplicationError("CONFIG", `${name} has a % that encodes nothing`, { hint: ENCODE });
  }
}

/** `user@host:port`, for messages: never the password. */
export function describeAddress(address: ServerAddress): string {
  return `${address.user}@${address.host}:${address.port}`;
}
