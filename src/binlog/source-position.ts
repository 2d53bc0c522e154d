import { EVENT_TYPE } from "./event-type.ts";
import { EVENT_FLAG, eventEndPosition, eventFlags, eventType } from "./event.ts";

const HIGH_UNIT = 0x1_0000_0000;

/**
 * The source's true position after an event, from the position before it. The header has the low 32 bits of the event's end: the high part is carried along, since files
 * grow past 4 GiB with one big transaction. It has 0 in artificial events, which move nothing, and from MariaDB 11.4 on inside groups, where
 * the event's own length is the step (the group's last event has the true end again; sql/log_event.h, MDEV-31273).
 * Gaps are normal: the source leaves out what the replica has or does not want. The file that a Rotate names is the caller's business.
 */
export function nextSourcePosition(position: number, event: Buffer): number {
  const low = eventEndPosition(event);
  if (low === 0) return movesNothing(event) ? position : position + event.length;
  const low0 = position % HIGH_UNIT;
  const high = position - low0;
  if (low >= low0) return high + low;
  // An end before the start: past a multiple of 4 GiB when far back. A little back happens with no event that the servers write; the position then stays.
  return low0 - low > HIGH_UNIT / 2 ? high + HIGH_UNIT + low : position;
}

function movesNothing(event: Buffer): boolean {
  const type = eventType(event);
  return (
    (eventFlags(event) & EVENT_FLAG.ARTIFICIAL) !== 0 ||
    type === EVENT_TYPE.FORMAT_DESCRIPTION ||
    type === EVENT_TYPE.ROTATE ||
    type === EVENT_TYPE.HEARTBEAT ||
    type === EVENT_TYPE.HEARTBEAT_V2
  );
}
