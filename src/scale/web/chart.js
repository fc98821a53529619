// Line charts in the colours of the theme. uPlot is loaded by the page before this module.
import { colour, h, onTheme } from "./dom.js";
import { number } from "./format.js";

/**
 * Draw lines over a shared x axis.
 * `lines` is [{label, colour: "--accent", values, dash: [5, 4]}], or with `css`, a colour of any form; `time` says that x are unix seconds, `over` what x is.
 * Returns {element, update(x, lines), close()}.
 */
export function lineChart({ title, x, lines, time = false, height = 160, over = "" }) {
  const place = h("div", { class: "chart", "aria-hidden": "true" });
  const summary = h("p", { class: "hidden-text" });
  const element = h("figure", { class: "figure", role: "group", "aria-label": title }, place, summary);
  let plot = null;
  let data = [x, ...lines.map((line) => line.values)];

  const draw = () => {
    plot?.destroy();
    plot = null;
    const width = place.clientWidth;
    if (!width) return;
    plot = new globalThis.uPlot(options(title, lines, time, width, height, over), data, place);
  };
  const describe = () => {
    const last = lines.map((line, i) => `${line.label} ${number(lastOf(data[i + 1]))}`);
    summary.textContent = `${title}: ${last.join(", ")} at the end of ${data[0].length} points.`;
  };
  const watcher = new ResizeObserver(() => requestAnimationFrame(() => { // not inside its own round
    if (!plot) draw();
    else if (Math.abs(plot.width - place.clientWidth) > 1) plot.setSize({ width: place.clientWidth, height });
  }));
  watcher.observe(place);
  const end = onTheme(draw);
  describe();
  return {
    element,
    update(newX, values) {
      data = [newX, ...values];
      plot?.setData(data);
      describe();
    },
    close() { watcher.disconnect(); end(); plot?.destroy(); },
  };
}

function options(title, lines, time, width, height, over) {
  const axis = {
    stroke: colour("--muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
  };
  return {
    width, height,
    cursor: { y: false, points: { size: 7 } },
    scales: { x: { time } },
    axes: [{ ...axis, size: 28 }, { ...axis, size: 52, values: (_, ticks) => ticks.map((tick) => number(tick)) }],
    series: [
      { label: over },
      ...lines.map((line) => ({
        label: line.label, stroke: line.css ?? colour(line.colour), width: line.dash ? 1 : 2, dash: line.dash, spanGaps: true, points: { show: false },
        fill: line.fill ? `${colour(line.colour)}22` : undefined,
      })),
    ],
    padding: [10, 18, 0, 0],
  };
}

const lastOf = (values) => values.findLast((value) => value !== null && value !== undefined);
