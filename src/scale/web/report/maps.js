// Embedding maps at three moments, the image on hover, and the nearest neighbours of a chosen one.
import { fill, h, nameColour } from "../dom.js";
import { scatter } from "../scatter.js";
import { section } from "./parts.js";
import { thumbs } from "./sprite.js";

/** The section of the maps. */
export function mapsSection(maps, classes) {
  const thumb = maps.sprite ? thumbs(maps.sprite) : null;
  const name = (i) => classes[maps.labels[i]] ?? "unlabelled";
  const tip = h("div", { class: "tip", hidden: true, role: "status" });
  const near = h("div", { class: "near" });
  const at = { view: maps.views.length - 1 };
  const points = () => maps.views[at.view].points.map(([x, y], id) => ({ id, x, y, colour: nameColour(name(id)) }));

  const choose = (i) => {
    map.mark([i, ...maps.neighbours[i]]);
    const same = maps.neighbours[i].filter((j) => maps.labels[j] === maps.labels[i]).length;
    fill(near,
      h("p", { class: "small" }, h("strong", {}, name(i)), ` and its ${maps.neighbours[i].length} nearest neighbours at the end; ${same} of the same class`),
      h("div", { class: "row" }, [i, ...maps.neighbours[i]].map((j) =>
        h("figure", { class: "neighbour" }, thumb ? thumb(j, 64, name(j)) : null,
          h("figcaption", { class: "small", "data-same": maps.labels[j] === maps.labels[i] }, name(j))))));
  };
  const map = scatter({
    label: "Map of embeddings. Arrow keys move between images, Enter shows the neighbours of one.",
    points: points(),
    onhover(point, left, top) {
      tip.hidden = !point;
      if (!point) return;
      fill(tip, thumb ? thumb(point.id, 64, "") : null, h("span", {}, name(point.id)));
      tip.style.left = `${left}px`;
      tip.style.top = `${top}px`;
    },
    onopen: (point) => choose(point.id),
  });
  map.element.append(tip);
  const views = h("div", { class: "row", role: "group", "aria-label": "Moment of the stream" }, maps.views.map((view, i) =>
    h("button", { "aria-pressed": String(i === at.view), onclick: (event) => {
      at.view = i;
      for (const other of views.children) other.setAttribute("aria-pressed", other === event.currentTarget);
      map.update(points());
    } }, view.title)));
  const present = [...new Set(maps.labels)].sort((a, b) => a - b);
  const keys = h("ul", { class: "legend small" }, present.slice(0, 40).map((label) =>
    h("li", {}, h("span", { class: "key", vars: { "--key": nameColour(classes[label]) } }), classes[label])));
  choose(0);
  return section("Embedding map", "Images that are close look alike to the learner. Point at one to see it; choose one for its neighbours.",
    views, map.element, keys, near);
}
