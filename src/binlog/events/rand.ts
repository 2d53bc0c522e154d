import type { BinlogFormat } from "../format.ts";
import { bodyReader } from "./body.ts";

export interface RandEvent {
  kind: "rand";
  seed1: bigint;
  seed2: bigint;
}

/** RAND (13): `u64 rand_seed1; u64 rand_seed2`, for the statement that follows. */
export function decodeRand(event: Buffer, format: BinlogFormat): RandEvent {
  const reader = bodyReader(event, format);
  return { kind: "rand", seed1: reader.u64(), seed2: reader.u64() };
}
