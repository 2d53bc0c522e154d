import { expect, it } from "vitest";
import { meanWhileAtWork } from "./concurrency.ts";
import { type BatchMixRun, graphRatioOf } from "./report.ts";

it("moments at which nobody works do not count", () => {
  expect(meanWhileAtWork([0, 4, 0, 2, 0])).toBe(3);
  expect(meanWhileAtWork([0, 0])).toBe(0);
});

it("the graph is compared with our own low-water mark, not with the server's", () => {
  const run = (who: BatchMixRun["who"], dependency: BatchMixRun["dependency"], mean: number): BatchMixRun => ({
    who,
    dependency,
    workers: 8,
    policy: "writeset",
    commitOrder: "relaxed",
    seconds: 1,
    engineCpuSeconds: who === "native" ? null : 1,
    meanConcurrency: mean,
    engineConcurrency: mean / 2,
    identical: true,
  });
  const runs = [run("native", "low-water-mark", 1), run("abreast", "low-water-mark", 2), run("abreast", "graph", 7)];
  expect(graphRatioOf(runs, "meanConcurrency")).toBe(3.5);
  expect(graphRatioOf([...runs.slice(0, 2), run("abreast", "graph", 8)], "engineConcurrency")).toBe(4);
  expect(graphRatioOf(runs.slice(0, 2), "meanConcurrency")).toBeNull();
});
