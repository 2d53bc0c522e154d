#!/usr/bin/env node
// Runs the command line. In a checkout it first installs and builds what is missing, so that `npx abreast …` just works.
import { prepare } from "../scripts/prepare.mjs";

// A password in a URL is off the process list from the first moment, also while there is something to build.
process.title = "abreast";
await prepare();
const { main } = await import("../dist/cli/main.js");
await main(process.argv.slice(2));
