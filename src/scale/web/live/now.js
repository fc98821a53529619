// Now: the last image, how fast it goes, and how the learner is.
import { lineChart } from "../chart.js";
import { fill, h } from "../dom.js";
import { bytes, count, duration, moment, number } from "../format.js";
import { get, thumbnail } from "./api.js";
import { heading, load, nothing, sparingly } from "./parts.js";
import { openPicture } from "./picture.js";
import { grid, nameLine } from "./thumbs.js";

const RECENT = 24;
const CHARTS = [
  ["loss", "Loss", "--accent"],
  ["effective_rank", "Effective rank", "--good"],
];

export function now(root, _, live) {
  const last = h("section", { class: "card last", "aria-label": "Last image" });
  const tiles = h("section", { class: "tiles", "aria-label": "Figures" });
  const sources = h("section", { class: "card", "aria-label": "Sources" });
  const gate = h("section", { class: "card", "aria-label": "Gate" });
  const charts = h("section", { class: "charts", "aria-label": "Learning curves" });
  const recent = h("section", { class: "card", "aria-label": "Recent images" });
  fill(root, heading("Now", "What comes in, and how the learner is."),
    h("div", { class: "now-top" }, last, h("div", { class: "now-side" }, tiles, h("div", { class: "two" }, sources, gate))), charts, recent);
  const drawn = new Map();

  const images = async () => {
    const answer = await get("/images", { limit: RECENT });
    if (!answer.images.length) {
      fill(last);
      fill(recent, nothing("No images yet", "As soon as a source delivers an image that the gate lets through, it is here."));
      return;
    }
    showLast(last, answer.images[0]);
    fill(recent, h("h2", {}, "Recent"), grid(answer.images, { label: "Recent images, newest first", small: true }));
  };
  const history = async () => showCharts(charts, drawn, await get("/history", { points: 400 }));
  const refresh = sparingly(2, () => { load(recent, images); history().catch(() => {}); });
  refresh();
  return {
    status(status) { showTiles(tiles, status); showSources(sources, status); showGate(gate, status); },
    changed(kinds) { if (kinds.has("images") || kinds.has("names") || kinds.has("step")) refresh(); },
    close() { for (const chart of drawn.values()) chart.close(); },
  };
}

function showLast(place, image) {
  fill(place,
    h("button", { class: "thumb", type: "button", "aria-label": `Open image ${image.id}`, onclick: () => openPicture(image.id) },
      h("img", { src: thumbnail(image.id), alt: `The last image, number ${image.id}` })),
    h("div", { class: "last-text" },
      h("p", {}, h("strong", {}, `Image ${number(image.id)}`), h("span", { class: "muted" }, `, ${moment(image.taken)}`)),
      h("p", { class: "note" }, nameLine(image) ?? h("span", { class: "muted" }, "no name yet")),
      h("p", { class: "muted small" }, image.source)));
}

function tile(name, value, text, tone) {
  return h("div", { class: "tile card", "data-tone": tone },
    h("p", { class: "tile-name" }, name), h("p", { class: "tile-value number" }, value), text ? h("p", { class: "muted small" }, text) : null);
}

function showTiles(place, status) {
  const rate = status.images_per_second, updates = status.updates, guard = status.guard;
  const slower = updates && updates.now < updates.usual;
  fill(place,
    tile("Images", number(status.images), rate ? `${number(rate.in, 2)} a second come in` : `${number(status.stored)} stored`),
    tile("Batches learned", number(status.step), rate ? `${number(rate.learned, 2)} images a second` : null),
    tile("Queue", number(status.queue?.waiting), status.dropped ? `${number(status.dropped)} dropped` : "none dropped", status.dropped ? "warn" : undefined),
    tile("Updates per batch", number(updates?.now), slower ? `usually ${updates.usual}; images come fast` : null, slower ? "warn" : undefined),
    tile("Loss", number(status.loss), status.effective_rank === null ? null : `effective rank ${number(status.effective_rank)}${status.collapsed ? ", collapsed" : ""}`, status.collapsed ? "bad" : undefined),
    tile("Guard", guard === null ? "–" : guard.better ? "good" : "no gain", guard === null ? "not measured yet" : `finds ${number(guard.score)} % of views again, untrained ${number(guard.start_score)} %`, guard && !guard.better ? "warn" : undefined),
    tile("Drift", status.drift === null ? "–" : number(status.drift, 2), status.drift === null ? "not measured yet" : status.drift > 1 ? "the last images are unlike the past" : "the last images are like the past", status.drift > 1 ? "warn" : undefined),
    tile("Disk", bytes(status.disk_bytes), `${count(status.stored, "image")} stored`),
    tile("Running", duration(status.uptime), status.memory_bytes === null ? null : `${bytes(status.memory_bytes)} of memory`));
}

const TONES = { ok: "good", ended: "accent", new: "accent", waiting: "warn", lost: "bad", gone: "bad", failed: "bad" };

function showSources(place, status) {
  const rows = (status.sources ?? []).map((source) => h("li", { class: "source" },
    h("span", { class: "badge", "data-tone": TONES[source.state] }, source.state),
    h("div", {}, h("p", {}, source.uri), source.message ? h("p", { class: "muted small" }, source.message) : null)));
  const problem = status.problem ? h("p", { class: "problem", role: "alert" }, status.problem) : null;
  fill(place, h("h2", {}, "Sources"), problem, rows.length ? h("ul", { class: "rows" }, rows) : h("p", { class: "muted" }, "None."));
}

function showGate(place, status) {
  const reasons = Object.entries(status.skipped ?? {}).sort((a, b) => b[1] - a[1]);
  const kept = status.images ?? 0;
  const most = Math.max(kept, ...reasons.map(([, n]) => n), 1);
  const bar = (name, n) => h("li", { class: "gate-row" }, h("span", {}, name), h("span", { class: "number" }, number(n)),
    h("div", { class: "meter", "aria-hidden": "true" }, h("span", { vars: { width: `${(100 * n) / most}%` } })));
  fill(place, h("h2", {}, "Gate"), h("ul", { class: "rows" }, bar("kept", kept), reasons.map(([name, n]) => bar(name, n))));
}

function showCharts(place, drawn, history) {
  for (const [key, title, colour] of CHARTS) {
    const values = history.series[key];
    if (!values?.some((value) => value !== null)) continue;
    if (drawn.has(key)) { drawn.get(key).update(history.step, [values]); continue; }
    const chart = lineChart({ title, x: history.step, lines: [{ label: title, colour, values, fill: true }], height: 170, over: "batch", whole: true });
    drawn.set(key, chart);
    place.append(h("div", { class: "card" }, h("h2", {}, title, h("span", { class: "muted small" }, " by batch")), chart.element));
  }
}
