import type { TransactionId } from "../../transaction/transaction.ts";

/** What a GTID is made of. The text is made only when it is shown. */
export interface GtidName {
  /** `uuid`, `uuid:tag`, MariaDB's `domain 0`; empty: the transaction has no GTID. */
  gtidSource: string;
  /** As a double: exact to 2^53, where no server gets. */
  gtidNumber: number;
  /** MariaDB's. */
  serverId: number;
}

const DOMAIN = "domain ";

export const domainSource = (domainId: number): string => `${DOMAIN}${domainId}`;

export const isDomain = (gtidSource: string): boolean => gtidSource.startsWith(DOMAIN);

/** `uuid:gno`, `uuid:tag:gno`, `domain-server-sequence`; null: it has none. */
export function gtidText({ gtidSource, gtidNumber, serverId }: GtidName): string | null {
  if (gtidSource === "") return null;
  if (isDomain(gtidSource)) return `${gtidSource.slice(DOMAIN.length)}-${serverId}-${gtidNumber}`;
  return `${gtidSource}:${gtidNumber}`;
}

export function idOf({ gtidSource, gtidNumber, serverId }: GtidName): TransactionId {
  if (gtidSource === "") return { kind: "anonymous" };
  if (isDomain(gtidSource)) {
    return {
      kind: "mariadb",
      domainId: Number(gtidSource.slice(DOMAIN.length)),
      serverId,
      sequence: BigInt(gtidNumber),
    };
  }
  const [uuid = "", tag = ""] = gtidSource.split(":");
  return { kind: "mysql", uuid, tag, gno: BigInt(gtidNumber) };
}
