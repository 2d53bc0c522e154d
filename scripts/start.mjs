// `npm start`: the demo, with the arguments given after `--`.
import { prepare } from "./prepare.mjs";

await prepare();
const { main } = await import("../dist/cli/main.js");
await main(["demo", ...process.argv.slice(2)]);
