// Timeline: days, the hours of a day, and the images of an hour.
import { fill, h, nameColour } from "../dom.js";
import { count, moment, number } from "../format.js";
import { get } from "./api.js";
import { heading, load, nothing, sparingly } from "./parts.js";
import { grid, nameLine } from "./thumbs.js";

const HOUR = 3600;
const PAGE = 120;

export function timeline(root, chosen) {
  const days = h("section", { class: "card", "aria-label": "Hours" });
  const view = h("section", { class: "card", "aria-label": "Images of the hour" });
  const state = { hours: [], hour: chosen ? Number(chosen) : null };
  fill(root, heading("Timeline", "Every image that was kept, hour by hour."), days, view);

  const open = (hour) => {
    state.hour = hour;
    history.replaceState(null, "", `#timeline/${hour}`);
    showDay(days, state, open);
    load(view, () => showHour(view, hour));
  };
  const refresh = async (first) => {
    state.hours = (await get("/timeline")).hours;
    if (!state.hours.length) {
      fill(view);
      fill(days, nothing("No images yet", "The timeline begins with the first image."));
      return;
    }
    if (state.hour === null || !Number.isFinite(state.hour)) state.hour = state.hours.at(-1).hour;
    showDay(days, state, open);
    if (first) await load(view, () => showHour(view, state.hour));
  };
  load(days, () => refresh(true));
  const later = sparingly(5, () => refresh(false).catch(() => {}));
  return {
    changed(kinds) {
      if (kinds.has("names")) load(view, () => showHour(view, state.hour));
      later();
    },
  };
}

const dayOf = (hour) => new Date(hour * HOUR * 1000).toDateString();

function showDay(place, state, open) {
  const days = [...new Set(state.hours.map((one) => dayOf(one.hour)))];
  const day = dayOf(state.hour);
  const hours = state.hours.filter((one) => dayOf(one.hour) === day);
  const at = days.indexOf(day);
  const most = Math.max(...hours.map((one) => one.images), 1);
  const focus = document.activeElement?.dataset?.hour;
  const firstOf = (name) => state.hours.find((one) => dayOf(one.hour) === name)?.hour;
  const select = h("select", { "aria-label": "Day", onchange: (event) => open(firstOf(event.target.value)) },
    days.map((name) => h("option", { value: name, selected: name === day }, longDay(name))));
  fill(place,
    h("div", { class: "row day" },
      h("button", { type: "button", "aria-label": "Day before", disabled: at <= 0, onclick: () => open(firstOf(days[at - 1])) }, "←"),
      select,
      h("button", { type: "button", "aria-label": "Day after", disabled: at < 0 || at === days.length - 1, onclick: () => open(firstOf(days[at + 1])) }, "→"),
      h("span", { class: "muted small" }, count(hours.reduce((sum, one) => sum + one.images, 0), "image"))),
    h("div", { class: "hours", role: "group", "aria-label": "Hours of the day" }, hoursOf(hours, state.hour).map((one) => hourBar(one, state.hour, most, open))));
  if (focus) place.querySelector(`[data-hour="${focus}"]`)?.focus();
}

const longDay = (name) => new Date(name).toLocaleDateString(undefined, { weekday: "long", day: "numeric", month: "long", year: "numeric" });

/** All 24 hours of the day, also those without images. */
function hoursOf(hours, chosen) {
  const start = new Date(chosen * HOUR * 1000);
  start.setHours(0, 0, 0, 0);
  const first = Math.round(start.getTime() / 1000 / HOUR);
  const known = new Map(hours.map((one) => [one.hour, one]));
  return Array.from({ length: 24 }, (_, i) => known.get(first + i) ?? { hour: first + i, images: 0, events: 0, names: {} });
}

function hourBar(one, chosen, most, open) {
  const time = new Date(one.hour * HOUR * 1000).toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" });
  const said = `${time}: ${count(one.images, "image")}${one.events ? `, ${count(one.events, "event")}` : ""}`;
  const parts = Object.entries(one.names ?? {}).sort((a, b) => b[1] - a[1]);
  const named = parts.reduce((sum, [, n]) => sum + n, 0);
  return h("button", {
    type: "button", class: "hour", "data-hour": one.hour, disabled: one.images === 0, title: said, "aria-label": said,
    "aria-pressed": String(one.hour === chosen), onclick: () => open(one.hour),
  },
    h("span", { class: "hour-event", "aria-hidden": "true" }, one.events ? "▲" : ""),
    h("span", { class: "hour-bar", vars: { height: `${one.images ? Math.max(4, (72 * one.images) / most) : 2}px` } },
      parts.map(([name, n]) => h("span", { vars: { "flex-grow": String(n), background: nameColour(name) } })),
      h("span", { vars: { "flex-grow": String(Math.max(one.images - named, 0)) }, class: "hour-rest" })),
    h("span", { class: "hour-name number" }, String(new Date(one.hour * HOUR * 1000).getHours())));
}

async function showHour(place, hour, from = hour * HOUR) {
  const answer = await get(`/timeline/${hour}`, { after: from, limit: PAGE });
  const start = new Date(hour * HOUR * 1000);
  const minute = Math.floor((from - hour * HOUR) / 60);
  const slider = h("input", {
    type: "range", min: 0, max: 59, value: minute, "aria-label": "Minute of the hour",
    onchange: (event) => load(place, () => showHour(place, hour, hour * HOUR + Number(event.target.value) * 60)),
  });
  const marked = new Map(answer.events.map((event) => [event.image, event]));
  const note = (image) => (marked.has(image.id) ? [h("span", { class: "event-mark" }, "▲ new "), nameLine(image)] : nameLine(image) ?? h("span", { class: "muted number" }, clock(image.taken)));
  const body = answer.images.length
    ? grid(answer.images, { label: "Images of the hour, oldest first", note })
    : h("p", { class: "muted" }, "No images from this minute on.");
  const more = answer.more ? h("button", { type: "button", onclick: () => load(place, () => showHour(place, hour, answer.images.at(-1).taken + 1e-6)) }, "Later images") : null;
  fill(place,
    h("div", { class: "row between" },
      h("h2", {}, start.toLocaleTimeString(undefined, { hour: "2-digit", minute: "2-digit" })),
      h("label", { class: "row scrub" }, h("span", { class: "muted small" }, "from minute"), slider, h("output", { class: "number" }, String(minute)))),
    nameStrip(answer.images), body, h("div", { class: "row" }, more));
}

const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString(undefined, { minute: "2-digit", second: "2-digit", hour: "2-digit" });

/** The names of the images one after the other, as a strip of colours. */
function nameStrip(images) {
  const runs = [];
  for (const image of images) {
    const name = image.name ?? "";
    if (runs.at(-1)?.name === name) runs.at(-1).n += 1; else runs.push({ name, n: 1, first: image });
  }
  if (!runs.some((run) => run.name)) return null;
  const parts = runs.map((run) => h("span", {
    class: "run", vars: { "flex-grow": String(run.n), "--spot": run.name ? nameColour(run.name) : "transparent" },
    title: `${run.name || "unnamed"}: ${count(run.n, "image")} from ${moment(run.first.taken)}`,
  }, run.n >= images.length / 12 ? run.name : ""));
  return h("div", { class: "name-strip", role: "img", "aria-label": `Names over time: ${runs.slice(0, 40).map((run) => `${run.name || "unnamed"} ${number(run.n)}`).join(", ")}` }, parts);
}
