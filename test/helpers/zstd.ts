import { le } from "./binlog-event.ts";

/** A zstd frame that holds the bytes as they are, in raw blocks of that size (RFC 8878, 3.1.1): what a decompressor reads, without a compressor. */
export function zstdOfRawBlocks(bytes: Buffer, blockBytes: number): Buffer {
  // Magic; a descriptor without content size or checksum; a window of 2 MiB.
  const parts: Buffer[] = [Buffer.of(0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58)];
  for (let at = 0; at < bytes.length || at === 0; at += blockBytes) {
    const block = bytes.subarray(at, at + blockBytes);
    const last = at + blockBytes >= bytes.length ? 1 : 0;
    parts.push(le(3, (block.length << 3) | last), block);
  }
  return Buffer.concat(parts);
}
