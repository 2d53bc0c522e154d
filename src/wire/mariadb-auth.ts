import { createPrivateKey, pbkdf2Sync, randomBytes, sign } from "node:crypto";
import { signEd25519 } from "./ed25519.ts";

/** What mysql2 calls for each authentication packet of the server; it sends back what this returns. */
type Plugin = () => (data: Buffer) => Buffer;

const NONCE_LENGTH = 32;

/** MariaDB's `ed25519` plugin: the server's nonce signed with the password as secret (`plugin/auth_ed25519`, 10.1). */
export function ed25519Plugin(password: string): Plugin {
  return () => (nonce) => signEd25519(Buffer.from(password), nonce.subarray(0, NONCE_LENGTH));
}

/**
 * MariaDB's `parsec` plugin (`plugin/auth_parsec`, 11.6): the server sends a nonce, then, asked by an empty packet, how to stretch the password: `P`, the
 * iterations as 1024 << n, a salt. Both nonces are signed with the stretched password.
 */
export function parsecPlugin(password: string): Plugin {
  return () => {
    let serverNonce: Buffer | undefined;
    return (data) => {
      if (serverNonce === undefined) {
        serverNonce = Buffer.from(data.subarray(0, NONCE_LENGTH));
        return Buffer.alloc(0);
      }
      // 11.8.4 and later repeat the 0x01 that marks the packet.
      const stretch = data[0] === 1 ? data.subarray(1) : data;
      if (stretch[0] !== 0x50 || stretch.length < 3) throw new Error("parsec: unknown way to stretch the password");
      const iterations = 1024 << (stretch[1] as number);
      const seed = pbkdf2Sync(password, stretch.subarray(2), iterations, 32, "sha512");
      const clientNonce = randomBytes(NONCE_LENGTH);
      const key = createPrivateKey({ key: Buffer.concat([PKCS8_ED25519, seed]), format: "der", type: "pkcs8" });
      return Buffer.concat([clientNonce, sign(null, Buffer.concat([serverNonce, clientNonce]), key)]);
    };
  };
}

/** The DER bytes in front of a 32-byte Ed25519 seed (RFC 8410). */
const PKCS8_ED25519 = Buffer.from("302e020100300506032b657004220420", "hex");
