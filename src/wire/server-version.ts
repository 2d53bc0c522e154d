/** What differs between server versions and that we depend on. The version each came with is in FEATURES. */
export type ServerFeature =
  /** SHOW BINARY LOG STATUS; MariaDB never had it and keeps SHOW MASTER STATUS. */
  | "show-binary-log-status"
  /** SHOW MASTER STATUS, gone with MySQL 8.4. */
  | "show-master-status"
  /** SHOW REPLICA STATUS, in the place of SHOW SLAVE STATUS. */
  | "show-replica-status"
  | "show-slave-status"
  /** Variables and plugins say source and replica besides (8.0.26) or instead of (8.4) master and slave. */
  | "source-replica-names"
  /** GTIDs at all: MySQL's sets since 5.6, MariaDB's positions since 10.0. */
  | "gtid"
  /** `uuid:tag:n`, MySQL 8.3. */
  | "tagged-gtid"
  /** transaction_isolation; before it, and in MariaDB up to 11.0, tx_isolation. */
  | "transaction-isolation"
  /** Semi-synchronous replication is built in, not a plugin: MariaDB 10.3.3. */
  | "semi-sync-built-in"
  /** performance_schema tables of replication workers, MySQL 5.7. */
  | "replication-applier-tables"
  /** START TRANSACTION WITH CONSISTENT SNAPSHOT gives binlog coordinates: MariaDB's binlog_snapshot_* status variables. */
  | "binlog-snapshot-status"
  /** WITH syntax (common table expressions). */
  | "cte"
  /** `SET PERSIST`, MySQL 8.0. */
  | "set-persist";

type Numbers = readonly [major: number, minor: number, patch: number];
interface Since {
  mysql?: Numbers;
  mysqlUntil?: Numbers;
  mariadb?: Numbers;
}

const ALWAYS: Numbers = [0, 0, 0];
const FEATURES: Record<ServerFeature, Since> = {
  "show-binary-log-status": { mysql: [8, 2, 0] },
  "show-master-status": { mysql: ALWAYS, mysqlUntil: [8, 4, 0], mariadb: ALWAYS },
  "show-replica-status": { mysql: [8, 0, 22], mariadb: [10, 5, 1] },
  "show-slave-status": { mysql: ALWAYS, mysqlUntil: [8, 4, 0], mariadb: ALWAYS },
  "source-replica-names": { mysql: [8, 0, 26] },
  gtid: { mysql: [5, 6, 5], mariadb: [10, 0, 2] },
  "tagged-gtid": { mysql: [8, 3, 0] },
  "transaction-isolation": { mysql: [5, 7, 20], mariadb: [11, 1, 1] },
  "semi-sync-built-in": { mariadb: [10, 3, 3] },
  "replication-applier-tables": { mysql: [5, 7, 2] },
  "binlog-snapshot-status": { mariadb: [5, 3, 0] },
  cte: { mysql: [8, 0, 1], mariadb: [10, 2, 1] },
  "set-persist": { mysql: [8, 0, 0] },
};

/** A server's flavour and number, read from the version string of its greeting or of `SELECT VERSION()`. */
export class ServerVersion {
  readonly text: string;
  readonly flavour: "mysql" | "mariadb";
  readonly major: number;
  readonly minor: number;
  readonly patch: number;

  constructor(text: string) {
    this.text = text;
    this.flavour = /mariadb/i.test(text) ? "mariadb" : "mysql";
    // MariaDB puts 5.5.5- before its own number, for replicas that would take a first digit of 10 for 1 (`sql/mysqld.cc`, RPL_VERSION_HACK).
    const own = this.flavour === "mariadb" ? text.replace(/^5\.5\.5-(?=\d+\.)/, "") : text;
    const numbers = /^(\d+)\.(\d+)(?:\.(\d+))?/.exec(own);
    this.major = Number(numbers?.[1] ?? 0);
    this.minor = Number(numbers?.[2] ?? 0);
    this.patch = Number(numbers?.[3] ?? 0);
  }

  /** `9.7.4`, `10.11.19`. */
  get number(): string {
    return `${this.major}.${this.minor}.${this.patch}`;
  }

  atLeast(major: number, minor = 0, patch = 0): boolean {
    if (this.major !== major) return this.major > major;
    if (this.minor !== minor) return this.minor > minor;
    return this.patch >= patch;
  }

  has(feature: ServerFeature): boolean {
    const since = FEATURES[feature];
    const from = this.flavour === "mysql" ? since.mysql : since.mariadb;
    if (from === undefined || !this.atLeast(...from)) return false;
    return this.flavour === "mariadb" || since.mysqlUntil === undefined || !this.atLeast(...since.mysqlUntil);
  }

  /** The statement that shows the current binlog file, position and executed GTIDs. Its columns File, Position are the same everywhere. */
  get showBinlogStatus(): string {
    return this.has("show-binary-log-status") ? "SHOW BINARY LOG STATUS" : "SHOW MASTER STATUS";
  }

  /** The statement that shows the server's own replication; its column names differ (Source_…, Master_…). */
  get showReplicaStatus(): string {
    return this.has("show-replica-status") ? "SHOW REPLICA STATUS" : "SHOW SLAVE STATUS";
  }
}
