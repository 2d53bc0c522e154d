import { expect, it } from "vitest";
import { torture } from "./helpers/torture.ts";

/** A machine that is busy with other tests takes its time. */
const TIMEOUT_MS = 240_000;

// The long form is `npm run torture`. The seed is fixed, so that a failure comes back.
it(
  "loses and repeats nothing when engine, target, source (MySQL 9.7, semi-sync) and connections are hit under load",
  async () => {
    const report = await torture({
      flavour: "mysql-9.7",
      victims: ["engine", "source", "network", "engine", "target", "source", "network", "engine"],
      seed: 97,
      semiSync: true,
      onProgress: () => {},
    });
    expect(report.faults).toEqual([]);
    expect(report.hits).toBe(8);
    expect(report.large).toBeGreaterThan(0);
    expect(report.ddl).toBeGreaterThan(0);
    expect(report.applied).toBeGreaterThanOrEqual(report.transactions);
  },
  TIMEOUT_MS,
);

it(
  "loses and repeats nothing when an engine with 16 workers in relaxed order is killed while transactions have passed others",
  async () => {
    const victims = ["gaps", "engine", "gaps"] as const;
    const report = await torture({
      flavour: "mysql-9.7",
      victims,
      seed: 97,
      semiSync: false,
      engineFlags: ["--workers=16", "--policy=writeset", "--commit-order=relaxed", "--pack-transactions=20"],
      onProgress: () => {},
    });
    expect(report.faults).toEqual([]);
    expect(report.hits).toBe(3);
    expect(report.startsWithGaps).toBeGreaterThanOrEqual(2);
    expect(report.applied).toBeGreaterThanOrEqual(report.transactions);
  },
  TIMEOUT_MS,
);
