// Names: how many images have each, how well it is told from the others, and which images they are.
import { fill, h, nameColour } from "../dom.js";
import { count, number, percent } from "../format.js";
import { get, thumbnail } from "./api.js";
import { heading, load, nothing, sparingly } from "./parts.js";
import { openPicture } from "./picture.js";
import { grid, nameLine } from "./thumbs.js";

const PAGE = 60;

export function names(root, chosen) {
  const table = h("section", { class: "card", "aria-label": "Names" });
  const view = h("section", { class: "card", "aria-label": "Images", hidden: !chosen });
  fill(root, heading("Names", "You name a few images; the others get the name of their neighbours."), table, view);
  const show = () => Promise.all([
    load(table, async () => showTable(table, await get("/names"), chosen)),
    chosen ? load(view, async () => showImages(view, chosen, await get("/images", { name: chosen, limit: PAGE }))) : null,
  ]);
  show().then(() => { if (chosen) view.scrollIntoView(); });
  const later = sparingly(10, show);
  return { changed(kinds) { if (kinds.has("names")) show(); else if (kinds.has("images")) later(); } };
}

function showTable(place, answer, chosen) {
  if (!answer.names.length) {
    fill(place, nothing("Nothing has a name yet", "Select images on any screen and give them a name. A few of each kind are enough.",
      h("a", { class: "button", href: "#groups" }, "See proposed groups")));
    return;
  }
  const row = (one) => h("tr", {},
    h("td", {}, h("a", { href: `#names/${encodeURIComponent(one.name)}`, "aria-current": one.name === chosen ? "true" : null },
      h("span", { class: "spot", vars: { "--spot": nameColour(one.name) }, "aria-hidden": "true" }), one.name)),
    h("td", { class: "examples" }, h("ul", { class: "strip" }, one.examples.map((id) => h("li", {},
      h("button", { type: "button", class: "thumb", "aria-label": `Image ${id}`, onclick: () => openPicture(id, one.examples) }, h("img", { src: thumbnail(id), alt: "", loading: "lazy" })))))),
    h("td", { class: "right number" }, number(one.count)),
    h("td", { class: "right number" }, number(one.lately)),
    h("td", { class: "accuracy" }, one.accuracy === null ? h("span", { class: "muted small" }, "needs two images")
      : [h("span", { class: "number" }, percent(one.accuracy)), h("div", { class: "meter", "aria-hidden": "true" }, h("span", { vars: { width: `${100 * one.accuracy}%` } }))]));
  const column = (title, kind) => h("th", { scope: "col", class: kind ?? null }, title);
  fill(place,
    h("table", {},
      h("caption", { class: "hidden-text" }, "Names"),
      h("thead", {}, h("tr", {}, column("Name"), column("Examples", "examples"), column("By you", "right"), column("Lately", "right"), column("Leave-one-out accuracy"))),
      h("tbody", {}, answer.names.map(row))),
    h("p", { class: "muted small" }, `Lately: of the newest ${count(answer.newest, "image")}, by you or by neighbours. ${count(answer.unknown, "image is", "images are")} unknown, not near enough to a named one.`));
}

function showImages(place, name, answer) {
  const given = answer.images.filter((image) => image.given).length;
  fill(place, h("h2", {}, h("span", { class: "spot", vars: { "--spot": nameColour(name) }, "aria-hidden": "true" }), name),
    answer.images.length ? [h("p", { class: "muted small" }, `${count(answer.images.length, "image")} shown, ${number(given)} of them named by a person. Open one to see which neighbours decided.`),
      grid(answer.images, { label: `Images named ${name}`, note: (image) => (image.given ? h("span", {}, "by you") : nameLine(image)) })]
      : h("p", { class: "muted" }, "No image has this name now."));
}
