#!/usr/bin/env node
// Runs the command line. In a checkout it first installs and builds what is missing, so that `npx abreast …` just works.
import { prepare } from "../scripts/prepare.mjs";

await prepare();
const { main } = await import("../dist/cli/main.js");
await main(process.argv.slice(2));
