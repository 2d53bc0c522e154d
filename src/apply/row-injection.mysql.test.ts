import { describe, test } from "vitest";
import { injectMergedRows } from "../../test/helpers/merged-rows.ts";

describe("rows of many transactions merged into few statements change a target as they did the source", () => {
  test("MySQL 9.7, which has cascades in its log", () => injectMergedRows("mysql-9.7"));
  test("MySQL 5.6, which repeats cascades", () => injectMergedRows("mysql-5.6"));
});
