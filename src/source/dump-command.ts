import type { GtidSet } from "../gtid/mysql.ts";

const COM_BINLOG_DUMP = 0x12;
const COM_REGISTER_SLAVE = 0x15;
const COM_BINLOG_DUMP_GTID = 0x1e;

/** COM_BINLOG_DUMP has 32 bits for the position (`sql/rpl_source.cc` com_binlog_dump, `sql/sql_parse.cc` of MariaDB). */
export const DUMP_POSITION_MAX = 0xff_ff_ff_ff;

export interface Registration {
  serverId: number;
  /** Shown by SHOW REPLICAS; not resolved by anybody. At most 60 bytes. */
  reportHost: string;
  reportPort: number;
}

/** Makes us visible as a replica. User and password stay empty: the source would show them. */
export function registerCommand(registration: Registration): Buffer {
  const host = Buffer.from(registration.reportHost).subarray(0, 60);
  const command = Buffer.alloc(1 + 4 + 1 + host.length + 1 + 1 + 2 + 4 + 4);
  command[0] = COM_REGISTER_SLAVE;
  command.writeUInt32LE(registration.serverId, 1);
  command[5] = host.length;
  host.copy(command, 6);
  command.writeUInt16LE(registration.reportPort, 6 + host.length + 2);
  return command;
}

/** The stream from a file position, or with an empty file name whatever the session's variables say (MariaDB's @slave_connect_state). */
export function dumpCommand(serverId: number, file: string, position: number, stopsAtEnd = false): Buffer {
  const command = Buffer.alloc(1 + 4 + 2 + 4 + Buffer.byteLength(file));
  command[0] = COM_BINLOG_DUMP;
  command.writeUInt32LE(position, 1);
  if (stopsAtEnd) command.writeUInt16LE(BINLOG_DUMP_NON_BLOCK, 5);
  command.writeUInt32LE(serverId, 7);
  command.write(file, 11);
  return command;
}

/** The stream of every transaction that is not in `executed`, from the first file that can have one. */
export function dumpGtidCommand(serverId: number, executed: GtidSet): Buffer {
  const set = executed.encode();
  const command = Buffer.alloc(1 + 2 + 4 + 4 + 8 + 4 + set.length);
  command[0] = COM_BINLOG_DUMP_GTID;
  command.writeUInt16LE(BINLOG_THROUGH_GTID, 1);
  command.writeUInt32LE(serverId, 3);
  // Bytes 7 to 10: an empty file name; the position that follows is not looked at, but must not be below 4.
  command.writeBigUInt64LE(4n, 11);
  command.writeUInt32LE(set.length, 19);
  set.copy(command, 23);
  return command;
}

const BINLOG_THROUGH_GTID = 0x4;
/** The source ends the stream where it would wait for more (`sql/rpl_constants.h`, MySQL 8.0; `sql/sql_repl.h` of MariaDB). */
const BINLOG_DUMP_NON_BLOCK = 0x1;
