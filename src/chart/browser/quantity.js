/** Numbers in words, and words back into numbers. */

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** `1,234`, `0.25`, `12,345,678`: whole numbers in full. */
export function exactNumber(/** @type {number} */ value) {
  return value.toLocaleString("en-US", {
    maximumFractionDigits: Math.abs(value) < 1 ? 4 : Math.abs(value) < 100 ? 2 : 0,
  });
}

/** At most five characters for an axis: `950`, `1.5k`, `20M`. */
function shortNumber(/** @type {number} */ value) {
  return value.toLocaleString("en-US", { notation: "compact", maximumFractionDigits: 2 }).replace("K", "k");
}

function bytes(/** @type {number} */ value) {
  let unit = 0;
  while (Math.abs(value) >= 1023.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${Number(value.toFixed(unit === 0 || value >= 100 ? 0 : 1))} ${BYTE_UNITS[unit]}`;
}

function seconds(/** @type {number} */ value) {
  const size = Math.abs(value);
  if (size === 0) return "0 s";
  if (size < 0.001) return `${exactNumber(value * 1e6)} µs`;
  if (size < 1) return `${exactNumber(value * 1e3)} ms`;
  if (size < 60) return `${exactNumber(value)} s`;
  const [large, small, name, rest] =
    size < 3600 ? [60, 1, "min", "s"] : size < 86_400 ? [3600, 60, "h", "min"] : [86_400, 3600, "d", "h"];
  const wholes = Math.floor(value / large);
  const left = Math.floor((value - wholes * large) / small);
  return left === 0 ? `${wholes} ${name}` : `${wholes} ${name} ${left} ${rest}`;
}

/** `2026-11-30 03:12:04`, in UTC. */
export function moment(/** @type {number} */ value) {
  return new Date(value * 1000).toISOString().slice(0, 19).replace("T", " ");
}

/** A value as a reader under the pointer wants it. */
export function inWords(/** @type {number} */ value, /** @type {string} */ unit) {
  switch (unit) {
    case "time":
      return moment(value);
    case "seconds":
      return seconds(value);
    case "bytes":
      return bytes(value);
    case "ratio":
      return `${exactNumber(Math.round(value * 1000) / 10)} %`;
    case "times":
      return `${exactNumber(value)}×`;
    default:
      return exactNumber(value);
  }
}

/** A value as an axis has room for it. */
export function onAxis(/** @type {number} */ value, /** @type {string} */ unit) {
  if (unit === "count") return shortNumber(value);
  return inWords(value, unit);
}

/** Each unit that a cell of a table may have, in the smallest of its kind. */
const FACTORS = new Map([
  ["", 1],
  ["%", 1],
  ["×", 1],
  ["x", 1],
  ["k", 1e3],
  ["M", 1e6],
  ["G", 1e9],
  ["B", 1],
  ["KiB", 1024],
  ["MiB", 1024 ** 2],
  ["GiB", 1024 ** 3],
  ["TiB", 1024 ** 4],
  ["PiB", 1024 ** 5],
  ["kB", 1e3],
  ["MB", 1e6],
  ["GB", 1e9],
  ["µs", 1e-6],
  ["ms", 1e-3],
  ["s", 1],
  ["min", 60],
  ["h", 3600],
  ["d", 86_400],
]);

/** The value of `1,234`, `1.5 MiB`, `3 min 20 s`, `34 %`, `-0.5`, `3.2×`; undefined for other text, times and GTIDs among it. */
export function valueOf(/** @type {string} */ text) {
  if (!/^[-−]?(?:\d[\d,]*(?:\.\d+)? ?[a-zA-Zµ%×/]*(?: |$))+$/.test(text)) return undefined;
  let sum = 0;
  for (const [, digits = "", unit = ""] of text.matchAll(/(\d[\d,]*(?:\.\d+)?) ?([a-zA-Zµ%×/]*)/g)) {
    const factor = FACTORS.get(unit.replace(/\/s$/, ""));
    if (factor === undefined) return undefined;
    sum += Number(digits.replaceAll(",", "")) * factor;
  }
  return /^[-−]/.test(text) ? -sum : sum;
}
