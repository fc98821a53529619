// The dialog of one image: what it is, how it got its name, and what to do with it.
import { byId, fill, h } from "../dom.js";
import { moment, number, percent } from "../format.js";
import { get, picture, thumbnail } from "./api.js";
import { attempt } from "./parts.js";
import { nameField, nameImages } from "./selection.js";

let order = [];
let shown = null;

/** Show an image; `ids` are those that the arrow keys go through. */
export function openPicture(id, ids = [id]) {
  order = ids;
  const dialog = byId("picture");
  if (!dialog.open) dialog.showModal();
  show(id);
}

/** Show the same image again, with new names, if the dialog is open. */
export const refreshPicture = () => { if (byId("picture").open && !byId("picture").contains(document.activeElement?.closest("form input"))) show(shown); };

/** Prepare the dialog once, when the page starts. */
export function startPicture() {
  const dialog = byId("picture");
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("keydown", (event) => {
    if (event.target.matches("input")) return;
    if (event.key === "ArrowRight") step(1);
    else if (event.key === "ArrowLeft") step(-1);
  });
}

function step(by) {
  const next = order[order.indexOf(shown) + by];
  if (next !== undefined) show(next);
}

async function show(id) {
  shown = id;
  const dialog = byId("picture");
  let image;
  try {
    image = await get(`/images/${id}`);
  } catch (error) {
    if (shown === id) fill(dialog, top(id), h("p", { class: "muted" }, error.message));
    return;
  }
  if (shown !== id) return;
  fill(dialog, top(id), h("div", { class: "picture-body" },
    h("div", { class: "picture-image" }, image.stored ? [h("img", { src: thumbnail(id), alt: `Image ${id}` }),
      h("figure", { class: "seen" }, h("img", { src: picture(id), alt: "" }), h("figcaption", { class: "muted small" }, "as the learner sees it"))]
      : h("p", { class: "muted" }, "It left the store to make room.")),
    h("div", { class: "picture-facts" }, nameCard(image), factsOf(image), knownCard(image))));
}

function top(id) {
  const at = order.indexOf(id);
  return h("header", { class: "picture-top" },
    h("h2", { id: "picture-title" }, `Image ${id}`),
    h("div", { class: "row" },
      h("button", { type: "button", class: "plain", "aria-label": "Image before", disabled: at <= 0, onclick: () => step(-1) }, "←"),
      h("button", { type: "button", class: "plain", "aria-label": "Image after", disabled: at < 0 || at === order.length - 1, onclick: () => step(1) }, "→"),
      h("button", { type: "button", class: "plain", "aria-label": "Close", onclick: () => byId("picture").close() }, "✕")));
}

function nameCard(image) {
  const said = !image.name ? "No name yet."
    : image.given ? "Named by a person."
    : image.name === "unknown" ? "Not near enough to anything that has a name."
    : `Named by its neighbours, ${percent(image.confidence)} sure.`;
  const form = h("form", { class: "row" }, nameField("Name of this image", image.given ? image.name : ""), h("button", { class: "main", type: "submit" }, "Name"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = form.elements.name.value.trim();
    if (name) attempt(async () => { await nameImages([image.id], name); await show(image.id); }, form.querySelector("button"));
  });
  return h("section", {},
    h("p", { class: "picture-name" }, image.name ?? "unnamed"),
    h("p", { class: "muted small" }, said),
    strip(image.name === "unknown" ? "Nearest that have a name" : "Decided by", image.decided_by ?? []),
    form,
    h("div", { class: "row" },
      h("a", { class: "button", href: `#search/${image.id}`, onclick: () => byId("picture").close() }, "More like this"),
      image.given ? h("button", { type: "button", onclick: (event) => attempt(async () => { await nameImages([image.id], null); await show(image.id); }, event.currentTarget) }, "Remove name") : null));
}

const strip = (title, ids) => (ids.length === 0 ? null
  : h("div", {}, h("p", { class: "small muted" }, title), h("ul", { class: "strip" }, ids.map((one) => mini(one)))));

const mini = (id, text) => h("li", {},
  h("button", { type: "button", class: "thumb", "aria-label": `Image ${id}`, onclick: () => show(id) }, h("img", { src: thumbnail(id), alt: "" })),
  text ? h("p", { class: "note number" }, text) : null);

function factsOf(image) {
  const rows = [
    ["Taken", moment(image.taken)], ["From", image.source], ["File", image.path],
    ["Size", `${number(image.width)} × ${number(image.height)}`],
    ["Crop", image.box ? `${image.box[2]} × ${image.box[3]} at ${image.box[0]}, ${image.box[1]}` : null],
    ["Learned", image.batch === null ? "not yet" : `in batch ${number(image.batch)}`],
  ];
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([name, value]) => [h("dt", {}, name), h("dd", {}, value)]));
}

function knownCard(image) {
  if (!image.nearest?.length) return null;
  return h("section", {}, h("p", { class: "small muted" }, "Most similar, with cosine similarity"),
    h("ul", { class: "strip" }, image.nearest.map((one) => mini(one.id, one.score.toFixed(2)))));
}
