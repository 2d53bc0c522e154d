const FIRST_MS = 100;
/** A source that comes back is found within this time, and one that is gone for long is not pestered. */
export const BACK_OFF_MS_MAX = 30_000;

/**
 * How long to wait before the n-th attempt in a row (from 0): twice as long each time, from 0.1 s to 30 s, and of that a random part between half and all,
 * so that many replicas do not come back at one instant. `random` is in [0, 1).
 */
export function backOffMs(attempt: number, random: number, msMax: number = BACK_OFF_MS_MAX): number {
  const full = Math.min(msMax, FIRST_MS * 2 ** Math.min(attempt, 20));
  return Math.round(full / 2 + (full / 2) * random);
}
