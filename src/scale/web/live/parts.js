// Small parts that several screens use.
import { byId, fill, h } from "../dom.js";

/** Show a message for some seconds; a screen reader reads it. */
export function toast(text, tone = "good") {
  const one = h("p", { class: "toast", "data-tone": tone }, text);
  byId("toasts").append(one);
  setTimeout(() => one.remove(), tone === "bad" ? 9000 : 5000);
}

/** Run an action; what goes wrong is shown to the person. Returns whether it went well. */
export async function attempt(action, button) {
  if (button) button.disabled = true;
  try {
    await action();
    return true;
  } catch (error) {
    toast(error.message, "bad");
    return false;
  } finally {
    if (button) button.disabled = false;
  }
}

/** The head of a screen. */
export function heading(title, text, ...more) {
  return h("header", { class: "heading" }, h("div", {}, h("h1", {}, title), text ? h("p", { class: "muted" }, text) : null), ...more);
}

/** What a screen shows while there is nothing. */
export const nothing = (title, text, ...more) =>
  h("div", { class: "card nothing" }, h("h2", {}, title), h("p", { class: "muted" }, text), ...more);

/** Load into an element: a line while it waits, the reason when it fails. */
export async function load(place, action, text = "Loading …") {
  place.setAttribute("aria-busy", "true");
  if (!place.childElementCount) fill(place, h("p", { class: "muted waiting" }, text));
  try {
    await action();
  } catch (error) {
    fill(place, nothing("That did not work", error.message));
  } finally {
    place.removeAttribute("aria-busy");
  }
}

/** Return a function that runs `action` at most once in `seconds`, and once more if asked meanwhile. */
export function sparingly(seconds, action) {
  let timer = null, again = false;
  const run = () => {
    timer = setTimeout(() => { timer = null; if (again) { again = false; run(); } }, seconds * 1000);
    action();
  };
  return () => { if (timer === null) run(); else again = true; };
}
