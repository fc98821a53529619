// The page of one run.
import { lineChart } from "../chart.js";
import { colour, h, nameColour, paletteColour } from "../dom.js";
import { duration, fixed, number } from "../format.js";
import { heat } from "../heat.js";
import { mapsSection } from "./maps.js";
import { memorySection } from "./memory.js";
import { list, section, table } from "./parts.js";

const CURVES = [["knn", "kNN"], ["linear", "linear probe"], ["acc", "ACC (clusters)"]];

/** Return the elements of a run's page. */
export function runPage(run) {
  return [
    head(run),
    what(run),
    run.missing.length ? section("Not here", "", h("ul", { class: "plain" }, run.missing.map((text) => h("li", {}, text)))) : null,
    run.measures.length ? numbers(run) : null,
    run.curve.position ? curve(run) : null,
    run.stream ? over(run, percent(run.stream), "Stream", "Share of each class among the images that arrive.", 100, " %") : null,
    run.perClass ? byClass(run) : null,
    run.maps ? mapsSection(run.maps, run.classes) : null,
    memorySection(run),
    lines(run),
    cost(run),
    everything(run),
  ];
}

function head(run) {
  const best = run.measures.find((one) => one.name === "knn");
  return h("header", { class: "head" },
    h("p", { class: "small muted" }, "scale report"),
    h("h1", {}, run.title),
    h("p", { class: "row" },
      h("span", { class: "badge", "data-tone": run.state.startsWith("finished") ? "good" : "warn" }, run.state),
      best ? h("span", { class: "badge", "data-tone": "accent" }, `kNN ${fixed(best.value)} %`) : null),
    run.verdict ? h("p", { class: "verdict" }, run.verdict) : null);
}

function what(run) {
  return section("What was run", "",
    list(Object.entries(run.about)),
    h("p", { class: "muted small" }, "With the same code and data, this command repeats it number for number:"),
    command(run.command));
}

/** A command, with a button that copies it where the browser allows that. */
function command(text) {
  const shown = h("pre", { tabindex: 0 }, text);
  if (!navigator.clipboard) return shown;
  const button = h("button", { class: "copy small", onclick: () => navigator.clipboard.writeText(text).then(
    () => { button.textContent = "Copied"; }, () => getSelection().selectAllChildren(shown)) }, "Copy");
  return h("div", { class: "command" }, shown, button);
}

function numbers(run) {
  const floors = [...new Set(run.measures.flatMap((one) => Object.keys(one.floors)))];
  const titles = floors.map((floor) => (floor === run.run.method ? `floor: ${floor}` : floor));
  return section("Measures", "At the end, beside the floors: features that learn nothing. A learner is of use where it is above them.",
    table(["measure", run.run.method, ...titles], run.measures.map((one) => [
      h("abbr", { title: one.meaning }, one.unit ? `${one.title}, ${one.unit}` : one.title), h("strong", {}, fixed(one.value)),
      ...floors.map((floor) => (floor in one.floors ? fixed(one.floors[floor]) : "")),
    ]), "Measures at the end"),
    h("details", {}, h("summary", { class: "small" }, "What the measures mean"), list(run.measures.map((one) => [one.title, one.meaning]))));
}

function curve(run) {
  const found = CURVES.filter(([name]) => run.curve[name]);
  const own = found.map(([name, label], i) => ({ label, css: () => paletteColour(i), values: run.curve[name] }));
  const floors = Object.entries(run.floors).filter(([, one]) => one.knn !== undefined)
    .map(([name, one]) => ({ label: name, colour: "--muted", dash: [5, 4], values: run.curve.position.map(() => one.knn) }));
  const all = [...own, ...floors];
  const chart = lineChart({ title: "Accuracy over the stream, in percent", x: run.curve.position, lines: all, height: 280, over: "images seen", marks: arriving(run), limits: [0, 100] });
  const when = run.arrivals ? "Dotted lines mark the arrival of a class." : run.stream ? "All classes arrive from the start." : "";
  return section("Accuracy over the stream", `All classes are always evaluated, also those that have not arrived yet. ${when} Dashed lines are the kNN of the floors.`,
    chart.element);
}

/** Where classes arrive for the first time, in the order of arrival. */
function arriving(run) {
  return (run.arrivals ?? []).map((span, i) => ({ x: span[0], label: run.classes[i] })).filter((mark) => mark.x !== undefined).sort((a, b) => a.x - b.x);
}

const percent = (matrix) => ({ ...matrix, rows: matrix.rows.map((row) => row.map((value) => (value === null ? null : 100 * value))) });

function over(run, matrix, title, text, most, unit, more = {}) {
  return section(title, text, heat({ title, names: run.classes, rows: matrix.rows, from: matrix.from, to: matrix.to, at: matrix.at, most, unit, ...more }).element);
}

function byClass(run) {
  const when = run.arrivals ? " A line under a row says when its images arrive." : "";
  return over(run, run.perClass, "Accuracy by class", `kNN of each class over the stream. A row whose colour grows and then fades was learned and forgotten.${when}`, 100, " %", { spans: run.arrivals });
}

function lines(run) {
  const { position, ...values } = run.batches;
  const colours = ["--accent", "--good", "--warn", "--bad", "--muted"];
  const charts = Object.entries(values).map(([name, series], i) =>
    h("div", {}, h("h3", {}, name.replaceAll("_", " ")),
      lineChart({ title: name.replaceAll("_", " "), x: position, lines: [{ label: name.replaceAll("_", " "), colour: colours[i % 5], values: series }], over: "images seen" }).element));
  if (run.guard.position) charts.push(guard(run.guard));
  if (!charts.length) return null;
  return section("While it learned", "One point a batch; each part of a long run is drawn from its least to its greatest value.",
    h("div", { class: "charts" }, charts),
    run.guard.position ? h("p", { class: "small muted" }, `The guard needs no labels. It counts the views that find their own image among images in memory, by the learner and by the untrained encoder. ${run.guard.said}`) : null);
}

const GUARDS = [["learner", "the learner", "--accent"], ["encoder", "its encoder alone", "--warn"], ["start", "its start", "--muted"]];

function guard({ position, ...values }) {
  const shown = GUARDS.filter(([name]) => values[name]?.some((value) => value !== null));
  return h("div", {}, h("h3", {}, "guard, % of views"), lineChart({
    title: "Guard: views that find their image, in percent", x: position, over: "images seen",
    lines: shown.map(([name, label, colour]) => ({ label, colour, values: values[name] })),
  }).element);
}

function cost(run) {
  const time = run.timing, rows = [];
  if (time.wall_seconds) rows.push(["wall time", duration(time.wall_seconds, true)]);
  if (time.cpu_seconds) rows.push(["CPU time", duration(time.cpu_seconds, true)]);
  if (time.images_per_second) rows.push(["images per second", number(time.images_per_second)]);
  if (time.peak_memory_mb) rows.push(["peak memory", `${number(Math.round(time.peak_memory_mb))} MB`]);
  return rows.length ? section("Time and memory", "Of the whole run, with its evaluations.", list(rows)) : null;
}

function everything(run) {
  const settings = Object.entries(run.settings).filter(([, value]) => value !== null).map(([name, value]) => [name, String(value)]);
  return h("section", { class: "card" }, h("details", {}, h("summary", {}, "All settings and versions"),
    list(settings, "columns"), h("h3", {}, "Versions"), list(Object.entries(run.versions), "columns")));
}

export const colourOfRow = (row) => (row.floor ? colour("--muted") : nameColour(`${row.place} ${row.name}`));
