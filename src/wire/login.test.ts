import { createServer, type AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { freePort } from "../sandbox/port.ts";
import { login } from "./login.ts";

/** Whatever listens there is spoken to as to a server; `greeting`: its first bytes, undefined: it hangs up. */
async function loginTo(greeting: Buffer | undefined): Promise<unknown> {
  const listener = createServer((socket) => {
    socket.on("error", () => {});
    if (greeting === undefined) socket.end();
    else socket.write(greeting);
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  try {
    return await failureAt((listener.address() as AddressInfo).port);
  } finally {
    listener.close();
  }
}

function failureAt(port: number): Promise<unknown> {
  const address = { host: "127.0.0.1", port, user: "root", password: "", tls: "off" as const };
  return login(address, { connectTimeoutMs: 500 }).then(
    () => "logged in",
    (error: unknown) => error,
  );
}

describe("a port that is not a server's", () => {
  test.each([
    ["a shell", Buffer.from("SSH-2.0-OpenSSH_9.6\r\n")],
    ["a mail server", Buffer.from("220 mail ESMTP\r\n")],
    ["MySQL's X protocol", Buffer.from("050000000b08051a00", "hex")],
  ])("of %s is told at once, and trying again cannot help", async (_, greeting) => {
    expect(await loginTo(greeting)).toMatchObject({
      code: "CONNECT",
      retry: "never",
      message: expect.stringContaining("this is no MySQL or MariaDB server"),
      hint: expect.stringContaining("3306"),
    });
  });

  test("where nothing is said, nothing listens or the other side hangs up, it says what to check", async () => {
    const listens = expect.stringContaining("MySQL or MariaDB server listens there");
    expect(await loginTo(Buffer.alloc(0))).toMatchObject({
      code: "CONNECT",
      retry: "later",
      message: expect.stringContaining("did not answer in time"),
      hint: listens,
    });
    expect(await loginTo(undefined)).toMatchObject({ code: "CONNECT", retry: "later", hint: listens });
    expect(await failureAt(await freePort())).toMatchObject({
      code: "CONNECT",
      retry: "later",
      message: expect.stringMatching(/ cannot be reached: ECONNREFUSED$/),
      hint: expect.stringContaining("that the server runs"),
    });
  });
});
