/** Time as a value from outside, so that tests drive it. Milliseconds since 1970, UTC. */
export interface Clock {
  nowMs(): number;
}

export const systemClock: Clock = { nowMs: () => Date.now() };
