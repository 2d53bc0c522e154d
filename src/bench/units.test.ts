import { expect, it } from "vitest";
import { median } from "./units.ts";

it("the median is the value in the middle, or the mean of the two there", () => {
  expect(median([5])).toBe(5);
  expect(median([9, 1, 4])).toBe(4);
  expect(median([10, 9, 1, 4])).toBe(6.5);
});
