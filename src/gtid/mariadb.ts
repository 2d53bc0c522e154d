import { ReplicationError } from "../base/error.ts";
import { ByteReader } from "../base/reader.ts";

export interface MariadbGtid {
  domainId: number;
  serverId: number;
  sequence: bigint;
}

/** The server fills an empty list up to what a comment query would take that replaces it for old replicas. */
const EMPTY_LIST_LENGTH = 6;

const GTID = /^(\d{1,10})-(\d{1,10})-(\d{1,20})$/;

export const formatMariadbGtid = (gtid: MariadbGtid): string => `${gtid.domainId}-${gtid.serverId}-${gtid.sequence}`;

/** @throws ReplicationError CONFIG when `text` is not of the form `domain-server-sequence`. */
export function parseMariadbGtid(text: string): MariadbGtid {
  const match = GTID.exec(text.trim());
  const gtid = match && {
    domainId: Number(match[1]),
    serverId: Number(match[2]),
    sequence: BigInt(match[3] as string),
  };
  if (!gtid || gtid.domainId > 0xffff_ffff || gtid.serverId > 0xffff_ffff || gtid.sequence > 0xffff_ffff_ffff_ffffn) {
    throw new ReplicationError("CONFIG", `"${text}" is no MariaDB GTID`, { hint: "write it like 0-1-100" });
  }
  return gtid;
}

/**
 * Where a replica of a MariaDB source stands: the last GTID applied in each replication domain, like gtid_slave_pos.
 *
 * Invariant: one entry per domain. After a failover the new source's server id takes the old one's place; two entries in one domain would ask the source for
 * a position that no stream ever had, and it would refuse or send transactions twice.
 */
export class MariadbGtidPosition {
  readonly #domains = new Map<number, MariadbGtid>();
  /** The highest sequence of each server in each domain, as far as this object has seen: the server calls it the binlog state. */
  readonly #servers = new Map<number, Map<number, bigint>>();

  /** Reads `0-1-100,1-2-5`. @throws ReplicationError CONFIG when it is no position, or names a domain twice. */
  static parse(text: string): MariadbGtidPosition {
    const position = new MariadbGtidPosition();
    if (text.trim() === "") return position;
    for (const part of text.split(",")) {
      const gtid = parseMariadbGtid(part);
      if (position.#domains.has(gtid.domainId)) {
        throw new ReplicationError("CONFIG", `the position "${text}" names domain ${gtid.domainId} twice`, {
          hint: "keep the GTID applied last in each domain",
        });
      }
      position.update(gtid.domainId, gtid.serverId, gtid.sequence);
    }
    return position;
  }

  /** Reads the body of a Gtid_list event. Of several entries of one domain (one for each server that wrote in it) the newest is the last. */
  static decode(body: Buffer): MariadbGtidPosition {
    const position = new MariadbGtidPosition();
    for (const { domainId, serverId, sequence } of decodeGtidListBody(body).gtids) {
      position.update(domainId, serverId, sequence);
    }
    return position;
  }

  /** The body of a Gtid_list event that `decode` reads. */
  encode(): Buffer {
    const gtids = this.entries();
    const bytes = Buffer.alloc(gtids.length === 0 ? EMPTY_LIST_LENGTH : 4 + 16 * gtids.length);
    let offset = bytes.writeUInt32LE(gtids.length);
    for (const gtid of gtids) {
      offset = bytes.writeUInt32LE(gtid.domainId, offset);
      offset = bytes.writeUInt32LE(gtid.serverId, offset);
      offset = bytes.writeBigUInt64LE(gtid.sequence, offset);
    }
    return bytes;
  }

  /** The domain's entry becomes this one, whatever it was. Only for a transaction that has ended. */
  update(domainId: number, serverId: number, sequence: bigint): void {
    const entry = this.#domains.get(domainId);
    if (entry === undefined) {
      this.#domains.set(domainId, { domainId, serverId, sequence });
    } else {
      entry.serverId = serverId;
      entry.sequence = sequence;
    }
    const servers = this.#servers.get(domainId);
    if (servers === undefined) this.#servers.set(domainId, new Map([[serverId, sequence]]));
    else if (sequence > (servers.get(serverId) ?? -1n)) servers.set(serverId, sequence);
  }

  get(domainId: number): MariadbGtid | undefined {
    const entry = this.#domains.get(domainId);
    return entry && { ...entry };
  }

  /**
   * Whether that GTID is at or before one of the same server that was the entry of its domain. Sequences of two servers say nothing about each other: after a failover without
   * gtid_strict_mode 0-1013-100 may follow 0-963-200.
   */
  covers({ domainId, serverId, sequence }: MariadbGtid): boolean {
    return sequence <= (this.#servers.get(domainId)?.get(serverId) ?? -1n);
  }

  /** By domain. */
  entries(): MariadbGtid[] {
    return [...this.#domains.values()].sort((a, b) => a.domainId - b.domainId).map((gtid) => ({ ...gtid }));
  }

  clone(): MariadbGtidPosition {
    const position = new MariadbGtidPosition();
    for (const gtid of this.#domains.values()) position.#domains.set(gtid.domainId, { ...gtid });
    for (const [domainId, servers] of this.#servers) position.#servers.set(domainId, new Map(servers));
    return position;
  }

  get isEmpty(): boolean {
    return this.#domains.size === 0;
  }

  equals(other: MariadbGtidPosition): boolean {
    return this.toString() === other.toString();
  }

  toString(): string {
    return this.entries().map(formatMariadbGtid).join(",");
  }
}

/**
 * A Gtid_list event's body (Gtid_list_log_event, sql/log_event.cc, MariaDB 10.11):
 *
 *     u32 count in the lower 28 bits, flags above; count × { u32 domain, u32 server, u64 sequence }; without any, two bytes of filler
 */
export function decodeGtidListBody(body: Buffer): { gtids: MariadbGtid[]; flags: number } {
  const reader = new ByteReader(body);
  const head = reader.u32();
  const count = head & 0x0fff_ffff;
  if (count * 16 > reader.remaining) reader.fail(`a Gtid_list of ${count} entries is shorter than that`);
  const gtids: MariadbGtid[] = [];
  for (let i = 0; i < count; i++) {
    gtids.push({ domainId: reader.u32(), serverId: reader.u32(), sequence: reader.u64() });
  }
  return { gtids, flags: (head & 0xf000_0000) >>> 0 };
}
