import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

/**
 * What a page runs and wears, as text: uPlot from its package, and the modules in browser/, which are written as modules so that tools can check them and
 * become one script here. Reading them is an import by other means: the files are part of the program, and their text never changes while it runs.
 */
export interface BrowserCode {
  scripts: readonly Inlined[];
  /** What the second script is made of. */
  modules: readonly string[];
  style: Inlined;
  /** uPlot's licence wants to travel with every copy. */
  licences: string;
}

/** `hash` as a Content-Security-Policy names it: `sha256-…`. */
export interface Inlined {
  text: string;
  hash: string;
}

/** Below src/ in a checkout and in the package alike; the same way up leads there from src/chart/ and from dist/chart/. */
const BROWSER = "../../src/chart/browser/";

/** A module stands behind those it imports. */
const MODULES = [
  "quantity.js",
  "table.js",
  "theme.js",
  "axes.js",
  "bars.js",
  "scales.js",
  "labels.js",
  "chart.js",
  "picture.js",
  "main.js",
] as const;

/**
 * uPlot asks the screen how dense it is and draws one point per dot. On paper and in a saved picture that would be too coarse, so it is told of at
 * least two dots in each direction everywhere.
 */
const DENSITY = "Math.max(2, window.devicePixelRatio)";

let code: BrowserCode | undefined;

export function readBrowserCode(): BrowserCode {
  code ??= read();
  return code;
}

function read(): BrowserCode {
  const { resolve } = createRequire(import.meta.url);
  const uplot = (file: string): string => readFileSync(resolve(`uplot/${file}`), "utf8");
  const own = (file: string): string => readFileSync(new URL(BROWSER + file, import.meta.url), "utf8");
  const library = uplot("dist/uPlot.iife.min.js").replace(/^\/\*!.*\*\/\n/, "");
  return {
    scripts: [
      inlined(`const uPlot = ((devicePixelRatio) => {\n${library}\nreturn uPlot;\n})(${DENSITY});`),
      inlined(`(() => {\n"use strict";\n${MODULES.map((module) => joinable(own(module))).join("\n")}\n})();`),
    ],
    modules: MODULES,
    style: inlined(`${uplot("dist/uPlot.min.css")}\n${own("page.css")}`),
    licences: `The charts are drawn by uPlot.\n\n${uplot("LICENSE").trim()}`,
  };
}

/** All modules share one scope, so imports fall away and exports are plain declarations. Comments are for the readers of the source. */
function joinable(module: string): string {
  return module
    .replaceAll(/^import [^;]*;\n/gm, "")
    .replaceAll(/^export /gm, "")
    .replaceAll(/^ *\/\/.*\n/gm, "")
    .replaceAll(/^ *\/\*\*(?:(?!\*\/)[\s\S])*\*\/\n/gm, "")
    .replaceAll(/\/\*\*(?:(?!\*\/)[\s\S])*\*\/ ?/g, "")
    .trim();
}

function inlined(text: string): Inlined {
  return { text, hash: `sha256-${createHash("sha256").update(text).digest("base64")}` };
}
