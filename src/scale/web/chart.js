// Line charts in the colours of the theme. uPlot is loaded by the page before this module.
import { colour, h, onTheme } from "./dom.js";
import { number } from "./format.js";

const FONT = "12px system-ui, sans-serif";
const APART = 13; // pixels between two names at the right
const WHOLE = Array.from({ length: 10 }, (_, i) => [1, 2, 5].map((one) => one * 10 ** i)).flat(); // steps between ticks

/**
 * Draw lines over a shared x axis.
 * `lines` is [{label, colour: "--accent", values, dash: [5, 4]}], or with `css`, a function that returns a colour of any form; `time` says that x are unix seconds, `over` what x is.
 * `marks` is [{x, label}]: upright lines, named where there is room. A dashed line is named at its right end.
 * `limits` are the least and the most that y can be; `whole` says that x are whole numbers.
 * Returns {element, update(x, lines), close()}.
 */
export function lineChart({ title, x, lines, time = false, height = 160, over = "", marks = [], limits = null, whole = false }) {
  const place = h("div", { class: lines.length > 1 ? "chart" : "chart alone", "aria-hidden": "true" });
  const summary = h("p", { class: "hidden-text" });
  const element = h("figure", { class: "figure", role: "group", "aria-label": title }, place, summary);
  let plot = null;
  let data = [x, ...lines.map((line) => line.values)];

  const draw = () => {
    plot?.destroy();
    plot = null;
    const width = place.clientWidth;
    if (!width) return;
    plot = new globalThis.uPlot(options(lines, marks, time, width, height, over, limits, whole), data, place);
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

function options(lines, marks, time, width, height, over, limits, whole) {
  const axis = {
    stroke: colour("--muted"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: FONT,
  };
  const value = (_, one) => (one === null || one === undefined ? "" : number(one));
  const alone = lines[0].values.filter((one) => one !== null).length < 2; // a line of one point would not be seen
  return {
    width, height,
    cursor: { y: false, points: { size: 7 } },
    legend: { markers: { dash: (_, i) => (lines[i - 1]?.dash ? "dashed" : "solid") } },
    scales: { x: { time }, y: limits ? { range: (_, low, high) => within(low, high, limits) } : {} },
    axes: [{ ...axis, size: 28, ...(whole ? { incrs: WHOLE } : {}) }, { ...axis, size: 52, values: (_, ticks) => ticks.map((tick) => number(tick)) }],
    series: [
      { label: over, value },
      ...lines.map((line) => ({
        label: line.label, value, stroke: line.css?.() ?? colour(line.colour), width: line.dash ? 1 : 2, dash: line.dash, spanGaps: true, points: { show: alone && !line.dash },
        fill: line.fill ? `${colour(line.colour)}22` : undefined,
      })),
    ],
    hooks: { drawClear: [(plot) => drawMarks(plot, marks)], draw: [(plot) => nameDashed(plot, lines)] },
    padding: [marks.length ? 20 : 10, 18, 0, 0],
  };
}

/** Return the range of the y axis: a little more than the values, and never beyond the limits. */
function within(low, high, [least, most]) {
  const margin = Math.max((high - low) * 0.08, (most - least) * 0.02);
  return [Math.max(least, low - margin), Math.min(most, high + margin)];
}

function withPen(plot, action) {
  const pen = plot.ctx, ratio = devicePixelRatio || 1;
  pen.save();
  pen.font = FONT.replace("12", Math.round(11 * ratio));
  pen.fillStyle = colour("--muted");
  pen.strokeStyle = colour("--muted");
  action(pen, ratio, plot.bbox);
  pen.restore();
}

function drawMarks(plot, marks) {
  if (!marks.length) return;
  withPen(plot, (pen, ratio, box) => {
    const { min, max } = plot.scales.x;
    const there = marks.filter((mark) => mark.x >= min && mark.x <= max);
    const at = there.map((mark) => Math.round(plot.valToPos(mark.x, "x", true)));
    pen.lineWidth = ratio;
    pen.setLineDash([ratio, 3 * ratio]);
    pen.textBaseline = "top";
    at.forEach((left, i) => {
      pen.beginPath();
      pen.moveTo(left, box.top);
      pen.lineTo(left, box.top + box.height);
      pen.stroke();
      const room = Math.min(at[i + 1] ?? Infinity, box.left + box.width) - left - 6 * ratio;
      pen.fillText(fitting(pen, there[i].label, room), left, box.top - 15 * ratio);
    });
  });
}

/** Return a text, shortened to `room`; nothing if only a letter or two would be left. */
function fitting(pen, text, room) {
  if (pen.measureText(text).width <= room) return text;
  for (let end = text.length - 1; end > 2; end -= 1) {
    if (pen.measureText(`${text.slice(0, end)}…`).width <= room) return `${text.slice(0, end)}…`;
  }
  return "";
}

function nameDashed(plot, lines) {
  const found = lines.map((line, i) => ({ label: line.label, dash: line.dash, value: lastOf(plot.data[i + 1]), shown: plot.series[i + 1].show }))
    .filter((line) => line.dash && line.shown && line.value !== undefined)
    .map((line) => ({ ...line, y: plot.valToPos(line.value, "y", true) })).sort((a, b) => a.y - b.y);
  withPen(plot, (pen, ratio, box) => {
    const groups = [];
    for (const line of found) {
      if (groups.length && line.y - groups.at(-1).y < APART * ratio) groups.at(-1).labels.push(line.label);
      else groups.push({ y: line.y, labels: [line.label] });
    }
    pen.textAlign = "right";
    pen.lineJoin = "round";
    pen.lineWidth = 4 * ratio; // of the ground behind a name, which lines may cross
    pen.strokeStyle = colour("--surface");
    for (const { y, labels } of groups) {
      const above = y - APART * ratio > box.top;
      pen.textBaseline = above ? "bottom" : "top";
      const text = [labels.join(", "), box.left + box.width - 2 * ratio, y + (above ? -2 : 3) * ratio];
      pen.strokeText(...text);
      pen.fillText(...text);
    }
  });
}

const lastOf = (values) => values.findLast((value) => value !== null && value !== undefined);
