import { ReplicationError } from "../../base/error.ts";
import { eventType } from "../../binlog/event.ts";
import { EVENT_TYPE } from "../../binlog/event-type.ts";
import { decodeFormatDescription } from "../../binlog/events/format-description.ts";
import { BinlogFileSplitter } from "../../binlog/file-reader.ts";
import type { BinlogInput } from "./input.ts";

const SERVER_ID_OFFSET = 5;
const FLAVOURS = { mysql: "MySQL", mariadb: "MariaDB" } as const;

/**
 * Says that these files are of different servers: `binlog.000001 is of server 1 (MySQL), …`; undefined when they are of one, as far as their first events tell. What is read as one log
 * is one server's: of a mix, order, rates and what waits for what have no meaning.
 */
export async function mixedOrigins(inputs: readonly BinlogInput[]): Promise<string | undefined> {
  if (inputs.length < 2) return undefined;
  const firstOf = new Map<string, string>();
  for (const input of inputs) {
    const origin = await originOf(input);
    if (origin !== undefined && !firstOf.has(origin)) firstOf.set(origin, input.name);
  }
  if (firstOf.size < 2) return undefined;
  return [...firstOf].map(([origin, name]) => `${name} is of ${origin}`).join(", ");
}

/** Of the server that wrote the file; undefined where nobody can tell, or what is read once is gone then. */
async function originOf(input: BinlogInput): Promise<string | undefined> {
  if (input.path === undefined) return undefined;
  const splitter = new BinlogFileSplitter({ verify: false });
  try {
    for await (const chunk of input.chunks()) {
      splitter.feed(chunk);
      const event = splitter.next();
      if (event === undefined) continue;
      if (eventType(event) !== EVENT_TYPE.FORMAT_DESCRIPTION) return undefined;
      const { flavour } = decodeFormatDescription(event).format;
      return `server ${event.readUInt32LE(SERVER_ID_OFFSET)} (${FLAVOURS[flavour]})`;
    }
  } catch (error) {
    // It is told as a fault by whoever reads the file.
    if (!(error instanceof ReplicationError)) throw error;
  }
  return undefined;
}
