// A matrix as a picture: rows are classes, columns moments of the stream.
import { colour, h, onTheme } from "./dom.js";
import { number } from "./format.js";

const ROW = 18; // pixels of a row

/**
 * Draw `rows` (numbers or null) named by `names`, over positions `from`..`to`.
 * `at` are the positions of the columns, if they are not evenly spread.
 * `spans` are [first, last] for each row: a line under it says when its class arrives.
 * `least` and `most` are the ends of the colour scale; `unit` follows a value.
 * Returns {element, close()}.
 */
export function heat({ title, names, rows, from, to, at = null, spans = null, least = 0, most = 1, unit = "" }) {
  const canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": describe(title, names, rows, unit) });
  const note = h("p", { class: "small muted number heat-note", "aria-live": "polite" }, " ");
  const labels = h("ol", { class: "heat-names", "aria-hidden": "true" }, names.map((name) => h("li", { title: name }, name)));
  const scale = h("p", { class: "small muted heat-scale" },
    h("span", {}, `${number(least)}${unit}`), h("span", { class: "heat-bar" }), h("span", {}, `${number(most)}${unit}`));
  const axis = h("p", { class: "small muted number heat-axis" }, h("span", {}, number(from)), h("span", {}, "images seen"), h("span", {}, number(to)));
  const element = h("figure", { class: "heat" }, h("div", { class: "heat-body" }, labels, h("div", {}, canvas, axis)), h("div", { class: "heat-foot" }, note, scale));
  const columns = rows[0]?.length ?? 0;
  const edges = edgesOf(columns, from, to, at);
  const chosen = { row: 0, column: 0 };

  const show = () => {
    const value = rows[chosen.row]?.[chosen.column];
    const place = at ? at[chosen.column] : from + ((chosen.column + 0.5) / columns) * (to - from);
    note.textContent = `${names[chosen.row]}: ${value === null || value === undefined ? "none" : number(value) + unit} ${at ? "at" : "around"} image ${number(Math.round(place))}`;
  };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    chosen.column = clamp(edges.findLastIndex((edge) => edge <= share), columns);
    chosen.row = clamp(Math.floor(((event.clientY - box.top) / box.height) * rows.length), rows.length);
    show();
  });
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!move) return;
    event.preventDefault();
    chosen.row = clamp(chosen.row + move[0], rows.length);
    chosen.column = clamp(chosen.column + move[1], columns);
    show();
  });
  const lines = spans?.map((span) => span.map((place) => (place - from) / (to - from || 1)));
  const redraw = () => draw(canvas, rows, edges, least, most, lines);
  const watcher = new ResizeObserver(redraw);
  watcher.observe(canvas);
  const end = onTheme(redraw);
  canvas.style.height = `${rows.length * ROW}px`;
  return { element, close() { watcher.disconnect(); end(); } };
}

/** Return where columns begin and the last ends, as shares of the width: half way between two positions. */
function edgesOf(columns, from, to, at) {
  if (!at || to <= from) return Array.from({ length: columns + 1 }, (_, j) => j / columns);
  const middle = at.slice(1).map((place, j) => ((place + at[j]) / 2 - from) / (to - from));
  return [0, ...middle, 1];
}

const clamp = (value, count) => Math.min(Math.max(value, 0), count - 1);

function describe(title, names, rows, unit) {
  const last = rows.map((row, i) => `${names[i]} ${number(row.at(-1))}${unit}`);
  return `${title}. At the end: ${last.join(", ")}.`;
}

function draw(canvas, rows, edges, least, most, lines) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !rows.length) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  const low = rgb(colour("--raised")), high = rgb(colour("--accent"));
  const tall = canvas.height / rows.length;
  rows.forEach((row, i) => {
    row.forEach((value, j) => {
      if (value === null) return;
      const share = Math.min(Math.max((value - least) / (most - least || 1), 0), 1);
      const left = Math.floor(edges[j] * canvas.width), right = Math.ceil(edges[j + 1] * canvas.width);
      pen.fillStyle = `rgb(${low.map((part, k) => Math.round(part + share * (high[k] - part))).join(" ")})`;
      pen.fillRect(left, Math.floor(i * tall), right - left + 1, Math.ceil(tall) - 1);
    });
    const [first, last] = lines?.[i] ?? [];
    if (first === undefined) return;
    pen.fillStyle = colour("--text");
    pen.fillRect(first * canvas.width, Math.floor((i + 1) * tall) - 3 * ratio, (last - first) * canvas.width, 2 * ratio);
  });
}

function rgb(text) {
  const hex = text.replace("#", "");
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
}
