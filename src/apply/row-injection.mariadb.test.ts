import { test } from "vitest";
import { injectMergedRows } from "../../test/helpers/merged-rows.ts";

test("rows of many transactions merged into few statements change a MariaDB as they did the source", () =>
  injectMergedRows("mariadb-10.11"));
