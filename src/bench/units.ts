/** Numbers as documents and tables show them. */
export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)}`;
}

/** Of an even count the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length / 2;
  const [low = NaN, high = NaN] = [sorted[Math.ceil(middle) - 1], sorted[Math.floor(middle)]];
  return (low + high) / 2;
}
