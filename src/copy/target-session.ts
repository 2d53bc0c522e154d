import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { ReplicationError } from "../base/error.ts";
import type { ServerAddress } from "../base/server-url.ts";
import { quoteText } from "../schema/names.ts";
import { Session } from "../wire/session.ts";
import { SqlError } from "../wire/sql-error.ts";

/** How long a session of ours that broke off may hold its lock before we end it. */
const STALE_LOCK_SECONDS = 5;

/**
 * Opens a session on the target that writes: values arrive as they are, and nothing in the definitions or rows of another server is refused for its age or order.
 * No two sessions of one channel and `number` exist at a time: until a former one is gone nobody knows what it still commits.
 */
export async function openTargetSession(address: ServerAddress, channel: string, number: number): Promise<Session> {
  const session = await Session.connect(address);
  try {
    await takeLock(session, copyLockName(channel, number));
    await setUpTarget(session);
    return session;
  } catch (error) {
    session.destroy();
    throw error;
  }
}

/** From the first loss of the target to giving up: about five minutes. */
export const BACK_OFF_MS = [
  100, 250, 500, 1000, 2000, 5000, 5000, 10_000, 10_000, 10_000, 30_000, 30_000, 60_000, 60_000,
];

/** The session that holds the copy's lock and works on definitions; opened anew when it was lost. */
export class ControlSession {
  readonly #address: ServerAddress;
  readonly #channel: string;
  readonly #signal: AbortSignal;
  #session: Session | undefined;

  constructor(address: ServerAddress, channel: string, signal: AbortSignal) {
    this.#address = address;
    this.#channel = channel;
    this.#signal = signal;
  }

  /** @throws ReplicationError FENCED: another process copies this channel to this target; CONNECT at once when it never worked */
  async get(): Promise<Session> {
    if (this.#session?.closed === false) return this.#session;
    for (let attempt = 0; ; attempt++) {
      this.#signal.throwIfAborted();
      try {
        this.#session = await openControlSession(this.#address, this.#channel);
        return this.#session;
      } catch (error) {
        const isLost =
          error instanceof ReplicationError && (error.code === "CONNECT" || error.code === "CONNECTION_LOST");
        if (!isLost || this.#session === undefined || attempt >= BACK_OFF_MS.length) throw error;
        await sleep(BACK_OFF_MS[attempt], undefined, { signal: this.#signal });
      }
    }
  }

  async close(): Promise<void> {
    await this.#session?.close();
  }
}

async function openControlSession(address: ServerAddress, channel: string): Promise<Session> {
  const session = await Session.connect(address);
  try {
    const name = quoteText(copyLockName(channel, undefined));
    if ((await session.queryValue(`SELECT GET_LOCK(${name},${2 * STALE_LOCK_SECONDS})`)) !== "1") {
      throw new ReplicationError("FENCED", `another initial copy of channel "${channel}" runs on this target`, {
        where: { server: session.server },
        hint: "wait for it, or stop it",
      });
    }
    await setUpTarget(session);
    return session;
  } catch (error) {
    session.destroy();
    throw error;
  }
}

async function takeLock(session: Session, lock: string): Promise<void> {
  const name = quoteText(lock);
  while ((await session.queryValue(`SELECT GET_LOCK(${name},${STALE_LOCK_SECONDS})`)) !== "1") {
    const holder = await session.queryValue(`SELECT IS_USED_LOCK(${name})`);
    // It may have gone by itself meanwhile.
    if (holder) await session.execute(`KILL ${holder}`).catch(() => {});
  }
}

async function setUpTarget(session: Session): Promise<void> {
  await session.execute("SET NAMES binary");
  // Days that no calendar has, and an AUTO_INCREMENT of 0, were let in once.
  await session.execute("SET SESSION sql_mode='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', time_zone='+00:00'");
  await session.execute(
    "SET SESSION foreign_key_checks=0, wait_timeout=31536000, net_read_timeout=3600, net_write_timeout=3600, autocommit=1",
  );
  // Each is only on some servers, or needs a right that the user may not have; where it matters, a statement will say so.
  for (const setting of OPTIONAL_SETTINGS) {
    try {
      await session.execute(`SET SESSION ${setting}`);
    } catch (error) {
      if (!(error instanceof SqlError) || error.code === "CONNECTION_LOST") throw error;
    }
  }
}

const OPTIONAL_SETTINGS = [
  // Tables without a key stay without.
  "sql_require_primary_key=0",
  "sql_generate_invisible_primary_key=0",
  // Foreign keys on columns that are not unique (MySQL 8.4).
  "restrict_fk_on_non_standard_key=0",
  // A first TIMESTAMP column gets no defaults of its own.
  "explicit_defaults_for_timestamp=1",
  // Row formats and sizes of older servers.
  "innodb_strict_mode=0",
  // MariaDB: rows need not satisfy a CHECK that came later, or was not enforced.
  "check_constraint_checks=0",
];

/** At most 64 characters, MySQL's limit. */
function copyLockName(channel: string, number: number | undefined): string {
  const name = `abreast/${channel}/copy${number === undefined ? "" : `/${number}`}`;
  if (/^[\x20-\x7e]{1,64}$/.test(name)) return name;
  return `abreast#${createHash("sha256").update(name).digest("hex").slice(0, 50)}`;
}
