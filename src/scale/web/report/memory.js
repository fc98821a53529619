// What memory holds over the stream: a heat map by class, and images at some moments.
import { fill, h } from "../dom.js";
import { number } from "../format.js";
import { heat } from "../heat.js";
import { section } from "./parts.js";
import { thumbs } from "./sprite.js";

/** The section of memory; null if nothing is known about it. */
export function memorySection(run) {
  const parts = [];
  if (run.memory) {
    const most = Math.max(1, ...run.memory.rows.flat().filter((value) => value !== null));
    parts.push(heat({ title: "Images of each class in memory", names: run.classes, rows: run.memory.rows, from: run.memory.from, to: run.memory.to, most }).element);
  }
  if (run.memoryImages) parts.push(images(run.memoryImages, run.classes));
  return parts.length ? section("Memory", run.memory ? "What it keeps of the past: images of each class over the stream." : "What it keeps of the past.", ...parts) : null;
}

/** Images at one moment, one row for each part of the stream that they came from, and a slider over the moments. */
function images({ sprite, arrivals, labels, moments }, classes) {
  const thumb = thumbs(sprite), last = moments.length - 1;
  const title = h("output", { class: "small" }), rows = h("ol", { class: "periods" });
  const show = (at) => {
    const { seen, held, parts } = moments[at];
    const shown = parts.reduce((sum, part) => sum + part.images.length, 0);
    fill(title, h("strong", {}, `After image ${number(seen)}`), ` memory holds ${number(held)}. `,
      shown < held ? `${number(shown)} of them, evenly spread, by when they arrived:` : "By when they arrived:");
    fill(rows, parts.filter((part) => part.from < seen).map((part) => h("li", {},
      h("p", { class: "small number" }, `${number(part.from + 1)}–${number(part.to)}`, h("span", { class: "muted" }, ` · ${number(part.held)} kept`)),
      h("div", { class: "mosaic" }, part.images.map((i) => thumb(i, 32, described(arrivals[i], classes[labels[i]])))))));
  };
  const slider = last ? h("input", { type: "range", min: 0, max: last, value: last, step: 1, "aria-label": "Moment of the stream", oninput: () => show(Number(slider.value)) }) : null;
  show(last);
  return h("div", { class: "moments" }, h("h3", {}, "Images in memory"), slider ? h("label", { class: "slide small muted" }, "start", slider, "end") : null, title, rows);
}

const described = (arrival, name) => `image ${number(arrival + 1)} of the stream${name === undefined ? "" : `, ${name}`}`;
