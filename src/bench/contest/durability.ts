export type Durability = "durable" | "relaxed";

/** The same for natives and ours: binlog on, replicated changes logged, so that the target could serve replicas and point-in-time recovery itself. */
export const DURABILITY_OPTIONS: Readonly<Record<Durability, readonly string[]>> = {
  durable: ["--sync-binlog=1", "--innodb-flush-log-at-trx-commit=1"],
  relaxed: ["--sync-binlog=0", "--innodb-flush-log-at-trx-commit=2"],
};
