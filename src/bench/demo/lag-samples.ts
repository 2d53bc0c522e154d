/** What was seen of the lag, sampled at even intervals. Unknown lags are left out. */
export class LagSamples {
  readonly #samplesMs: number[] = [];

  add(lagMs: number | undefined): void {
    if (lagMs !== undefined) this.#samplesMs.push(lagMs);
  }

  get maxMs(): number | undefined {
    return this.#samplesMs.length === 0 ? undefined : Math.max(...this.#samplesMs);
  }

  /** Not exceeded by 95 of 100 samples. */
  get p95Ms(): number | undefined {
    return this.#samplesMs.toSorted((a, b) => a - b)[Math.ceil(this.#samplesMs.length * 0.95) - 1];
  }
}
