import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import type { ServerAddress } from "../../base/server-url.ts";
import { Session } from "../../wire/session.ts";

/** More than this waits in one direction of a connection: its sender is held back, as by a full network. */
const WAITING_BYTES_MAX = 8 * 1024 * 1024;
const MEASUREMENTS = 50;

/**
 * A TCP relay on 127.0.0.1 in front of a server that is far away: what either side sends arrives half a round trip later. Only time is added: bandwidth is the
 * machine's, and what is sent in one piece need not arrive in one.
 *
 * Invariant: bytes stay in order, and each waits on its own: a second command sent right behind the first arrives right behind it, so pipelining pays as it does
 * on a real network.
 */
export class SlowLink {
  readonly address: ServerAddress;
  readonly #server: Server;
  readonly #sockets: ReadonlySet<Socket>;

  static async open(target: ServerAddress, roundTripMs: number): Promise<SlowLink> {
    const sockets = new Set<Socket>();
    const server = createServer((client) => {
      const upstream = connect(target.port, target.host);
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        sockets.add(from);
        from.setNoDelay(true);
        from.on("error", () => to.destroy());
        from.on("close", () => {
          sockets.delete(from);
          to.destroy();
        });
        relay(from, to, roundTripMs / 2);
      }
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    return new SlowLink({ ...target, host: "127.0.0.1", port }, server, sockets);
  }

  private constructor(address: ServerAddress, server: Server, sockets: ReadonlySet<Socket>) {
    this.address = address;
    this.#server = server;
    this.#sockets = sockets;
  }

  /** What the smallest query takes through the link: timers are not exact, so it is measured (mean of 50). */
  async measureMs(): Promise<number> {
    const session = await Session.connect(this.address);
    try {
      await session.execute("DO 1");
      const startMs = performance.now();
      for (let i = 0; i < MEASUREMENTS; i++) await session.execute("DO 1");
      return (performance.now() - startMs) / MEASUREMENTS;
    } finally {
      await session.close();
    }
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }
}

/** Gives `work` a server at a distance; without one, the server itself. */
export async function withLink<T>(
  address: ServerAddress,
  roundTripMs: number | undefined,
  work: (address: ServerAddress, link: SlowLink | undefined) => Promise<T>,
): Promise<T> {
  if (roundTripMs === undefined) return work(address, undefined);
  const link = await SlowLink.open(address, roundTripMs);
  try {
    return await work(link.address, link);
  } finally {
    await link.close();
  }
}

/** Timers of the same length end in the order in which they began, so the bytes do too. */
function relay(from: Socket, to: Socket, delayMs: number): void {
  let waiting = 0;
  from.on("data", (bytes: Buffer) => {
    waiting += bytes.length;
    if (waiting > WAITING_BYTES_MAX) from.pause();
    setTimeout(() => {
      waiting -= bytes.length;
      if (!to.destroyed) to.write(bytes);
      if (waiting <= WAITING_BYTES_MAX) from.resume();
    }, delayMs);
  });
  from.on("end", () => setTimeout(() => to.end(), delayMs));
}
