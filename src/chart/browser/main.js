import { drawChart } from "./chart.js";
import { savePicture } from "./picture.js";
import { makeSortable } from "./table.js";

/** @import { Chart } from "../sections.ts" */

/** What A4 and Letter hold between their margins. */
const PAPER_WIDTH = 660;

/** @type {readonly Chart[]} */
const charts = JSON.parse(document.getElementById("charts")?.textContent ?? "[]");
const places = [...document.querySelectorAll("section.chart")].flatMap((section) => {
  const chart = charts[Number(section.getAttribute("data-chart"))];
  const holder = section.querySelector(".plot");
  return chart === undefined || !(holder instanceof HTMLElement) ? [] : [{ chart, section, holder }];
});

/** @type {uPlot[]} */
let drawn = [];
let isPrinting = false;
let drawnWidth = 0;

function drawAll(/** @type {number} */ width) {
  for (const plot of drawn) plot.destroy();
  drawn = places.map(({ chart, holder }) => {
    const readout = document.createElement("p");
    readout.className = "readout";
    holder.replaceChildren(readout);
    const plot = drawChart(chart, holder, width, (text) => (readout.textContent = text));
    holder.append(readout);
    return plot;
  });
  drawnWidth = width;
}

function drawForScreen() {
  const width = Math.floor(places[0]?.holder.clientWidth ?? 0);
  if (width > 0 && !isPrinting) drawAll(width);
}

for (const { chart, section } of places) {
  section.querySelector(".picture")?.addEventListener("click", () => void savePicture(chart));
}
for (const table of document.querySelectorAll("table")) makeSortable(table);
drawForScreen();

let isAwaited = false;
new ResizeObserver(() => {
  if (isAwaited || isPrinting || Math.floor(places[0]?.holder.clientWidth ?? 0) === drawnWidth) return;
  isAwaited = true;
  requestAnimationFrame(() => {
    isAwaited = false;
    drawForScreen();
  });
}).observe(document.body);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawForScreen);

function setPrinting(/** @type {boolean} */ printing) {
  if (printing === isPrinting) return;
  isPrinting = printing;
  document.documentElement.classList.toggle("printing", printing);
  if (printing) drawAll(PAPER_WIDTH);
  else drawForScreen();
}
addEventListener("beforeprint", () => setPrinting(true));
addEventListener("afterprint", () => setPrinting(false));
