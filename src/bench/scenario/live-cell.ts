import type { LiveOutcome } from "../contest/live.ts";
import { HEARTBEAT_MS } from "../lag/heartbeat.ts";
import type { LoadSummary } from "../workload/load.ts";
import type { Measurement, Metric } from "./scenario.ts";

/** A lag is no more exact than the heartbeat; twice, because two are compared. */
const LAG_RESOLUTION = (2 * HEARTBEAT_MS) / 1000;

/** What every scenario that replicates under load shows. */
export const LIVE_METRICS = {
  lagMean: { key: "lagMean", title: "lag", unit: "seconds", better: "lower", resolution: LAG_RESOLUTION },
  lagMax: { key: "lagMax", title: "lag at most", unit: "seconds", better: "lower", resolution: LAG_RESOLUTION },
  reportedMean: { key: "reportedMean", title: "lag as told", unit: "seconds" },
  catchUp: { key: "catchUp", title: "catching up", unit: "seconds", better: "lower", resolution: LAG_RESOLUTION },
  tps: { key: "tps", title: "source transactions", unit: "per second" },
  qps: { key: "qps", title: "source statements", unit: "per second" },
  applied: { key: "applied", title: "applied", unit: "per second" },
  sourceCpu: { key: "sourceCpu", title: "source CPU", unit: "cores" },
  replicaCpu: { key: "replicaCpu", title: "replica CPU", unit: "cores" },
} as const satisfies Record<string, Metric>;

/** Whoever was never further behind, and had everything at once when the load ended, could have done more. */
const KEPT_UP_SECONDS = 0.5;

/** `lag` is the mean from the begin of the load until the replica had everything; `lag as told` is Seconds_Behind_Source, or Abreast's own. */
export function liveMeasurement(
  outcome: Pick<
    LiveOutcome<unknown>,
    "lag" | "catchUpSeconds" | "cpuSeconds" | "identical" | "serverVersion" | "settings"
  >,
  load: Pick<LoadSummary, "transactions" | "reads" | "writes" | "others" | "elapsedMs">,
): Measurement {
  const { lag, catchUpSeconds, cpuSeconds } = outcome;
  const loadSeconds = load.elapsedMs / 1000;
  const seconds = loadSeconds + catchUpSeconds;
  return {
    values: {
      lagMean: lag.heartbeat.meanSeconds,
      lagMax: lag.heartbeat.maxSeconds,
      reportedMean: lag.reported.meanSeconds,
      catchUp: catchUpSeconds,
      tps: load.transactions / loadSeconds,
      qps: (load.reads + load.writes + load.others) / loadSeconds,
      applied: load.transactions / seconds,
      sourceCpu: cpuSeconds.source / seconds,
      replicaCpu: (cpuSeconds.target + (cpuSeconds.engine ?? 0)) / seconds,
    },
    curves: { lag: lag.heartbeat.curve, reported: lag.reported.curve, cpu: lag.cpu },
    identical: outcome.identical,
    isSourceLimit: catchUpSeconds < KEPT_UP_SECONDS && (lag.heartbeat.maxSeconds ?? 0) < KEPT_UP_SECONDS,
    serverVersion: outcome.serverVersion,
    settings: outcome.settings,
  };
}
