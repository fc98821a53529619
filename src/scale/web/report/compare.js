// Several runs on one page: a table with intervals, the curves together, differences by class.
import { lineChart } from "../chart.js";
import { h } from "../dom.js";
import { number } from "../format.js";
import { legend, section, table } from "./parts.js";
import { colourOfRow } from "./run.js";

/** Return the elements of the comparison. */
export function comparePage(facts) {
  const { compared, runs } = facts;
  const places = [...new Set(compared.rows.map((row) => row.place))];
  return [
    h("header", { class: "head" }, h("p", { class: "small muted" }, "scale report"),
      h("h1", {}, `${number(runs.length)} runs compared`),
      compared.unfinished ? h("p", { class: "badge", "data-tone": "warn" }, `${number(compared.unfinished)} not finished, and not in the table`) : null),
    places.map((place) => onePlace(place, compared.rows.filter((row) => row.place === place), compared.columns)),
    section("Every run", facts.left ?? "", h("ul", { class: "runs" }, runs.map((run, i) =>
      h("li", {}, h("a", { href: `#run-${i}` }, run.title), " ", h("span", { class: "muted small" }, run.state))))),
  ];
}

function onePlace(place, rows, columns) {
  const names = Object.keys(columns);
  const cells = rows.map((row) => [h("span", {}, h("span", { class: "key", vars: { "--key": colourOfRow(row) } }), row.name), number(row.seeds), ...names.map((name) => value(row.values[name]))]);
  const curves = rows.filter((row) => row.curve);
  const x = [...new Set(curves.flatMap((row) => row.curve.position))].sort((a, b) => a - b);
  const lines = curves.map((row) => {
    const at = new Map(row.curve.position.map((position, i) => [position, row.curve.knn[i]]));
    return { label: row.name, css: colourOfRow(row), colour: null, values: x.map((position) => at.get(position) ?? null) };
  });
  return section(place, "Mean over seeds; in brackets the 95 % confidence interval of the mean, where there are two seeds or more.",
    table(["features", "seeds", ...names.map((name) => columns[name])], cells, place),
    lines.length ? h("h3", {}, "kNN over the stream") : null,
    lines.length ? legend(lines) : null,
    lines.length ? lineChart({ title: `kNN over the stream, ${place}`, x, lines, height: 280, over: "images seen" }).element : null,
    byClass(rows));
}

function value(one) {
  if (!one) return "";
  return one.low === null ? number(one.mean, 4) : `${number(one.mean, 4)} (${number(one.low, 3)} to ${number(one.high, 3)})`;
}

function byClass(rows) {
  const found = rows.filter((row) => row.perClass.length);
  if (found.length < 2) return null;
  const first = found[0];
  return h("details", { open: true }, h("summary", {}, `Difference by class from ${first.name}, in points of kNN`),
    table(["class", first.name, ...found.slice(1).map((row) => row.name)], first.classes.map((name, i) => [
      name, number(first.perClass[i]), ...found.slice(1).map((row) => signed(row.perClass[i] - first.perClass[i])),
    ]), "Difference by class"));
}

function signed(value) {
  if (!Number.isFinite(value)) return "–";
  return h("span", { class: value < 0 ? "worse" : "better" }, `${value < 0 ? "−" : "+"}${number(Math.abs(value))}`);
}
