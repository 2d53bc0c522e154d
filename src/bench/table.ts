/** Lays out rows under headings, columns two spaces apart; columns named in `right` are aligned to the right, as numbers are. */
export function formatTable(
  headings: readonly string[],
  rows: readonly (readonly string[])[],
  right: ReadonlySet<string>,
): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    headings
      .map((heading, column) => {
        const cell = cells[column] ?? "";
        const width = widths[column] ?? 0;
        return right.has(heading) ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return [line(headings), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
