import type { CellResult } from "./cell.ts";
import type { SimulatedRun } from "./report.ts";

/** So much slower may a setting be to be preferred for being simpler: predictions are not better than that. */
const AS_FAST = 1.05;
/** And so much slower than one that guesses, whose guesses may be worse elsewhere in the log. */
const AS_FAST_AS_A_GUESS = 1.15;

/**
 * The fastest of these, or one that is as good as that and simpler: without guesses, with fewer workers, then the earlier one, for the operator names first what comes first to mind.
 */
export function bestOf(runs: readonly SimulatedRun[]): number {
  const own = runs.filter(isOurs);
  const sure = own.filter(({ policy }) => policy !== "optimistic");
  const candidates = fastest(sure) <= fastest(own) * AS_FAST_AS_A_GUESS ? sure : own;
  const enough = fastest(candidates) * AS_FAST;
  let best: SimulatedRun | undefined;
  for (const run of candidates) {
    if (run.predictedSeconds <= enough && (best === undefined || run.workers < best.workers)) best = run;
  }
  return best === undefined ? 0 : runs.indexOf(best);
}

const isOurs = ({ policy }: SimulatedRun): boolean => !policy.startsWith("native");

const fastest = (runs: readonly SimulatedRun[]): number =>
  Math.min(...runs.map(({ predictedSeconds }) => predictedSeconds));

export interface LimitFacts {
  result: CellResult;
  cores: number;
}

/** A part of the time in which something was fully used: from then on it is what limits. */
const FULL = 0.85;
/** A key that is on the critical path for so long. */
const HOT = 0.3;

/** What keeps a setting from being faster, in words that end a sentence. */
export function limitOf({ result, cores }: LimitFacts): string {
  const {
    predictedSeconds: seconds,
    engineCpuSeconds,
    engineThreadSeconds,
    targetCpuSeconds,
    flushSeconds,
    criticalPath,
  } = result;
  if (seconds === 0) return "there is nothing to do";
  const [transaction] = criticalPath.transactions;
  if (transaction !== undefined && transaction.share >= HOT && transaction.transactions === 1) {
    return `one transaction, ${transaction.name}, which takes ${percent(transaction.share)} of the time`;
  }
  const { kinds, dependencies } = criticalPath;
  const path = Math.max(criticalPath.seconds, 1e-9);
  const isOneSession = kinds.execute / path >= 0.5 && result.meanBusyWorkers < 1.5;
  const oneSession = `one session, which executes nearly all of it, ${percent(kinds.execute / path)} of the time`;
  // Large runs nearly always have a key in common.
  if (isOneSession && result.packing > 1) return oneSession;
  const [key] = criticalPath.keys;
  if (key !== undefined && key.share >= HOT) {
    return `one key of ${key.table}, for which transactions wait ${percent(key.share)} of the time`;
  }
  const uses = [
    { part: (engineCpuSeconds + targetCpuSeconds) / (seconds * cores), words: `the ${coresInWords(cores)}` },
    { part: engineThreadSeconds / seconds, words: "the engine's one thread" },
    { part: flushSeconds / seconds, words: "flushing commits to disk" },
  ].sort((a, b) => b.part - a.part);
  const [most] = uses;
  if (most !== undefined && most.part >= FULL) return `${most.words}, busy ${percent(most.part)} of the time`;
  if (dependencies.seconds / path >= HOT) {
    return `transactions that wait for each other, ${percent(dependencies.seconds / path)} of the time`;
  }
  if (isOneSession) return oneSession;
  if (kinds.commit / path >= 0.5) {
    const flush = flushSeconds / seconds;
    return `commits that follow each other, ${percent(kinds.commit / path)} of the time (${percent(flush)} of it the disk)`;
  }
  return most === undefined ? "nothing in particular" : `${most.words}, busy ${percent(most.part)} of the time`;
}

/** One sentence: which setting, how much faster than what, and what limits it. */
export function recommend(runs: readonly SimulatedRun[], results: readonly CellResult[], cores: number): string {
  const best = bestOf(runs);
  const run = runs[best];
  const result = results[best];
  if (run === undefined || result === undefined || run.transactions === 0) return "There are no transactions to apply.";
  const slowest = slowestOf(runs);
  const options = [
    `--policy ${run.policy}`,
    `--workers ${run.workers}`,
    ...(run.commitOrder === "relaxed" ? ["--commit-order relaxed"] : []),
    `--pack-transactions ${run.packing}`,
  ].join(" ");
  const gain =
    slowest === undefined || slowest.predictedSeconds < run.predictedSeconds * AS_FAST
      ? besideFastest(run, runs)
      : `${times(slowest.predictedSeconds / run.predictedSeconds)} as fast as ${settingInWords(slowest)}`;
  return `${options} takes ${seconds(run.predictedSeconds)}, ${gain}; what limits it is ${limitOf({ result, cores })}.`;
}

/** Of one that nothing is much slower than. */
function besideFastest(run: SimulatedRun, runs: readonly SimulatedRun[]): string {
  const first = runs
    .filter(isOurs)
    .reduce((least, other) => (other.predictedSeconds < least.predictedSeconds ? other : least), run);
  const told = seconds(first.predictedSeconds);
  if (told === seconds(run.predictedSeconds)) return "no other setting is faster";
  return `and the fastest, ${settingInWords(first)}, ${told}`;
}

/** What the best one is compared with: one worker without packing where that is there, else the slowest. */
function slowestOf(runs: readonly SimulatedRun[]): SimulatedRun | undefined {
  const own = runs.filter(isOurs);
  const plain = own.filter(({ workers, packing }) => workers === 1 && packing === 1);
  const among = plain.length > 0 ? plain : own;
  return among.toSorted((a, b) => b.predictedSeconds - a.predictedSeconds)[0];
}

function settingInWords({ policy, workers, packing, commitOrder }: SimulatedRun): string {
  if (workers === 1 && packing === 1) return "one worker without packing";
  const order = commitOrder === "relaxed" ? " in relaxed order" : "";
  const packed = packing === 1 ? "" : `, runs of up to ${packing}`;
  return `${policy} with ${workers === 1 ? "one worker" : `${workers} workers`}${packed}${order}`;
}

const percent = (part: number): string => `${Math.round(Math.min(1, part) * 100)} %`;
const times = (factor: number): string => `${factor >= 10 ? Math.round(factor) : factor.toFixed(1)} times`;
const seconds = (value: number): string => `${value >= 100 ? Math.round(value) : value.toPrecision(3)} s`;
const coresInWords = (cores: number): string => (cores === 1 ? "one core" : `${cores} cores`);
