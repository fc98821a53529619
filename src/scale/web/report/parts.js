// Parts that the page of a run and the comparison share.
import { h } from "../dom.js";

/** A section with a title, a sentence and its content. */
export function section(title, text, ...content) {
  const id = title.toLowerCase().replace(/[^a-z]+/g, "-");
  return h("section", { class: "card", id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title` }, title), text ? h("p", { class: "muted small" }, text) : null, ...content);
}

/** A legend for lines; colours alone are never the only sign. */
export const legend = (lines) =>
  h("ul", { class: "legend small" }, lines.map((line) =>
    h("li", {}, h("span", { class: "key", vars: { "--key": line.css ?? `var(${line.colour})` } }), line.label)));

/** A table from titles and rows of texts or elements; all columns but the first are numbers. */
export const table = (titles, rows, caption) =>
  h("div", { class: "scroll" }, h("table", {},
    caption ? h("caption", { class: "hidden-text" }, caption) : null,
    h("thead", {}, h("tr", {}, titles.map((title, i) => h("th", { class: i ? "right" : null, scope: "col" }, title)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell, i) =>
      i ? h("td", { class: "right number" }, cell) : h("th", { scope: "row" }, cell)))))));
