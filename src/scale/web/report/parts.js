// Parts that the page of a run and the comparison share.
import { h, onTheme } from "../dom.js";

/** A section with a title, a sentence and its content. */
export function section(title, text, ...content) {
  const id = title.toLowerCase().replace(/[^a-z]+/g, "-");
  return h("section", { class: "card", id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title), text ? h("p", { class: "muted small" }, text) : null, ...content);
}

/** A small square in the colour that `find` returns, in each theme and on paper. */
export function key(find) {
  const element = h("span", { class: "key" });
  const paint = () => element.style.setProperty("--key", find());
  onTheme(paint);
  paint();
  return element;
}

/** A list of names and what they are. */
export const list = (pairs, more = "") =>
  h("dl", { class: `about ${more}` }, pairs.map(([name, text]) => h("div", {}, h("dt", { class: "muted" }, name), h("dd", {}, text))));

/** A table from titles and rows of texts or elements; all columns but the first are numbers. */
export const table = (titles, rows, caption) =>
  h("div", { class: "scroll" }, h("table", {},
    caption ? h("caption", { class: "hidden-text" }, caption) : null,
    h("thead", {}, h("tr", {}, titles.map((title, i) => h("th", { class: i ? "right" : null, scope: "col" }, title)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) =>
      i ? h("td", { class: "right number" }, cell) : h("th", { scope: "row" }, cell)))))));
