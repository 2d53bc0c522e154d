import { createHash } from "node:crypto";

/**
 * Ed25519 signatures (RFC 8032, 5.1.6) with a secret of any length: MariaDB's `ed25519` plugin takes the password itself where the standard has a 32-byte
 * seed, so node:crypto cannot do it. Used once per login; not constant-time, which matters to nobody who can only watch the network.
 */
export function signEd25519(secret: Buffer, message: Buffer): Buffer {
  const expanded = sha512(secret);
  const scalarBytes = Buffer.from(expanded.subarray(0, 32));
  scalarBytes[0] = (scalarBytes[0] as number) & 248;
  scalarBytes[31] = ((scalarBytes[31] as number) & 127) | 64;
  const scalar = toInteger(scalarBytes);
  const publicKey = encode(multiply(BASE, scalar));
  const nonce = toInteger(sha512(expanded.subarray(32), message)) % ORDER;
  const commitment = encode(multiply(BASE, nonce));
  const challenge = toInteger(sha512(commitment, publicKey, message)) % ORDER;
  return Buffer.concat([commitment, toBytes((nonce + challenge * scalar) % ORDER)]);
}

/** Extended coordinates: x = X/Z, y = Y/Z, T = XY/Z. */
interface Point {
  x: bigint;
  y: bigint;
  z: bigint;
  t: bigint;
}

const PRIME = 2n ** 255n - 19n;
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;
const D = modulo(-121665n * inverse(121666n));
const BASE_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202n;
const BASE_Y = 46316835694926478169428394003475163141307993866256225615783033603165251855960n;
const BASE: Point = { x: BASE_X, y: BASE_Y, z: 1n, t: modulo(BASE_X * BASE_Y) };

function multiply(point: Point, scalar: bigint): Point {
  let sum: Point = { x: 0n, y: 1n, z: 1n, t: 0n };
  let doubled = point;
  for (let left = scalar; left > 0n; left >>= 1n) {
    if ((left & 1n) === 1n) sum = add(sum, doubled);
    doubled = add(doubled, doubled);
  }
  return sum;
}

/** The complete addition of RFC 8032, 5.1.4: it serves for doubling too. */
function add(p: Point, q: Point): Point {
  const a = modulo((p.y - p.x) * (q.y - q.x));
  const b = modulo((p.y + p.x) * (q.y + q.x));
  const c = modulo(2n * p.t * q.t * D);
  const d = modulo(2n * p.z * q.z);
  const e = b - a;
  const f = d - c;
  const g = d + c;
  const h = b + a;
  return { x: modulo(e * f), y: modulo(g * h), z: modulo(f * g), t: modulo(e * h) };
}

function encode(point: Point): Buffer {
  const inverted = inverse(point.z);
  const bytes = toBytes(modulo(point.y * inverted));
  if ((modulo(point.x * inverted) & 1n) === 1n) bytes[31] = (bytes[31] as number) | 0x80;
  return bytes;
}

function modulo(value: bigint): bigint {
  const rest = value % PRIME;
  return rest < 0n ? rest + PRIME : rest;
}

/** By Fermat: value^(p-2). */
function inverse(value: bigint): bigint {
  let result = 1n;
  let power = modulo(value);
  for (let exponent = PRIME - 2n; exponent > 0n; exponent >>= 1n) {
    if ((exponent & 1n) === 1n) result = modulo(result * power);
    power = modulo(power * power);
  }
  return result;
}

function toInteger(littleEndian: Buffer): bigint {
  return BigInt(`0x${Buffer.from(littleEndian.toReversed()).toString("hex")}`);
}

function toBytes(value: bigint): Buffer {
  return Buffer.from(Buffer.from(value.toString(16).padStart(64, "0"), "hex").toReversed());
}

function sha512(...parts: Buffer[]): Buffer {
  const hash = createHash("sha512");
  for (const part of parts) hash.update(part);
  return hash.digest();
}
