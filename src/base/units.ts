/** `1,234,567`: counts are read in groups of three. */
export function formatCount(count: number): string {
  return Math.round(count)
    .toString()
    .replace(/\B(?=(\d{3})+$)/g, ",");
}

/** `1 row`, `1,234 rows`. */
export function formatCounted(count: number, noun: string, plural = `${noun}s`): string {
  return `${formatCount(count)} ${Math.round(count) === 1 ? noun : plural}`;
}

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** `0 B`, `512 B`, `1.5 KiB`, `12.0 MiB`, `345 GiB`: three digits are enough to decide by. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // 999.5 would round to a fourth digit.
  while (value >= 999.5 && unit < BYTE_UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  const digits = unit === 0 || value >= 99.95 ? 0 : 1;
  return `${value.toFixed(digits)} ${BYTE_UNITS[unit] ?? ""}`;
}

/** `0 s`, `0.4 s`, `12 s`, `3 min 20 s`, `2 h 05 min`, `3 d 04 h`: two units at most. */
export function formatDuration(ms: number): string {
  if (ms < 50) return "0 s";
  if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 60) return `${seconds} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${pad(seconds % 60)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ${pad(minutes % 60)} min`;
  const hours = Math.round(minutes / 60);
  return `${Math.floor(hours / 24)} d ${pad(hours % 24)} h`;
}

/** The same in at most seven characters, for tables: `40ms`, `9.9s`, `59s`, `3m20s`, `2h05m`, `3d04h`. */
export function formatShortDuration(ms: number): string {
  if (ms < 50) return `${Math.round(ms)}ms`;
  return formatDuration(ms).replace(" min", "m").replaceAll(" ", "");
}

function pad(number: number): string {
  return String(number).padStart(2, "0");
}

export function formatLag(lagMs: number | undefined): string {
  return lagMs === undefined ? "unknown" : formatDuration(lagMs);
}

/** `34 %`, never 100 before it is whole. */
export function formatPercent(done: number, total: number): string {
  return `${total === 0 ? 100 : Math.floor((done / total) * 100)} %`;
}

/** At most `width` characters, the last of them `…` when something was cut. */
export function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  return width <= 0 ? "" : `${text.slice(0, width - 1)}…`;
}

/** The same from the other end: the number that ends a GTID tells more than the UUID that begins it. */
export function cutStart(text: string, width: number): string {
  if (text.length <= width) return text;
  return width <= 0 ? "" : `…${text.slice(text.length - width + 1)}`;
}
