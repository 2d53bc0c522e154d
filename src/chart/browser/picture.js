import { drawChart } from "./chart.js";
import { FONT, theme, TITLE_FONT } from "./theme.js";

/** @import { Chart } from "../sections.ts" */

const WIDTH = 1000;
const MARGIN = 20;

/** Saves the chart with its title and note, always equally wide. */
export async function savePicture(/** @type {Chart} */ chart) {
  const plot = drawChart(chart, document.createElement("div"), WIDTH, () => {});
  // uPlot draws at the end of the running task.
  await Promise.resolve();
  const canvas = withTitle(chart, plot);
  plot.destroy();
  const blob = await new Promise((/** @type {(blob: Blob | null) => void} */ resolve) =>
    canvas.toBlob(resolve, "image/png"),
  );
  if (blob === null) return;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = `${chart.title
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .replaceAll(/^-|-$/g, "")}.png`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

function withTitle(/** @type {Chart} */ chart, /** @type {uPlot} */ plot) {
  const density = uPlot.pxRatio;
  const colours = theme();
  const head = MARGIN + 26 + (chart.note === undefined ? 0 : 20);
  const canvas = document.createElement("canvas");
  canvas.width = (WIDTH + 2 * MARGIN) * density;
  canvas.height = (head + plot.height + MARGIN) * density;
  const context = canvas.getContext("2d");
  if (context === null) return canvas;
  context.fillStyle = colours.ground;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(plot.ctx.canvas, MARGIN * density, head * density);
  context.scale(density, density);
  context.fillStyle = colours.ink;
  context.font = TITLE_FONT;
  context.fillText(chart.title, MARGIN, MARGIN + 12, WIDTH);
  context.fillStyle = colours.quiet;
  context.font = FONT;
  if (chart.note !== undefined) context.fillText(chart.note, MARGIN, MARGIN + 32, WIDTH);
  return canvas;
}
