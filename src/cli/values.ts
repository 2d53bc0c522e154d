import { z } from "zod";
import { ReplicationError } from "../base/error.ts";
import { parseSkipList } from "./skip-list.ts";

/**
 * The kinds of value an option can have. Each takes text (flags, environment) or the plain YAML value, and its issue message says how to write it
 * right: it becomes the `Try:` line.
 */

/** A whole number from `min` to `max`. */
export function wholeNumber(min: number, max: number) {
  return readAs((value) => {
    const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
    return typeof number === "number" && Number.isSafeInteger(number) && number >= min && number <= max
      ? number
      : undefined;
  }, `give a whole number from ${min} to ${max}`);
}

const BYTES_OF_UNIT = { "": 1, K: 1024, M: 1024 ** 2, G: 1024 ** 3, T: 1024 ** 4 } as const;

/** Bytes: `512K`, `256M`, `4G`, `1T` (powers of 1024, as the servers have them) or a plain number of bytes. */
export function size(bytesMin: number, bytesMax: number) {
  return readAs(
    (value) => {
      const match = /^(\d+)\s*([KMGT]?)(?:i?B)?$/i.exec(String(value));
      if (match === null) return undefined;
      const unit = (match[2] ?? "").toUpperCase() as keyof typeof BYTES_OF_UNIT;
      const bytes = Number(match[1]) * BYTES_OF_UNIT[unit];
      return bytes >= bytesMin && bytes <= bytesMax ? bytes : undefined;
    },
    `give a size from ${describeSize(bytesMin)} to ${describeSize(bytesMax)}, like 512K, 256M or 4G`,
  );
}

/** The exact inverse of `size` for whole units. */
function describeSize(bytes: number): string {
  for (const unit of ["T", "G", "M", "K"] as const) {
    if (bytes % BYTES_OF_UNIT[unit] === 0) return `${bytes / BYTES_OF_UNIT[unit]}${unit}`;
  }
  return String(bytes);
}

const MS_OF_UNIT = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Milliseconds: `500ms`, `5s`, `2m`, `1h`, `1d`. A bare number is refused: nobody could tell seconds from milliseconds. */
export function duration(msMin: number, msMax: number) {
  return readAs(
    (value) => {
      const match = typeof value === "string" ? /^(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)$/.exec(value) : null;
      if (match === null) return undefined;
      const ms = Math.round(Number(match[1]) * MS_OF_UNIT[match[2] as keyof typeof MS_OF_UNIT]);
      return ms >= msMin && ms <= msMax ? ms : undefined;
    },
    `give a time from ${describeDuration(msMin)} to ${describeDuration(msMax)} with its unit, like 500ms, 5s or 2m`,
  );
}

function describeDuration(ms: number): string {
  for (const unit of ["d", "h", "m", "s"] as const) {
    if (ms > 0 && ms % MS_OF_UNIT[unit] === 0) return `${ms / MS_OF_UNIT[unit]}${unit}`;
  }
  return `${ms}ms`;
}

const SWITCH_WORDS: Record<string, boolean> = {
  true: true,
  yes: true,
  on: true,
  "1": true,
  false: false,
  no: false,
  off: false,
  "0": false,
};

export function onOff() {
  return readAs(switchValue, "give true or false");
}

/** A switch that can also be on in a special way. */
export function onOffOr<const W extends string>(word: W) {
  return readAs((value) => (value === word ? word : switchValue(value)), `give true, false or ${word}`);
}

function switchValue(value: unknown): boolean | undefined {
  return SWITCH_WORDS[String(value).toLowerCase()];
}

export function text(hint: string, pattern = /\S/) {
  return readAs((value) => {
    const text = typeof value === "number" || typeof value === "bigint" ? String(value) : value;
    return typeof text === "string" && pattern.test(text) ? text : undefined;
  }, hint);
}

/** Transactions by name, a comma between two of them. */
export function transactionList() {
  return z.unknown().transform((value, context): string[] => {
    try {
      return parseSkipList(String(value));
    } catch (error) {
      if (!(error instanceof ReplicationError)) throw error;
      context.issues.push({ code: "custom", message: `${error.message}: ${error.hint}`, input: value });
      return z.NEVER;
    }
  });
}

export function oneOf<const W extends readonly [string, ...string[]]>(...words: W) {
  return z.enum(words, {
    error: `use ${words.length === 1 ? words[0] : `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`}`,
  });
}

function readAs<T>(read: (value: unknown) => T | undefined, hint: string) {
  return z.unknown().transform((value, context): T => {
    const result = read(value);
    if (result !== undefined) return result;
    context.issues.push({ code: "custom", message: hint, input: value });
    return z.NEVER;
  });
}
