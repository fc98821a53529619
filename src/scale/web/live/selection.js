// The selected images, over all screens, and the bar that names them.
import { byId, fill, h } from "../dom.js";
import { count } from "../format.js";
import { ask } from "./api.js";
import { attempt, toast } from "./parts.js";

const selected = new Set();
const listeners = new Set();
let last = null;

export const isSelected = (id) => selected.has(id);
export const lastSelected = () => last;

/** Call `action(ids)` whenever the selection changes; returns a function that ends it. */
export function onSelection(action) {
  listeners.add(action);
  return () => listeners.delete(action);
}

/** Add images to the selection, or take them out. */
export function select(ids, on = true) {
  for (const id of ids) if (on) selected.add(id); else selected.delete(id);
  last = ids.at(-1) ?? null;
  for (const box of document.querySelectorAll("[data-select]")) box.checked = selected.has(Number(box.dataset.select));
  for (const action of listeners) action([...selected]);
  showBar();
}

const clear = () => select([...selected], false);

/** Give images a name, or take their names away when it is null. */
export async function nameImages(images, name) {
  if (name === null) {
    await ask("POST", "/names/remove", { images });
    toast(`${count(images.length, "image")} without a name now`);
  } else {
    await ask("POST", "/names", { images, name });
    toast(`${count(images.length, "image")} named ${name}`);
  }
}

/** A field for a name with the known names to choose from. */
export const nameField = (label, value = "") =>
  h("input", { type: "text", name: "name", required: true, maxlength: 100, value, placeholder: "Name", autocomplete: "off", list: "known-names", "aria-label": label });

function showBar() {
  const bar = byId("selection");
  bar.hidden = selected.size === 0;
  document.body.classList.toggle("with-bar", selected.size > 0);
  bar.querySelector("strong")?.replaceChildren(`${count(selected.size, "image")} selected`);
}

/** Fill the bar once, when the page starts. */
export function startSelection() {
  const bar = byId("selection");
  fill(bar,
    h("strong", { "aria-live": "polite" }),
    nameField("Name for the selected images"),
    h("button", { class: "main", type: "submit" }, "Name"),
    h("button", { type: "button", onclick: (event) => attempt(async () => { await nameImages([...selected], null); clear(); }, event.currentTarget) }, "Remove names"),
    h("button", { class: "plain", type: "button", onclick: clear }, "Clear"));
  bar.addEventListener("submit", (event) => {
    event.preventDefault();
    const name = bar.elements.name.value.trim();
    if (!name) return;
    attempt(async () => {
      await nameImages([...selected], name);
      bar.elements.name.value = "";
      clear();
    }, bar.querySelector("button.main"));
  });
  document.body.append(h("datalist", { id: "known-names" }));
}

/** Offer these names wherever a name is typed. */
export const offerNames = (names) => fill(byId("known-names"), names.map((name) => h("option", { value: name })));
