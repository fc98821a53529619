// The page: which screen is shown, and what arrives while it is.
import { byId, fill, h } from "../dom.js";
import { get, listen } from "./api.js";
import { events } from "./events.js";
import { groups } from "./groups.js";
import { memory } from "./memory.js";
import { names } from "./names.js";
import { now } from "./now.js";
import { refreshPicture, startPicture } from "./picture.js";
import { search } from "./search.js";
import { offerNames, startSelection } from "./selection.js";
import { timeline } from "./timeline.js";

const SCREENS = { now, timeline, groups, search, names, memory, events };
const TITLES = { now: "Now", timeline: "Timeline", groups: "Groups and map", search: "Search", names: "Names", memory: "Memory", events: "Events" };
const live = { status: null, versions: {} };
let screen = null;

function showNav() {
  fill(byId("screens"), Object.entries(TITLES).map(([key, title]) =>
    h("li", {}, h("a", { href: `#${key}`, "data-screen": key }, title, key === "events" ? h("span", { class: "bubble", id: "open-events", hidden: true }) : null))));
}

function route() {
  const [key, ...rest] = location.hash.slice(1).split("/");
  const chosen = Object.hasOwn(SCREENS, key) ? key : "now";
  screen?.close?.();
  const main = fill(byId("main"));
  main.dataset.screen = chosen;
  main.removeAttribute("aria-busy");
  document.title = `${TITLES[chosen]} · scale`;
  for (const link of document.querySelectorAll("[data-screen]")) {
    if (link.dataset.screen === chosen) link.setAttribute("aria-current", "page"); else link.removeAttribute("aria-current");
  }
  document.querySelector(`a[data-screen="${chosen}"]`)?.scrollIntoView({ block: "nearest", inline: "center" });
  const element = h("div", { class: `screen ${chosen}` });
  main.append(element);
  screen = SCREENS[chosen](element, decodeURIComponent(rest.join("/")), live) ?? {};
  if (live.status) screen.status?.(live.status);
}

function onstatus(status) {
  live.status = status;
  pulse(status.state, STATES[status.state] ?? "good");
  const open = status.open_events;
  const bubble = byId("open-events");
  bubble.hidden = open === 0;
  fill(bubble, String(open), h("span", { class: "hidden-text" }, " open"));
  screen.status?.(status);
}

const STATES = { "disk full": "bad", killed: "bad", stopped: "warn", starting: "warn" };

function pulse(text, tone) {
  byId("pulse").dataset.tone = tone;
  if (byId("pulse-text").textContent !== text) byId("pulse-text").textContent = text;
}

function onchange(versions) {
  const before = live.versions;
  live.versions = versions;
  const kinds = new Set(Object.keys(versions).filter((key) => versions[key] !== before[key]));
  if (kinds.has("names")) {
    get("/names").then((answer) => offerNames(answer.names.map((one) => one.name)), () => {});
    refreshPicture();
  }
  if (Object.keys(before).length) screen.changed?.(kinds);
}

showNav();
startSelection();
startPicture();
addEventListener("hashchange", () => { route(); byId("main").focus({ preventScroll: true }); scrollTo(0, 0); });
route();
listen({ onstatus, onchange, onlink: (link) => { if (link === "lost") pulse("connection lost", "bad"); } });
