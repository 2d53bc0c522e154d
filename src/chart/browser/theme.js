/** Colours of the moment, out of page.css: light, dark, or paper. */
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const colour = (/** @type {string} */ name) => style.getPropertyValue(name).trim();
  return {
    ink: colour("--ink"),
    quiet: colour("--quiet"),
    grid: colour("--grid"),
    ground: colour("--ground"),
    series: [1, 2, 3, 4, 5, 6, 7, 8].map((number) => colour(`--series-${number}`)),
  };
}

/** @typedef {ReturnType<typeof theme>} Theme */

export function seriesColour(/** @type {Theme} */ { series, ink }, /** @type {number} */ index) {
  return series[index % series.length] ?? ink;
}

/** Behind the first four a line is also told by its dashes, so that a colour may come again. */
export function seriesDash(/** @type {number} */ index) {
  return index < 4 ? [] : index < 7 ? [8, 4] : [2, 3];
}

/** Fonts of a canvas, sizes in CSS pixels. */
const FAMILY = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif";
export const FONT = `12px ${FAMILY}`;
export const TITLE_FONT = `600 18px ${FAMILY}`;

const ruler = document.createElement("canvas").getContext("2d");

export function textWidth(/** @type {string} */ text, font = FONT) {
  if (ruler === null) return text.length * 7;
  ruler.font = font;
  return ruler.measureText(text).width;
}

/** What fits into `width`. A name of a table or a GTID is told from its like by its end, so the beginning goes first. */
export function fitText(/** @type {string} */ text, /** @type {number} */ width) {
  if (textWidth(text) <= width) return text;
  let kept = text;
  while (kept.length > 1 && textWidth(`…${kept}`) > width) kept = kept.slice(1);
  return `…${kept}`;
}

/** Paints in CSS pixels from the upper left corner of a chart, whatever the density of its canvas; `x` and `y` place values of its scales there. */
export function paint(
  /** @type {uPlot} */ plot,
  /** @type {(context: CanvasRenderingContext2D, place: Place) => void} */ painter,
) {
  const { ctx, bbox } = plot;
  const density = uPlot.pxRatio;
  ctx.save();
  ctx.scale(density, density);
  ctx.font = FONT;
  ctx.textBaseline = "middle";
  const [left, top] = [bbox.left / density, bbox.top / density];
  const place = (/** @type {number} */ value, /** @type {string} */ scale) =>
    plot.valToPos(value, scale) + (plot.scales[scale]?.ori === 1 ? top : left);
  painter(ctx, { left, top, width: bbox.width / density, height: bbox.height / density, at: place });
  ctx.restore();
}

/** @typedef {{ left: number, top: number, width: number, height: number, at: (value: number, scale: string) => number }} Place */
