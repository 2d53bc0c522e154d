import fc from "fast-check";
import { expect, test } from "vitest";
import { ReplicationError } from "./error.ts";
import { describeAddress, parseServerUrl } from "./server-url.ts";

test("a short URL means the server's usual port, the user root and no encryption", () => {
  expect(parseServerUrl("mysql://db", "--source")).toEqual({
    host: "db",
    port: 3306,
    user: "root",
    password: "",
    tls: "off",
  });
});

test("a long URL says everything", () => {
  expect(parseServerUrl("mariadb://repl:s%40cret@[::1]:3307/?tls=verify&ca=/etc/ca.pem", "--source")).toEqual({
    host: "::1",
    port: 3307,
    user: "repl",
    password: "s@cret",
    tls: "verify",
    caFile: "/etc/ca.pem",
  });
});

test("any password survives its encoding, and a description never shows it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", minLength: 1 }), (password) => {
      const address = parseServerUrl(`mysql://u:${encodeURIComponent(password)}@db:3307/`, "--source");
      expect(address.password).toBe(password);
      expect(describeAddress(address)).toBe("u@db:3307");
    }),
  );
});

test.each([
  ["db", "is no URL"],
  ["mysql://root:hunter2#x@db/", "is no URL"],
  ["mysql://root:12?hunter2@db/", "is no URL"],
  ["mysql://root:hunter2%@db/", "has a % that encodes nothing"],
  ["http://root:hunter2@db/", "starts with http:// instead of mysql://"],
  ["mysql://root:hunter2@db/shop", "names a database, but a whole server is replicated"],
  ["mysql://root:hunter2@db/?tls=maybe", "has tls=maybe"],
  ["mysql://root:hunter2@db/?ssl=1", "has an unknown parameter ssl"],
])("%s is refused without quoting its password", (text, what) => {
  let refusal: unknown;
  try {
    parseServerUrl(text, "--source");
  } catch (error) {
    refusal = error;
  }
  expect(refusal).toBeInstanceOf(ReplicationError);
  expect(refusal).toMatchObject({ code: "CONFIG", message: `--source ${what}` });
  expect(`${(refusal as ReplicationError).message} ${(refusal as ReplicationError).hint}`).not.toContain("hunter2");
});
