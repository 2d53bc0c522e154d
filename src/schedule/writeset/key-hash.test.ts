import { expect, test } from "vitest";
import { loadKeyHash, murmur32 } from "./key-hash.ts";

// Of the algorithms' own test vectors: seed 0.
test.each([
  ["", 0],
  ["a", 0x3c2569b2],
  ["abc", 0xb3dd93fa],
  ["test", 0xba6bd213],
  ["Hello, world!", 0xc0363e43],
  ["The quick brown fox jumps over the lazy dog", 0x2e4ff723],
])("murmur32 of %j", (text, hash) => {
  const bytes = Buffer.from(text);
  expect(murmur32(bytes, bytes.length)).toBe(hash);
  expect(murmur32(Buffer.concat([bytes, Buffer.from("more")]), bytes.length)).toBe(hash);
});

test.each([
  ["", 0xef46db3751d8e999n],
  ["a", 0xd24ec4f1a98c6e5bn],
  ["abc", 0x44bc2cf5ad770999n],
])("the low 53 bits of xxhash64 of %j", async (text, hash) => {
  const bytes = Buffer.from(text);
  const xxhash64 = await loadKeyHash("xxhash64");
  expect(xxhash64(bytes, bytes.length)).toBe(Number(BigInt.asUintN(53, hash)));
});
