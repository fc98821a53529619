// Several runs on one page: a table with intervals, the curves together, differences by class.
import { lineChart } from "../chart.js";
import { fill, h } from "../dom.js";
import { fixed, number } from "../format.js";
import { key, section, table } from "./parts.js";
import { colourOfRow } from "./run.js";

/** Return the elements of the comparison. */
export function comparePage(facts) {
  const { compared, runs } = facts;
  const places = [...new Set(compared.rows.map((row) => row.place))];
  return [
    h("header", { class: "head" }, h("p", { class: "small muted" }, "scale report"),
      h("h1", {}, `${number(runs.length)} runs compared`),
      compared.unfinished ? h("p", { class: "badge", "data-tone": "warn" }, `${number(compared.unfinished)} not finished, and not in the table`) : null),
    places.map((place) => onePlace(compared.rows.filter((row) => row.place === place), compared.columns)),
    section("Every run", facts.left ?? "", h("ul", { class: "runs" }, runs.map((run, i) =>
      h("li", {}, h("a", { href: `#run-${i}` }, run.title), " ", h("span", { class: "muted small" }, [run.folder, knnOf(run), run.state].filter(Boolean).join(" · ")))))),
  ];
}

function onePlace(rows, columns) {
  const names = Object.keys(columns);
  const cells = rows.map((row) => [h("span", {}, key(() => colourOfRow(row)), row.name), number(row.seeds), ...names.map((name) => value(row.values[name], columns[name]))]);
  const curves = rows.filter((row) => row.curve);
  const x = [...new Set(curves.flatMap((row) => row.curve.position))].sort((a, b) => a - b);
  const lines = curves.map((row) => {
    const at = new Map(row.curve.position.map((position, i) => [position, row.curve.knn[i]]));
    return { label: row.name, css: () => colourOfRow(row), values: x.map((position) => at.get(position) ?? null) };
  });
  for (const row of rows.filter((one) => one.floor && one.values.knn && x.length)) {
    lines.push({ label: row.name.replace("floor: ", ""), colour: "--muted", dash: [5, 4], values: x.map(() => row.values.knn.mean) });
  }
  return section(rows[0].title, "Mean over seeds; below it the 95 % confidence interval of the mean, where there are two seeds or more. Floors are features that learn nothing.",
    table(["features", "seeds", ...names.map((name) => `${columns[name].title}${columns[name].unit ? `, ${columns[name].unit}` : ""}`)], cells, rows[0].title),
    lines.length ? h("h3", {}, "kNN over the stream") : null,
    lines.length ? lineChart({ title: `kNN over the stream, ${rows[0].title}`, x, lines, height: 280, over: "images seen", limits: [0, 100] }).element : null,
    byClass(rows));
}

function knnOf(run) {
  const found = run.measures.find((one) => one.name === "knn");
  return found ? `kNN ${fixed(found.value)} %` : "";
}

function value(one, { unit, digits }) {
  if (!one) return "";
  const shown = (part) => fixed(part, unit === "%" || unit === "points" ? 1 : digits);
  return h("span", {}, shown(one.mean), one.low === null ? null : h("span", { class: "interval" }, `${shown(one.low)} to ${shown(one.high)}`));
}

function byClass(rows) {
  const found = rows.filter((row) => row.perClass.length);
  if (found.length < 2) return null;
  const place = h("div", {});
  const show = (from) => {
    const others = found.filter((row) => row !== from);
    fill(place, table(["class", from.name, ...others.map((row) => row.name)], from.classes.map((name, i) => [
      name, fixed(from.perClass[i]), ...others.map((row) => signed(row.perClass[i] - from.perClass[i])),
    ]), "Difference by class"));
  };
  const choice = h("select", { onchange: () => show(found[choice.selectedIndex]) }, found.map((row) => h("option", {}, row.name)));
  show(found[0]);
  return h("details", { open: true }, h("summary", {}, "Difference by class, in points of kNN"),
    h("label", { class: "small muted" }, "compared with ", choice), place);
}

function signed(value) {
  if (!Number.isFinite(value)) return "–";
  const size = fixed(Math.abs(value));
  if (size === "0.0") return size;
  return h("span", { class: value < 0 ? "worse" : "better" }, `${value < 0 ? "−" : "+"}${size}`);
}
