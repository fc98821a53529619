// Groups and map: images that lie together, to be named in one go.
import { byId, fill, h, nameColour, onTheme } from "../dom.js";
import { count } from "../format.js";
import { get, thumbnail } from "./api.js";
import { attempt, heading, load, nothing, sparingly } from "./parts.js";
import { openPicture } from "./picture.js";
import { nameField, nameImages, onSelection, select } from "./selection.js";
import { grid } from "./thumbs.js";

const POINTS = 1000;
const SHOWN = 12;

export function groups(root) {
  const map = h("section", { class: "card", "aria-label": "Map" });
  const list = h("section", { "aria-label": "Proposed groups" });
  fill(root, heading("Groups and map", "Images that the learner finds alike lie together. Name a whole group, or draw a line around points on the map."), map, list);
  const drawn = {};
  const showMap = () => load(map, async () => mapOf(map, drawn, await get("/map", { points: POINTS })), "Drawing the map. The first time takes some seconds.");
  const showGroups = () => load(list, async () => groupsOf(list, await get("/groups")), "Looking for groups …");
  showMap();
  showGroups();
  const endTheme = onTheme(showMap);
  const endSelection = onSelection((ids) => drawn.chart?.mark(ids));
  const later = sparingly(90, showMap);
  return {
    changed(kinds) {
      if (kinds.has("names")) { showMap(); showGroups(); } else later();
    },
    close() { drawn.chart?.close(); endTheme(); endSelection(); },
  };
}

async function mapOf(place, drawn, answer) {
  const points = answer.points.map((point) => ({ ...point, colour: nameColour(point.name) }));
  if (!points.length) {
    drawn.chart?.close();
    drawn.chart = null;
    fill(place, nothing("No map yet", "The map appears when the learner has embedded the first images."));
    return;
  }
  if (drawn.chart && place.contains(drawn.chart.element)) drawn.chart.update(points);
  else await draw(place, drawn, points);
  fill(drawn.legend, legend(points));
  drawn.count.textContent = `${count(points.length, "image")} of ${count(answer.total, "image")}`;
}

async function draw(place, drawn, points) {
  const { scatter } = await import("../scatter.js");
  const tip = h("div", { class: "tip", hidden: true, "aria-live": "polite" });
  drawn.legend = h("ul", { class: "legend", "aria-label": "Names on the map" });
  drawn.count = h("p", { class: "muted small" });
  drawn.chart = scatter({
    label: "Map of images. Arrow keys move, plus and minus zoom, Enter opens the nearest image.",
    points,
    onhover(point, left, top) {
      tip.hidden = point === null;
      if (point === null) return;
      fill(tip, h("img", { src: thumbnail(point.id), alt: "" }), h("p", {}, point.name ?? `image ${point.id}`));
      const width = drawn.chart.element.clientWidth;
      tip.style.left = `${Math.min(Math.max(left - 60, 4), width - 140)}px`;
      tip.style.top = `${top > 190 ? top - 180 : top + 18}px`;
    },
    onopen: (point) => openPicture(point.id),
    onselect: (chosen) => select(chosen.map((one) => one.id)),
  });
  drawn.chart.element.append(tip);
  const tool = (text, label, action) => h("button", { type: "button", "aria-label": label, onclick: action }, text);
  fill(place,
    h("div", { class: "row between" }, h("div", {}, h("h2", {}, "Map"), drawn.count),
      h("div", { class: "row" }, tool("+", "Zoom in", () => drawn.chart.zoom(1.6)), tool("−", "Zoom out", () => drawn.chart.zoom(1 / 1.6)), tool("Whole map", "Show the whole map", drawn.chart.reset))),
    drawn.chart.element, drawn.legend,
    h("p", { class: "muted small" }, "Draw around points to select them (with Shift once zoomed in). Drag moves a zoomed map."));
}

function legend(points) {
  const counts = new Map();
  for (const point of points) counts.set(point.name ?? "unnamed", (counts.get(point.name ?? "unnamed") ?? 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).slice(0, 24).map(([name, n]) =>
    h("li", {}, h("span", { class: "spot", vars: { "--spot": nameColour(name === "unnamed" ? null : name) }, "aria-hidden": "true" }), `${name} `, h("span", { class: "muted number" }, String(n))));
}

function groupsOf(place, answer) {
  if (!answer.groups.length) {
    fill(place, nothing("No groups to name", "When there are enough images without a name that lie together, they are proposed here."));
    return;
  }
  fill(place, h("h2", {}, "Proposed groups"), h("div", { class: "group-list" }, answer.groups.map((group, i) => groupCard(group, i + 1))));
}

function groupCard(group, number) {
  const form = h("form", { class: "row" }, nameField(`Name for group ${number}`), h("button", { class: "main", type: "submit" }, `Name all ${group.images.length}`));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = form.elements.name.value.trim();
    if (name) attempt(() => nameImages(group.images, name), form.querySelector("button"));
  });
  const gridOf = (ids) => grid(ids.map((id) => ({ id, taken: null })), { label: `Images of group ${number}`, small: true, note: null });
  const shown = h("div", {}, gridOf(group.images.slice(0, SHOWN)));
  const rest = group.images.length <= SHOWN ? null : h("button", { class: "plain", type: "button", onclick: () => {
    fill(shown, gridOf(group.images));
    rest.remove();
  } }, `Show all ${group.images.length}`);
  return h("article", { class: "card group", "aria-label": `Group ${number}` },
    h("div", { class: "row between" }, h("h2", {}, `Group ${number}`), h("span", { class: "muted small" }, count(group.images.length, "image"))),
    shown, rest, form);
}
