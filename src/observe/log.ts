import type { Clock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import { hidePasswords } from "./secrets.ts";

export interface LogOptions {
  /** `text` looks like the server's error log, `json` is one object per line: `{at, level, message, …fields}`. */
  format: "text" | "json";
  clock: Clock;
  /** Gets whole lines, without their end. */
  write: (line: string) => void;
}

export function createLog({ format, clock, write }: LogOptions): Log {
  const line = format === "json" ? jsonLine : textLine;
  const log = (level: Level, message: string, fields: Record<string, unknown> = {}): void => {
    write(line(new Date(clock.nowMs()).toISOString(), level, message, fields));
  };
  return {
    info: (message, fields) => log("note", message, fields),
    warn: (message, fields) => log("warning", message, fields),
  };
}

type Level = "note" | "warning";

const LEVEL_NAMES = { note: "[Note]", warning: "[Warning]" } as const;

function textLine(at: string, level: Level, message: string, fields: Record<string, unknown>): string {
  const shown = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${fieldText(value)}`);
  // A line break inside a value would look like another line of the log.
  return [at, LEVEL_NAMES[level], hidePasswords(message), ...shown].join(" ").replaceAll("\n", "\\n");
}

function fieldText(value: unknown): string {
  const isPlain = typeof value === "bigint" || (typeof value === "string" && /^[^\s"=]+$/.test(value));
  return isPlain ? hidePasswords(String(value)) : toJson(value);
}

function jsonLine(at: string, level: Level, message: string, fields: Record<string, unknown>): string {
  return toJson({ at, level, message, ...fields });
}

/** JSON has no 64-bit numbers and no errors: the first become text, the second their message. */
function toJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === "bigint") return String(part);
    if (part instanceof Error) return hidePasswords(part.message);
    return typeof part === "string" ? hidePasswords(part) : part;
  });
}
