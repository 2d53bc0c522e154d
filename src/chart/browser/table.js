import { valueOf } from "./quantity.js";

/** A click on a heading sorts by its column, another one the other way round. */
export function makeSortable(/** @type {HTMLTableElement} */ table) {
  const headings = [...table.querySelectorAll("th")];
  headings.forEach((heading, column) => {
    heading.addEventListener("click", () => {
      const before = heading.getAttribute("aria-sort");
      const first = heading.classList.contains("right") ? "descending" : "ascending";
      const order = before === null ? first : before === "ascending" ? "descending" : "ascending";
      for (const other of headings) other.removeAttribute("aria-sort");
      heading.setAttribute("aria-sort", order);
      sortBy(table, column, order === "ascending" ? 1 : -1);
    });
  });
}

function sortBy(/** @type {HTMLTableElement} */ table, /** @type {number} */ column, /** @type {1 | -1} */ sign) {
  const [body] = table.tBodies;
  if (body === undefined) return;
  const rows = [...body.rows].map((row) => {
    const text = row.cells[column]?.textContent ?? "";
    return { row, text, value: valueOf(text) };
  });
  const areNumbers = rows.every(({ text, value }) => value !== undefined || text === "" || text === "-");
  rows.sort((a, b) =>
    areNumbers
      ? sign * ((a.value ?? -Infinity) - (b.value ?? -Infinity) || 0)
      : sign * a.text.localeCompare(b.text, "en", { numeric: true }),
  );
  body.append(...rows.map(({ row }) => row));
}
