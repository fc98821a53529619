// A matrix as a picture: rows are classes, columns moments of the stream.
import { colour, h, onTheme } from "./dom.js";
import { number } from "./format.js";

const ROW = 18; // pixels of a row

/**
 * Draw `rows` (numbers or null) named by `names`, over positions `from`..`to`.
 * `least` and `most` are the ends of the colour scale; `unit` follows a value.
 * Returns {element, close()}.
 */
export function heat({ title, names, rows, from, to, least = 0, most = 1, unit = "" }) {
  const canvas = h("canvas", { tabindex: 0, role: "img", "aria-label": describe(title, names, rows, unit) });
  const note = h("p", { class: "small muted number heat-note", "aria-live": "polite" }, " ");
  const labels = h("ol", { class: "heat-names", "aria-hidden": "true" }, names.map((name) => h("li", { title: name }, name)));
  const scale = h("p", { class: "small muted heat-scale" },
    h("span", {}, `${number(least)}${unit}`), h("span", { class: "heat-bar" }), h("span", {}, `${number(most)}${unit}`));
  const element = h("figure", { class: "heat" }, h("div", { class: "heat-body" }, labels, canvas), h("div", { class: "heat-foot" }, note, scale));
  const at = { row: 0, column: 0 };
  const columns = rows[0]?.length ?? 0;

  const show = () => {
    const value = rows[at.row]?.[at.column];
    const place = from + ((at.column + 0.5) / columns) * (to - from);
    note.textContent = `${names[at.row]}: ${value === null || value === undefined ? "none" : number(value) + unit} around image ${number(Math.round(place))}`;
  };
  canvas.addEventListener("pointermove", (event) => {
    const box = canvas.getBoundingClientRect();
    at.column = clamp(Math.floor(((event.clientX - box.left) / box.width) * columns), columns);
    at.row = clamp(Math.floor(((event.clientY - box.top) / box.height) * rows.length), rows.length);
    show();
  });
  canvas.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[event.key];
    if (!move) return;
    event.preventDefault();
    at.row = clamp(at.row + move[0], rows.length);
    at.column = clamp(at.column + move[1], columns);
    show();
  });
  const redraw = () => draw(canvas, rows, least, most);
  const watcher = new ResizeObserver(redraw);
  watcher.observe(canvas);
  const end = onTheme(redraw);
  canvas.style.height = `${rows.length * ROW}px`;
  return { element, close() { watcher.disconnect(); end(); } };
}

const clamp = (value, count) => Math.min(Math.max(value, 0), count - 1);

function describe(title, names, rows, unit) {
  const last = rows.map((row, i) => `${names[i]} ${number(row.at(-1))}${unit}`);
  return `${title}. At the end: ${last.join(", ")}.`;
}

function draw(canvas, rows, least, most) {
  const ratio = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight;
  if (!width || !rows.length) return;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  const low = rgb(colour("--raised")), high = rgb(colour("--accent"));
  const tall = canvas.height / rows.length;
  rows.forEach((row, i) => {
    const wide = canvas.width / row.length;
    row.forEach((value, j) => {
      if (value === null) return;
      const share = Math.min(Math.max((value - least) / (most - least || 1), 0), 1);
      pen.fillStyle = `rgb(${low.map((part, k) => Math.round(part + share * (high[k] - part))).join(" ")})`;
      pen.fillRect(Math.floor(j * wide), Math.floor(i * tall), Math.ceil(wide) + 1, Math.ceil(tall) - 1);
    });
  });
}

function rgb(text) {
  const hex = text.replace("#", "");
  return [0, 2, 4].map((i) => parseInt(hex.slice(i, i + 2), 16));
}
