// Embedding maps at three moments side by side, the image on hover, and the nearest neighbours of a chosen one.
import { fill, h, nameColour } from "../dom.js";
import { count, number } from "../format.js";
import { scatter } from "../scatter.js";
import { key, section } from "./parts.js";
import { thumbs } from "./sprite.js";

const HELP = "Images that are close look alike to the learner. Point at one to see it on every map; choose one for its neighbours. Ctrl and the wheel zoom.";

/** The section of the maps. */
export function mapsSection(maps, classes) {
  const thumb = maps.sprite ? thumbs(maps.sprite) : null;
  const labelled = maps.labels.some((label) => label >= 0);
  const name = (i) => classes[maps.labels[i]] ?? `image ${number(i + 1)}`;
  const near = h("div", { class: "near", "aria-live": "polite" });
  const drawn = [];

  const choose = (i) => {
    for (const map of drawn) map.mark([i, ...maps.neighbours[i]]);
    const same = maps.neighbours[i].filter((j) => maps.labels[j] === maps.labels[i]).length;
    fill(near,
      h("p", { class: "small" }, h("strong", {}, name(i)), ` and its ${count(maps.neighbours[i].length, "nearest neighbour")} at the end`, labelled ? `; ${number(same)} of the same class` : ""),
      h("div", { class: "row" }, [i, ...maps.neighbours[i]].map((j) =>
        h("figure", { class: "neighbour" }, thumb ? thumb(j, 64, name(j)) : null,
          h("figcaption", { class: "small", "data-same": labelled ? String(maps.labels[j] === maps.labels[i]) : null }, name(j))))));
  };
  for (const view of maps.views) {
    const tip = h("div", { class: "tip", hidden: true, role: "status" });
    const map = scatter({
      label: `Map of embeddings ${view.title}. Arrow keys move between images, Enter shows the neighbours of one.`,
      points: view.points.map(([x, y], id) => ({ id, x, y, get colour() { return nameColour(labelled ? name(id) : "image"); } })),
      onhover(point, left, top) {
        tip.hidden = !point;
        for (const other of drawn) if (other !== map) other.show(point?.id ?? null);
        if (!point) return;
        fill(tip, thumb ? thumb(point.id, 64, "") : null, h("span", {}, name(point.id)));
        const edge = Math.min(50, map.element.clientWidth / 2);
        tip.style.left = `${Math.min(Math.max(left, edge), map.element.clientWidth - edge)}px`;
        tip.style.top = `${top}px`;
        tip.dataset.below = top < 110;
      },
      onopen: (point) => choose(point.id),
    });
    map.element.append(tip);
    drawn.push(map);
  }
  const present = labelled ? [...new Set(maps.labels)].sort((a, b) => a - b) : [];
  const keys = h("ul", { class: "legend small" }, present.slice(0, 40).map((label) =>
    h("li", {}, key(() => nameColour(classes[label])), classes[label])));
  choose(0);
  return section(maps.views.length > 1 ? "Embedding maps" : "Embedding map", HELP,
    h("div", { class: "maps" }, maps.views.map((view, i) => h("figure", { class: "figure" }, h("h3", {}, view.title), drawn[i].element))), keys, near);
}
