// Grids of thumbnails: open one, select several, move with the arrow keys.
import { h, nameColour } from "../dom.js";
import { moment, percent } from "../format.js";
import { thumbnail } from "./api.js";
import { openPicture } from "./picture.js";
import { isSelected, lastSelected, select } from "./selection.js";

/** Make a grid of images [{id, taken, name, confidence, given}]; `note(image)` is a line below each. */
export function grid(images, { label, note = nameLine, small = false } = {}) {
  const ids = images.map((image) => image.id);
  const list = h("ul", { class: small ? "grid small-grid" : "grid", "aria-label": label });
  list.append(...images.map((image) => cell(image, ids, note)));
  list.addEventListener("keydown", (event) => move(list, event));
  return list;
}

function cell(image, ids, note) {
  const text = note?.(image) ?? null;
  return h("li", { class: "cell", "data-id": image.id },
    h("button", { class: "thumb", type: "button", "aria-label": describe(image), onclick: () => openPicture(image.id, ids) },
      h("img", { src: thumbnail(image.id), alt: "", loading: "lazy", decoding: "async" })),
    h("label", { class: "tick" },
      h("input", {
        type: "checkbox", "data-select": image.id, checked: isSelected(image.id), "aria-label": `Select image ${image.id}`,
        onclick: (event) => choose(image.id, ids, event),
      })),
    text ? h("p", { class: "note" }, text) : null);
}

function choose(id, ids, event) {
  const from = ids.indexOf(lastSelected()), to = ids.indexOf(id);
  if (event.shiftKey && from >= 0) select(ids.slice(Math.min(from, to), Math.max(from, to) + 1), event.target.checked);
  else select([id], event.target.checked);
}

/** The name of an image with a dot of its colour; a name that a neighbour gave has its confidence. */
export function nameLine(image) {
  if (!image.name) return null;
  const sure = image.given || image.name === "unknown" ? null : h("span", { class: "muted number" }, ` ${percent(image.confidence)}`);
  return [h("span", { class: "spot", vars: { "--spot": nameColour(image.name) }, "aria-hidden": "true" }), h("span", {}, image.name), sure];
}

export function describe(image) {
  const name = image.name ? `, ${image.name}${image.given ? "" : ` (${percent(image.confidence)} sure)`}` : "";
  return `Image ${image.id}${name}, ${moment(image.taken)}`;
}

function move(list, event) {
  const buttons = [...list.querySelectorAll(".thumb")];
  const at = buttons.indexOf(document.activeElement);
  if (at < 0) return;
  const top = buttons[0].getBoundingClientRect().top;
  const columns = buttons.findIndex((one) => one.getBoundingClientRect().top > top + 4);
  const row = columns < 0 ? buttons.length : columns;
  const to = { ArrowRight: at + 1, ArrowLeft: at - 1, ArrowDown: at + row, ArrowUp: at - row, Home: 0, End: buttons.length - 1 }[event.key];
  if (to === undefined || !buttons[to]) return;
  event.preventDefault();
  buttons[to].focus();
}
