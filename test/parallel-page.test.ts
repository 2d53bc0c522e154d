import { readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { POLICY_NAMES } from "../src/schedule/policies/policies.ts";
import { playPolicyScript } from "./helpers/policy-script.ts";

const PAGE = path.join(path.dirname(fileURLToPath(import.meta.url)), "../docs/parallel.md");
/** A block of the page that is a script. */
const SCRIPT = /^```\n(policy [^]*?)```$/gm;

// When this fails, `npx vitest run test/parallel-page.test.ts -u` writes the answers anew: read the diff.
test("every example of docs/parallel.md has the answers that the policies give", async () => {
  const page = readFileSync(PAGE, "utf8");
  const played = page.replaceAll(SCRIPT, (_, script: string) => `\`\`\`\n${playPolicyScript(script)}\`\`\``);
  await expect(played).toMatchFileSnapshot(PAGE);
});

test("docs/parallel.md has an example of every policy", () => {
  const page = readFileSync(PAGE, "utf8");
  for (const policy of POLICY_NAMES) expect(page).toMatch(new RegExp(`^policy ${policy}( packed)?$`, "m"));
});
