import type { EngineStatus } from "../engine/status.ts";
import type { SeenLag } from "./render/summary.ts";
import { renderLiveLine, renderPlainLine } from "./render/line.ts";
import { ratesBetween } from "./render/rates.ts";
import type { Screen } from "./screen.ts";

/** Half a second looks live and is slow enough to read. */
const TICK_MS = 500;
/** Rates over less would jump with every commit of a packed run. */
const RATE_TICKS = 7;
/** Between two lines that stay: 8,640 a day. */
const LINE_MS = 10_000;

/** `live`: one line redrawn on a terminal. `lines`: a line of text now and then. `json`: the whole status as a line of JSON. */
export type ReportMode = "live" | "lines" | "json";

/** Looks at the status twice a second and reports it until `end`. */
export class StatusReporter {
  readonly #status: () => EngineStatus;
  readonly #activity: (width: number) => string | undefined;
  readonly #screen: Screen;
  readonly #mode: ReportMode;
  readonly #timer: NodeJS.Timeout;
  /** The last statuses, oldest first. */
  readonly #recent: EngineStatus[];
  #lastLine: EngineStatus;
  #lag: SeenLag = { lastMs: undefined, maxMs: undefined };

  /** `activity` is what is done before the engine, while there is none. */
  constructor(
    status: () => EngineStatus,
    activity: (width: number) => string | undefined,
    screen: Screen,
    mode: ReportMode,
  ) {
    this.#status = status;
    this.#activity = activity;
    this.#screen = screen;
    this.#mode = mode;
    this.#lastLine = status();
    this.#recent = [this.#lastLine];
    this.#timer = setInterval(() => this.#tick(), TICK_MS);
    this.#draw(this.#lastLine);
  }

  /** The lag as it was seen so far; an engine that has ended has none any more. */
  get lag(): SeenLag {
    return this.#lag;
  }

  /** Removes the live line; in JSON the last status is a line too. */
  end(): void {
    clearInterval(this.#timer);
    this.#screen.live("");
    if (this.#mode === "json") this.#screen.print(JSON.stringify(this.#status()));
  }

  #tick(): void {
    const status = this.#status();
    this.#recent.push(status);
    if (this.#recent.length > RATE_TICKS) this.#recent.shift();
    if (status.lagMs !== undefined) {
      this.#lag = { lastMs: status.lagMs, maxMs: Math.max(status.lagMs, this.#lag.maxMs ?? 0) };
    }
    this.#draw(status);
    if (status.atMs - this.#lastLine.atMs < LINE_MS) return;
    if (this.#mode === "json") this.#screen.print(JSON.stringify(status));
    if (this.#mode === "lines") this.#screen.print(this.#plainLine(status));
    this.#lastLine = status;
  }

  #draw(status: EngineStatus): void {
    if (this.#mode !== "live") return;
    // A line as wide as the terminal would wrap, and could not be redrawn.
    const width = this.#screen.width - 1;
    const rates = ratesBetween(this.#recent[0] ?? status, status);
    this.#screen.live(this.#activity(width) ?? renderLiveLine(status, rates, width));
  }

  #plainLine(status: EngineStatus): string {
    const activity = this.#activity(Number.POSITIVE_INFINITY);
    return activity === undefined
      ? renderPlainLine(status, ratesBetween(this.#lastLine, status))
      : `${new Date(status.atMs).toISOString()} ${status.channel}: ${activity}`;
  }
}
