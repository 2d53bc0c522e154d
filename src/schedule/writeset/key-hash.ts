import xxhash from "xxhash-wasm";

/** As the server's transaction_write_set_extraction calls them. */
export type KeyHashName = "xxhash64" | "murmur32";

/** Hashes the first `length` of `bytes` to a whole number below 2^53. */
export type KeyHash = (bytes: Uint8Array, length: number) => number;

/** Asynchronous only because WebAssembly is made ready so. 53 of XXHASH64's 64 bits: what a number holds exactly. */
export async function loadKeyHash(name: KeyHashName): Promise<KeyHash> {
  if (name === "murmur32") return murmur32;
  const wasm = await xxhash();
  return (bytes, length) => Number(BigInt.asUintN(53, wasm.h64Raw(bytes.subarray(0, length))));
}

/** MurmurHash3_x86_32 with seed 0. */
export function murmur32(bytes: Uint8Array, length: number): number {
  let h = 0;
  const whole = length & ~3;
  for (let i = 0; i < whole; i += 4) {
    const word =
      (bytes[i] as number) |
      ((bytes[i + 1] as number) << 8) |
      ((bytes[i + 2] as number) << 16) |
      ((bytes[i + 3] as number) << 24);
    h ^= mixWord(word);
    h = (h << 13) | (h >>> 19);
    h = (Math.imul(h, 5) + 0xe6546b64) | 0;
  }
  let tail = 0;
  for (let i = length - 1; i >= whole; i--) tail = (tail << 8) | (bytes[i] as number);
  if (length > whole) h ^= mixWord(tail);
  h ^= length;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

function mixWord(word: number): number {
  const k = Math.imul(word, 0xcc9e2d51);
  return Math.imul((k << 15) | (k >>> 17), 0x1b873593);
}
