import { createServer, connect, type AddressInfo, type Socket } from "node:net";

/** What happens to one connection. Without any of these bytes pass both ways as they come. */
export interface ProxyPlan {
  /** Both sides are cut once exactly this many bytes of the server have reached the client, also in the middle of a packet. */
  cutAfterBytes?: number;
  /** Every chunk of the server is held back this long. */
  delayMs?: number;
}

export interface TcpProxy {
  readonly host: string;
  readonly port: number;
  /** How many connections were made through it. */
  readonly connections: number;
  /** Bytes from the server to clients, all connections. */
  readonly bytes: number;
  /** Cuts every open connection now. */
  cut(): void;
  /** From now on nothing of the server passes on the open connections, but they stay open: a network that swallows packets. */
  stall(): void;
  stop(): Promise<void>;
}

/** Stands between a client and a server; `plan` is asked for each new connection, by its number from 0. */
export async function startProxy(
  target: { host: string; port: number },
  plan: (connection: number) => ProxyPlan = () => ({}),
): Promise<TcpProxy> {
  const open = new Set<Socket>();
  const stalled = new WeakSet<Socket>();
  let connections = 0;
  let bytes = 0;

  const server = createServer((client) => {
    const { cutAfterBytes = Infinity, delayMs = 0 } = plan(connections++);
    const upstream = connect(target.port, target.host);
    let passed = 0;
    const cut = (): void => {
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.setNoDelay(true);
      socket.on("error", cut);
      socket.on("close", () => {
        open.delete(socket);
        cut();
      });
    }
    const pass = (chunk: Buffer): void => {
      if (client.destroyed || stalled.has(client)) return;
      const allowed = Math.min(chunk.length, cutAfterBytes - passed);
      passed += allowed;
      bytes += allowed;
      const reachesCut = passed >= cutAfterBytes;
      if (allowed > 0) {
        const isWritten = client.write(chunk.subarray(0, allowed), () => {
          if (reachesCut) cut();
        });
        // A slow client holds the server back, as without us.
        if (!isWritten && !reachesCut) {
          upstream.pause();
          client.once("drain", () => upstream.resume());
        }
      }
    };
    upstream.on("data", (chunk: Buffer) => (delayMs > 0 ? setTimeout(pass, delayMs, chunk) : pass(chunk)));
    client.pipe(upstream, { end: true });
  });

  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  const { port } = server.address() as AddressInfo;

  return {
    host: "127.0.0.1",
    port,
    get connections() {
      return connections;
    },
    get bytes() {
      return bytes;
    },
    cut() {
      for (const socket of open) socket.destroy();
    },
    stall() {
      for (const socket of open) stalled.add(socket);
    },
    async stop() {
      for (const socket of open) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
