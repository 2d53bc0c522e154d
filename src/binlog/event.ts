/**
 * A binlog event is a `Buffer` from the first header byte to the last, its checksum included when the format has one. These readers take fields where
 * they lie, so that an event travels untouched and nothing is copied on the way (header layout: libbinlogevents/include/binlog_event.h, MySQL 8.0).
 */
export const EVENT_HEADER_LENGTH = 19;

/** Seconds since 1970; 0 in artificial events (fake Rotate, heartbeats). */
export const eventTimestamp = (event: Buffer): number => event.readUInt32LE(0);
export const eventType = (event: Buffer): number => event[4] as number;
export const eventServerId = (event: Buffer): number => event.readUInt32LE(5);
export const eventLength = (event: Buffer): number => event.readUInt32LE(9);
/** End of the event in the source's file, low 32 bits only; 0 in artificial events and inside groups of MariaDB 11.4+. */
export const eventEndPosition = (event: Buffer): number => event.readUInt32LE(13);
export const eventFlags = (event: Buffer): number => event.readUInt16LE(17);

export const EVENT_FLAG = {
  BINLOG_IN_USE: 0x1,
  THREAD_SPECIFIC: 0x4,
  SUPPRESS_USE: 0x8,
  ARTIFICIAL: 0x20,
  RELAY_LOG: 0x40,
  IGNORABLE: 0x80,
  NO_FILTER: 0x100,
} as const;
