/** What a FORMAT_DESCRIPTION event says of the events that follow it: enough to read them. */
export interface BinlogFormat {
  /** 4 since MySQL 5.0; 1 and 3 are older. */
  binlogVersion: number;
  /** As the server wrote it: `9.7.4`, `10.11.19-MariaDB-log`. */
  serverVersion: string;
  flavour: "mysql" | "mariadb";
  /** Whether every event ends in 4 bytes of CRC32. */
  checksum: "none" | "crc32";
  /** 19 in version 4. */
  headerLength: number;
  /** Post-header length by event type: index is the type, 0 for unknown types (libbinlogevents FDE: `post_header_len[type - 1]`). */
  postHeaderLengths: Uint8Array;
}

/** Whether events of the one can be read by the other's description. Every binlog file has a description of its own, and most are alike. */
export function isSameFormat(a: BinlogFormat, b: BinlogFormat): boolean {
  return (
    a === b ||
    (a.serverVersion === b.serverVersion &&
      a.checksum === b.checksum &&
      Buffer.compare(a.postHeaderLengths, b.postHeaderLengths) === 0)
  );
}
