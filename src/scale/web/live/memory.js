// Memory: the images that the learner keeps to learn from again, and why these.
import { fill, h } from "../dom.js";
import { count } from "../format.js";
import { get } from "./api.js";
import { heading, load, nothing, sparingly } from "./parts.js";
import { grid } from "./thumbs.js";

const PAGE = 240;

export function memory(root) {
  const view = h("section", { class: "card", "aria-label": "Memory" });
  fill(root, heading("Memory", "The images that the learner keeps and learns from again, so that it does not forget."), view);
  const show = () => load(view, async () => showMemory(view, await get("/memory", { limit: PAGE })));
  show();
  const later = sparingly(15, show);
  return { changed(kinds) { if (kinds.has("names")) show(); else if (kinds.has("step")) later(); } };
}

function showMemory(place, answer) {
  if (!answer.images.length) {
    fill(place, nothing("The memory is empty", answer.why ?? "It fills with the first batches."));
    return;
  }
  const size = answer.size ? ` of at most ${count(answer.size, "image")}` : "";
  fill(place,
    h("div", { class: "row between" }, h("h2", {}, `${count(answer.total, "image")}${size}`), answer.images.length < answer.total ? h("span", { class: "muted small" }, `${answer.images.length} of them shown, evenly`) : null),
    answer.why ? h("p", { class: "muted" }, answer.why) : null,
    grid(answer.images, { label: "Images in memory", small: true }));
}
