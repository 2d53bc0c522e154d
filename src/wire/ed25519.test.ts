import { createPrivateKey, createPublicKey, verify } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { signEd25519 } from "./ed25519.ts";

test("the first two vectors of RFC 8032, 7.1", () => {
  const seed1 = Buffer.from("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60", "hex");
  expect(signEd25519(seed1, Buffer.alloc(0)).toString("hex")).toBe(
    "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
  );
  const seed2 = Buffer.from("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb", "hex");
  expect(signEd25519(seed2, Buffer.from("72", "hex")).toString("hex")).toBe(
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
  );
});

const bytes32 = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => Buffer.from(bytes));

test("signatures with a 32-byte secret are those of node:crypto", () => {
  fc.assert(
    fc.property(bytes32, bytes32, (seed, message) => {
      const der = Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), seed]);
      const key = createPublicKey(createPrivateKey({ key: der, format: "der", type: "pkcs8" }));
      expect(verify(null, message, key, signEd25519(seed, message))).toBe(true);
    }),
    { numRuns: 10 },
  );
});
