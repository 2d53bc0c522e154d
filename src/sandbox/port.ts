import { createServer } from "node:net";

/** Whether nobody listens on this port of 127.0.0.1 now. */
export function isFreePort(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen({ host: "127.0.0.1", port }, () => server.close(() => resolve(true)));
  });
}

/** A port of 127.0.0.1 that nobody listens on now. Somebody may take it before it is used: then try another. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", reject);
    server.listen({ host: "127.0.0.1", port: 0 }, () => {
      const address = server.address();
      server.close(() => {
        if (address === null || typeof address === "string") reject(new Error("a TCP listener has no port"));
        else resolve(address.port);
      });
    });
  });
}
