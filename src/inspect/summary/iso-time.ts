const SECOND_US = 1_000_000;
/** What a Date can hold, in seconds. */
const SECONDS_MAX = 8_640_000_000_000;

/** `2026-11-30T03:12:00.123456Z`, without the fraction where it is none; null for 0: the log does not tell. */
export function isoTime(atUs: number): string | null {
  const seconds = Math.floor(atUs / SECOND_US);
  if (!(atUs > 0) || seconds > SECONDS_MAX) return null;
  const micros = atUs - seconds * SECOND_US;
  const text = new Date(seconds * 1000).toISOString().slice(0, -5);
  return micros === 0 ? `${text}Z` : `${text}.${String(micros).padStart(6, "0")}Z`;
}
