// Events: what was new, why, and whether it is normal.
import { fill, h } from "../dom.js";
import { ago, count, moment, number } from "../format.js";
import { ask, get, thumbnail } from "./api.js";
import { attempt, heading, load, nothing, toast } from "./parts.js";
import { openPicture } from "./picture.js";

const STATES = { "": "All", open: "Open", dismissed: "Dismissed", closed: "Closed" };

export function events(root) {
  const list = h("section", { "aria-label": "Events", "aria-live": "polite" });
  let state = "";
  const show = () => load(list, async () => showEvents(list, await get("/events", { state: state || undefined }), show));
  const buttons = h("div", { class: "row", role: "group", "aria-label": "Which events" }, Object.entries(STATES).map(([key, title]) =>
    h("button", { type: "button", "data-state": key, "aria-pressed": String(key === state), onclick: () => {
      state = key;
      for (const one of buttons.children) one.setAttribute("aria-pressed", String(one.dataset.state === key));
      show();
    } }, title)));
  fill(root, heading("Events", "When something new stays in view, an event opens."), buttons, list);
  show();
  return { changed(kinds) { if (kinds.has("events")) show(); } };
}

function showEvents(place, answer, show) {
  if (!answer.events.length) {
    fill(place, nothing("No events", "Nothing that the learner had not seen before has stayed in view."));
    return;
  }
  fill(place, answer.events.map((event) => card(event, show)));
}

function card(event, show) {
  const nearest = event.nearest;
  return h("article", { class: "card event", "aria-label": `Event ${event.id}` },
    h("button", { class: "thumb", type: "button", "aria-label": `Open image ${event.image}`, onclick: () => openPicture(event.image) },
      h("img", { src: thumbnail(event.image), alt: `The image that opened event ${event.id}` })),
    h("div", { class: "event-text" },
      h("div", { class: "row between" },
        h("h2", {}, `Something new, event ${event.id}`),
        h("span", { class: "badge", "data-tone": event.state === "open" ? "warn" : undefined }, event.state)),
      h("p", { class: "muted small" }, `${moment(event.opened)} (${ago(event.opened)}), ${count(event.count, "image")}`),
      h("div", {},
        h("p", { class: "small" }, `Novelty ${number(event.score, 2)}; up to ${number(event.threshold, 2)} is ordinary`),
        h("div", { class: "meter score", "aria-hidden": "true" }, h("span", { vars: { width: `${Math.min(100, (50 * event.score) / (event.threshold || 1))}%` } }))),
      event.images.length > 1 ? h("div", {}, h("p", { class: "small muted" }, "First images"),
        h("ul", { class: "strip" }, event.images.map((id) => h("li", {},
          h("button", { type: "button", class: "thumb", "aria-label": `Image ${id}`, onclick: () => openPicture(id, event.images) }, h("img", { src: thumbnail(id), alt: "" })))))) : null,
      nearest.length ? h("div", {}, h("p", { class: "small muted" }, "Nearest that was known, with its distance"),
        h("ul", { class: "strip" }, nearest.map((one) => h("li", {},
          h("button", { type: "button", class: "thumb", "aria-label": `Image ${one.id}`, onclick: () => openPicture(one.id, nearest.map((near) => near.id)) }, h("img", { src: thumbnail(one.id), alt: "" })),
          h("p", { class: "note number" }, one.distance.toFixed(2)))))) : null,
      event.state === "dismissed" ? null : h("div", { class: "row" },
        h("button", { class: "main", type: "button", onclick: (click) => attempt(async () => {
          await ask("POST", `/events/${event.id}/dismiss`);
          toast("Learned as normal");
          show();
        }, click.currentTarget) }, "This is normal"),
        h("a", { class: "button", href: `#search/${event.image}` }, "More like this"))));
}
