/** At `seconds` of the log's own time the replica is `lagSeconds` behind. */
export interface LagPoint {
  seconds: number;
  lagSeconds: number;
}

export interface LagReport {
  /** At the end of the log, and at worst. */
  lastSeconds: number;
  maxSeconds: number;
  /** The worst of each stretch of the log's time: at most `POINTS_MAX`. */
  points: readonly LagPoint[];
}

const POINTS_MAX = 240;

/**
 * How far behind a replica would have been, had the transactions come in their original rhythm, by what each took in the backlog: it is done when the one before it is, or when it arrives, and the
 * time that it took. That is a queue with one server whose speed is the cell's, so what it leaves out is that a replica that has no backlog packs less.
 */
export class LagCurve {
  /** Of transactions that the next step of the low-water mark covers. */
  readonly #arrivals: number[] = [];
  #lastAdvanceUs = 0;
  #firstUs: number | undefined;
  #arrivedUs = 0;
  #doneUs = 0;
  #lastUs = 0;
  #maxUs = 0;
  #worst: number[] = [];
  #stretchUs = 1_000_000;

  passed(committedAtUs: number): void {
    this.#arrivals.push(committedAtUs);
  }

  /** All that `passed` named since the last time are committed. */
  advanced(nowUs: number): void {
    const eachUs = (nowUs - this.#lastAdvanceUs) / Math.max(1, this.#arrivals.length);
    this.#lastAdvanceUs = nowUs;
    for (const committedAtUs of this.#arrivals) this.#count(committedAtUs, eachUs);
    this.#arrivals.length = 0;
  }

  report(): LagReport {
    return {
      lastSeconds: this.#lastUs / 1e6,
      maxSeconds: this.#maxUs / 1e6,
      points: this.#worst.map((lagUs, index) => ({
        seconds: (index * this.#stretchUs) / 1e6,
        lagSeconds: (lagUs ?? 0) / 1e6,
      })),
    };
  }

  #count(committedAtUs: number, tookUs: number): void {
    if (committedAtUs <= 0) return;
    this.#firstUs ??= committedAtUs;
    // A clock that was set back is no reason to wait.
    this.#arrivedUs = Math.max(this.#arrivedUs, committedAtUs - this.#firstUs);
    this.#doneUs = Math.max(this.#arrivedUs, this.#doneUs) + tookUs;
    this.#lastUs = this.#doneUs - this.#arrivedUs;
    this.#maxUs = Math.max(this.#maxUs, this.#lastUs);
    let stretch = Math.floor(this.#arrivedUs / this.#stretchUs);
    while (stretch >= POINTS_MAX) {
      this.#halve();
      stretch = Math.floor(this.#arrivedUs / this.#stretchUs);
    }
    while (this.#worst.length <= stretch) this.#worst.push(0);
    this.#worst[stretch] = Math.max(this.#worst[stretch] ?? 0, this.#lastUs);
  }

  #halve(): void {
    const halved: number[] = [];
    for (let index = 0; index < this.#worst.length; index += 2) {
      halved.push(Math.max(this.#worst[index] ?? 0, this.#worst[index + 1] ?? 0));
    }
    this.#worst = halved;
    this.#stretchUs *= 2;
  }
}
