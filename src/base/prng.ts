/** Random numbers from a seed: the same seed gives the same numbers, so a failing run can be repeated. Not for secrets. */
export interface Prng {
  /** Uniform in [0, 1), 53 random bits. */
  next(): number;
  /** A whole number, uniform in `min` … `max`, both included. */
  integer(min: number, max: number): number;
}

/** sfc32 (Chris Doty-Humphrey's PractRand): 128 bits of state, fast on 32-bit integers. `stream` gives independent sequences of one seed. */
export function createPrng(seed: number, stream = 0): Prng {
  let a = seed | 0;
  let b = Math.floor(seed / 2 ** 32) | 0;
  let c = stream | 0;
  let counter = 1;

  function next32(): number {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  }

  // The generator's author asks for 12 rounds before similar seeds give unrelated numbers; 20 is on the safe side.
  for (let round = 0; round < 20; round++) next32();

  function next(): number {
    return (next32() * 2 ** 21 + (next32() >>> 11)) / 2 ** 53;
  }
  return { next, integer: (min, max) => min + Math.floor(next() * (max - min + 1)) };
}
