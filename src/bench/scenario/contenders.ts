import type { PolicyName } from "../../schedule/policies/policies.ts";
import type { ServerFlavour } from "../../sandbox/flavours.ts";
import { type AbreastContender, type NativeContender, nativeContender } from "../contest/contender.ts";

/** The server's own replica at its best, in the source's commit order where it can. */
export const native = (server: ServerFlavour, workers: number): NativeContender => nativeContender(server, workers);

/** Abreast as a user gets it, but for the number of workers. */
export function abreast(workers: number): AbreastContender {
  return { name: `abreast-${workers}`, who: "abreast", workers, policy: "auto", commitOrder: "preserve", gtid: "own" };
}

/** Abreast with one policy, each transaction a commit of its own: packed, policies matter little, because a pack needs only one worker. */
export function abreastUnpacked(policy: PolicyName, workers: number): AbreastContender {
  return { ...abreast(workers), name: `abreast-${policy}-${workers}`, policy, engine: { packTransactionsMax: 1 } };
}

/**
 * Makes a source of MySQL 8.4 and later write its commit order as logical clock, as 5.7 and 8.0 do by default. The option for it is gone, but a history with room for
 * one key never holds the keys of a transaction: each then has all before it as parents that its commit order does not exclude (sql/rpl_trx_tracking.cc,
 * Writeset_trx_dependency_tracker::get_dependency, 9.x). None where the server has no such history.
 */
export const commitOrderSource = (server: ServerFlavour): string[] =>
  server === "mysql-9.7" ? ["--binlog-transaction-dependency-history-size=1"] : [];
