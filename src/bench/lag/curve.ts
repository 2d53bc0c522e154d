/** Values at even steps from the start: the value of `values[i]` is of the time from `i * stepSeconds`; null where nothing was seen. */
export interface Curve {
  stepSeconds: number;
  values: (number | null)[];
}

/** What becomes of several values in one step: of a lag its peak, of a load its mean. */
export type Combine = "max" | "mean";

const STEPS_MAX = 512;

interface Step {
  sum: number;
  count: number;
  max: number;
}

/**
 * A curve that takes any number of values in bounded memory: when its steps run out, they become twice as long.
 *
 * Invariant: no value is lost to that, for neighbours are combined, not thinned; a short peak stays visible in a long run.
 */
export class BoundedCurve {
  readonly #combine: Combine;
  readonly #stepsMax: number;
  #stepSeconds: number;
  #steps: (Step | undefined)[] = [];

  constructor(combine: Combine, { stepSeconds, stepsMax = STEPS_MAX }: { stepSeconds: number; stepsMax?: number }) {
    this.#combine = combine;
    this.#stepSeconds = stepSeconds;
    this.#stepsMax = stepsMax;
  }

  /** `seconds` since the start; what was before it does not count. */
  add(seconds: number, value: number): void {
    if (seconds < 0) return;
    while (seconds >= this.#stepSeconds * this.#stepsMax) this.#halve();
    const index = Math.floor(seconds / this.#stepSeconds);
    this.#steps[index] = merged(this.#steps[index], { sum: value, count: 1, max: value });
  }

  get curve(): Curve {
    return {
      stepSeconds: this.#stepSeconds,
      values: Array.from(this.#steps, (step) => (step === undefined ? null : this.#valueOf(step))),
    };
  }

  #valueOf({ sum, count, max }: Step): number {
    return Number((this.#combine === "max" ? max : sum / count).toFixed(3));
  }

  #halve(): void {
    this.#stepSeconds *= 2;
    const before = this.#steps;
    this.#steps = Array.from({ length: Math.ceil(before.length / 2) }, (_, index) =>
      merged(before[2 * index], before[2 * index + 1]),
    );
  }
}

function merged(a: Step | undefined, b: Step | undefined): Step | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return { sum: a.sum + b.sum, count: a.count + b.count, max: Math.max(a.max, b.max) };
}

/** Curves on one axis: steps as long as the longest of all, as many as the longest curve needs. */
export function alignCurves(
  curves: readonly Curve[],
  combine: Combine,
): { seconds: number[]; values: (number | null)[][] } {
  const stepSeconds = Math.max(...curves.map((curve) => curve.stepSeconds));
  const aligned = curves.map((curve) => {
    const longer = new BoundedCurve(combine, { stepSeconds, stepsMax: Infinity });
    for (const [index, value] of curve.values.entries()) {
      if (value !== null) longer.add(index * curve.stepSeconds, value);
    }
    return longer.curve.values;
  });
  const length = Math.max(0, ...aligned.map((values) => values.length));
  return {
    seconds: Array.from({ length }, (_, index) => index * stepSeconds),
    values: aligned.map((values) => [...values, ...Array<null>(length - values.length).fill(null)]),
  };
}
