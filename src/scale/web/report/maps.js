// Embedding maps at three moments side by side, the image on hover, and the nearest neighbours of a chosen one.
import { fill, h, nameColour } from "../dom.js";
import { count, number } from "../format.js";
import { scatter } from "../scatter.js";
import { key, section } from "./parts.js";
import { thumbs } from "./sprite.js";

const NEAR = "Images that are close look alike to the learner.";
const MOUSE = "Click it for its nearest neighbours. Ctrl and the wheel zoom.";
const AGES = ["#7a4fc9", "#3b78c4", "#1f9e89", "#74b83b", "#d9a400"]; // from the first image to the last

/** The section of the maps. */
export function mapsSection(maps, classes) {
  const thumb = maps.sprite ? thumbs(maps.sprite) : null;
  const labelled = maps.labels.some((label) => label >= 0);
  const when = maps.arrivals ?? null, last = when ? Math.max(1, ...when) : 1;
  const name = (i) => classes[maps.labels[i]] ?? `image ${number((when ? when[i] : i) + 1)}`;
  const paint = (i) => (labelled ? nameColour(name(i)) : when ? AGES[Math.round((AGES.length - 1) * Math.min(1, when[i] / last))] : nameColour("image"));
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
      points: view.points.map(([x, y], id) => ({ id, x, y, get colour() { return paint(id); } })),
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
  const keys = when && !labelled
    ? h("p", { class: "small muted ages" }, "arrived first", h("span", { class: "age-bar", vars: { "--ages": AGES.join(", ") } }), "last")
    : h("ul", { class: "legend small" }, present.slice(0, 40).map((label) => h("li", {}, key(() => nameColour(classes[label])), classes[label])));
  const several = maps.views.length > 1;
  const views = h("div", { class: "maps" }, maps.views.map((view, i) => h("figure", { class: "figure" }, h("h3", {}, view.title), drawn[i].element)));
  choose(0);
  return section(several ? "Embedding maps" : "Embedding map", `${NEAR} Point at one to see it${several ? " on every map" : ""}. ${MOUSE}`,
    several ? [views, keys, near] : h("div", { class: "beside" }, h("div", {}, views, keys), near));
}
