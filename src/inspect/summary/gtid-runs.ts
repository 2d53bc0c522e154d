import type { GtidReport } from "../report.ts";
import { type GtidName, gtidText, isDomain } from "./gtid-name.ts";

/** Gaps that the report names; all are counted. */
const GAPS_SHOWN = 100;
/** Holes that are kept apart; then the numbers of a source that has more of them count as read. */
const INTERVALS_MAX = 50_000;

const UUID_LENGTH = 36;

/** Numbers of one source: first and last of each run, one after the other, in order. */
export type Runs = number[];

/** What goes from one thread to another. */
export interface GtidState {
  /** By source, as GtidName has it. */
  runs: [string, Runs][];
  /** MariaDB: the last GTID of each domain. */
  last: [string, GtidName][];
  firstRead: GtidName | undefined;
  lastRead: GtidName | undefined;
}

/**
 * Which GTIDs were read, as runs of numbers without holes.
 *
 * Invariant: the runs of a source are in order and between two of them a number is missing.
 */
export class GtidRuns {
  readonly #runs = new Map<string, Runs>();
  readonly #last = new Map<string, GtidName>();
  #firstRead: GtidName | undefined;
  #lastRead: GtidName | undefined;

  add(gtid: GtidName): void {
    const { gtidSource, gtidNumber } = gtid;
    let runs = this.#runs.get(gtidSource);
    if (runs === undefined) this.#runs.set(gtidSource, (runs = []));
    const end = runs.length - 1;
    if (end > 0 && runs[end] === gtidNumber - 1) runs[end] = gtidNumber;
    else addRun(runs, gtidNumber, gtidNumber);
    this.#firstRead ??= copyOf(gtid);
    if (this.#lastRead === undefined) this.#lastRead = copyOf(gtid);
    else overwrite(this.#lastRead, gtid);
    if (isDomain(gtidSource)) this.#setLast(gtid);
  }

  state(): GtidState {
    return { runs: [...this.#runs], last: [...this.#last], firstRead: this.#firstRead, lastRead: this.#lastRead };
  }

  merge(state: GtidState): void {
    for (const [source, added] of state.runs) {
      const runs = this.#runs.get(source);
      if (runs === undefined) this.#runs.set(source, added);
      else for (let i = 0; i < added.length; i += 2) addRun(runs, added[i] as number, added[i + 1] as number);
    }
    for (const [, gtid] of state.last) this.#setLast(gtid);
    this.#firstRead ??= state.firstRead;
    this.#lastRead = state.lastRead ?? this.#lastRead;
  }

  report(): GtidReport {
    const gaps: GtidReport["gaps"] = [];
    const sources: GtidReport["sources"] = [];
    let gapCount = 0;
    for (const [source, runs] of this.#runs) {
      sources.push({ source, from: String(runs[0]), to: String(runs.at(-1)), gapCount: runs.length / 2 - 1 });
      for (let i = 2; i < runs.length; i += 2) {
        gapCount++;
        if (gaps.length >= GAPS_SHOWN) continue;
        gaps.push({ source, from: String((runs[i - 1] as number) + 1), to: String((runs[i] as number) - 1) });
      }
    }
    return { set: this.#set(), first: textOf(this.#firstRead), last: textOf(this.#lastRead), sources, gaps, gapCount };
  }

  #set(): string | null {
    if (this.#last.size > 0) return [...this.#last.values()].map(gtidText).join(",");
    if (this.#runs.size === 0) return null;
    const sources = [...this.#runs].toSorted(([a], [b]) => (a < b ? -1 : 1));
    let set = "";
    let before = "";
    for (const [source, runs] of sources) {
      // Numbers with a tag stand behind those without, and the UUID once before them all.
      const uuid = source.slice(0, UUID_LENGTH);
      set += uuid === before ? source.slice(UUID_LENGTH) : `${set === "" ? "" : ","}${source}`;
      set += `:${runsText(runs)}`;
      before = uuid;
    }
    return set;
  }

  #setLast(gtid: GtidName): void {
    const known = this.#last.get(gtid.gtidSource);
    if (known === undefined) this.#last.set(gtid.gtidSource, copyOf(gtid));
    else overwrite(known, gtid);
  }
}

const copyOf = ({ gtidSource, gtidNumber, serverId }: GtidName): GtidName => ({ gtidSource, gtidNumber, serverId });

function overwrite(to: GtidName, { gtidSource, gtidNumber, serverId }: GtidName): void {
  to.gtidSource = gtidSource;
  to.gtidNumber = gtidNumber;
  to.serverId = serverId;
}

const textOf = (gtid: GtidName | undefined): string | null => (gtid === undefined ? null : gtidText(gtid));

function runsText(runs: Runs): string {
  const parts: string[] = [];
  for (let i = 0; i < runs.length; i += 2)
    parts.push(runs[i] === runs[i + 1] ? `${runs[i]}` : `${runs[i]}-${runs[i + 1]}`);
  return parts.join(":");
}

/** Puts `first` to `last` among the runs; what it touches becomes one with it. */
function addRun(runs: Runs, first: number, last: number): void {
  // The first run that does not end before `first` - 1.
  let low = 0;
  let high = runs.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((runs[middle * 2 + 1] as number) < first - 1) low = middle + 1;
    else high = middle;
  }
  let end = low;
  let from = first;
  let to = last;
  for (; end * 2 < runs.length && (runs[end * 2] as number) <= last + 1; end++) {
    from = Math.min(from, runs[end * 2] as number);
    to = Math.max(to, runs[end * 2 + 1] as number);
  }
  if (end === low && runs.length >= 2 * INTERVALS_MAX) {
    // One more hole than are kept: the nearest one is taken as read.
    const near = Math.max(low - 1, 0) * 2;
    runs[near] = Math.min(runs[near] as number, from);
    runs[near + 1] = Math.max(runs[near + 1] as number, to);
    return;
  }
  runs.splice(low * 2, (end - low) * 2, from, to);
}
