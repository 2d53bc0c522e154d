import { expect, it } from "vitest";
import type { ServerFlavour } from "../../src/sandbox/flavours.ts";
import { torture } from "./torture.ts";

/** A machine that is busy with other tests takes its time. */
const TIMEOUT_MS = 240_000;

/** The long form is `npm run torture`. The seed is fixed, so that a failure comes back. */
export function testKills(
  flavour: Extract<ServerFlavour, "mysql-9.7" | "mariadb-10.11">,
  name: string,
  seed: number,
): void {
  it(
    `loses and repeats nothing when engine, target, source (${name}, semi-sync) and connections are hit under load`,
    async () => {
      const report = await torture({
        flavour,
        victims: ["engine", "source", "network", "engine", "target", "source", "network", "engine"],
        seed,
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
      const report = await torture({
        flavour,
        victims: ["gaps", "engine", "gaps"],
        seed,
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
}
