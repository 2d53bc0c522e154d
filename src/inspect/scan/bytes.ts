/**
 * Numbers where they lie, low byte first. Behind the end of the bytes they read as zeros, never as a fault: whoever reads checks lengths first. Faster than Buffer's methods, which
 * check each call.
 */
export const u16 = (bytes: Uint8Array, at: number): number => (bytes[at] as number) | ((bytes[at + 1] as number) << 8);

export const u24 = (bytes: Uint8Array, at: number): number => u16(bytes, at) | ((bytes[at + 2] as number) << 16);

export const u32 = (bytes: Uint8Array, at: number): number =>
  (u24(bytes, at) | ((bytes[at + 3] as number) << 24)) >>> 0;

export const u48 = (bytes: Uint8Array, at: number): number => u32(bytes, at) + u16(bytes, at + 4) * 0x1_0000_0000;

/** 7 or 8 bytes as a double, exact to 2^53: clocks, and numbers of transactions. */
export const u56 = (bytes: Uint8Array, at: number): number => u32(bytes, at) + u24(bytes, at + 4) * 0x1_0000_0000;

export const u64 = (bytes: Uint8Array, at: number): number => u32(bytes, at) + u32(bytes, at + 4) * 0x1_0000_0000;
