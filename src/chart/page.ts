import { readBrowserCode } from "./browser-code.ts";
import { element, embeddedJson, escape } from "./markup.ts";
import type { Chart, Page, PageTable, PageText, Section } from "./sections.ts";

export type { Chart, Page, PageTable, PageText } from "./sections.ts";

/**
 * One HTML document that needs nothing beside itself: opened from a disk without network it shows charts, sorts its tables, prints, and follows the reader's
 * light or dark. Its policy forbids to load anything, and to run any script but its own two, named by their hashes: a name out of a binlog stays text
 * even if it got past `escape`.
 */
export function renderPage(page: Page): string {
  const code = readBrowserCode();
  const policy = [
    "default-src 'none'",
    `script-src ${code.scripts.map((script) => `'${script.hash}'`).join(" ")}`,
    `style-src '${code.style.hash}'`,
    "img-src data: blob:",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
  const charts = page.sections.filter((section) => section.kind !== "table" && section.kind !== "text");
  return [
    "<!DOCTYPE html>",
    '<html lang="en">',
    "<head>",
    '<meta charset="utf-8">',
    `<meta http-equiv="Content-Security-Policy" content="${escape(policy)}">`,
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    element("title", {}, escape(page.title)),
    `<!--\n${code.licences}\n-->`,
    element("style", {}, code.style.text),
    "</head>",
    "<body>",
    `<header><h1>${escape(page.title)}</h1><p>${escape(page.subtitle)}</p></header>`,
    "<main>",
    ...(charts.length === 0
      ? []
      : ["<noscript><p>The charts are drawn by JavaScript, which is off here.</p></noscript>"]),
    ...renderSections(page.sections),
    "</main>",
    element("script", { type: "application/json", id: "charts" }, embeddedJson(charts)),
    ...code.scripts.map((script) => element("script", {}, script.text)),
    "</body>",
    "</html>",
    "",
  ].join("\n");
}

function renderSections(sections: readonly Section[]): string[] {
  let charts = 0;
  return sections.map((section) => {
    switch (section.kind) {
      case "table":
        return renderTable(section);
      case "text":
        return renderText(section);
      default:
        charts += 1;
        return renderChart(section, charts - 1);
    }
  });
}

/** A GTID of MySQL stays in one line. */
const SHORT_MAX = 60;

/** The place of a chart; the script fills it by its number in the embedded data. */
function renderChart(chart: Chart, number: number): string {
  const picture = element("button", { type: "button", class: "picture", title: "Save this chart as a picture" }, "PNG");
  const plot = element("div", { class: "plot", role: "img", "aria-label": chart.title }, "");
  const body = `<div class="head">${heading(chart)}${picture}</div>${note(chart)}${plot}`;
  return element("section", { class: "chart", "data-chart": String(number) }, body);
}

function renderTable(table: PageTable): string {
  const head = table.columns.map(({ title, align }) =>
    element("th", { class: align, scope: "col" }, element("button", { type: "button" }, escape(title))),
  );
  const classes = table.columns.map(({ align }, column) => {
    const isShort = table.rows.every((row) => (row[column] ?? "").length <= SHORT_MAX);
    return isShort ? `${align} short` : align;
  });
  const rows = table.rows.map((row) => {
    const cells = classes.map((name, column) => element("td", { class: name }, escape(row[column] ?? "")));
    return `<tr>${cells.join("")}</tr>`;
  });
  const body = `<thead><tr>${head.join("")}</tr></thead>\n<tbody>\n${rows.join("\n")}\n</tbody>`;
  return element("section", {}, `${heading(table)}${note(table)}<div class="wide"><table>${body}</table></div>`);
}

function renderText({ title, paragraphs }: PageText): string {
  const head = title === undefined ? "" : heading({ title });
  return element("section", {}, head + paragraphs.map((text) => `<p>${escape(text)}</p>`).join("\n"));
}

function heading({ title }: { title: string }): string {
  return `<h2>${escape(title)}</h2>`;
}

function note({ note: text }: { note?: string }): string {
  return text === undefined ? "" : element("p", { class: "note" }, escape(text));
}
