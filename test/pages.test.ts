import { expect, test } from "vitest";
import { errorsPage, optionsPage } from "./helpers/pages.ts";

// When one of these fails, `npx vitest run test/pages.test.ts -u` writes the page anew.

test("docs/errors.md lists every error code as the code has it", async () => {
  await expect(errorsPage()).toMatchFileSnapshot("../docs/errors.md");
});

test("docs/options.md lists every option as the command line has it", async () => {
  await expect(optionsPage()).toMatchFileSnapshot("../docs/options.md");
});
