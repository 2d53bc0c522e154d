import { describe, expect, it } from "vitest";
import { LagSamples } from "./lag-samples.ts";

describe("LagSamples", () => {
  it("knows nothing while nothing is known", () => {
    const samples = new LagSamples();
    samples.add(undefined);
    expect([samples.maxMs, samples.p95Ms]).toEqual([undefined, undefined]);
  });

  it("takes the 95th of 100 as the percentile, whatever the order", () => {
    const samples = new LagSamples();
    for (let ms = 100; ms >= 1; ms--) samples.add(ms);
    expect([samples.maxMs, samples.p95Ms]).toEqual([100, 95]);
    const one = new LagSamples();
    one.add(7);
    expect([one.maxMs, one.p95Ms]).toEqual([7, 7]);
  });
});
