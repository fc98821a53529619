// The page of one run.
import { lineChart } from "../chart.js";
import { h, nameColour } from "../dom.js";
import { bytes, duration, number } from "../format.js";
import { heat } from "../heat.js";
import { mapsSection } from "./maps.js";
import { legend, section, table } from "./parts.js";
import { thumbs } from "./sprite.js";

const CURVES = [["knn", "kNN"], ["linear", "linear probe"], ["acc", "ACC (clusters)"]];

/** Return the elements of a run's page. */
export function runPage(run) {
  return [
    head(run),
    run.missing.length ? section("Not here", "", h("ul", { class: "plain" }, run.missing.map((text) => h("li", {}, text)))) : null,
    run.measures.length ? numbers(run) : null,
    run.curve.position ? curve(run) : null,
    run.stream ? over(run, run.stream, "Stream", "Share of each class among the images that arrive.", 1, "") : null,
    run.perClass ? over(run, run.perClass, "Accuracy by class", "kNN of each class over the stream. A row that darkens and fades again was learned and forgotten.", 100, " %") : null,
    run.maps ? mapsSection(run.maps, run.classes) : null,
    memory(run),
    lines(run),
    repeat(run),
  ];
}

function head(run) {
  const best = run.measures.find((one) => one.name === "knn");
  return h("header", { class: "head" },
    h("p", { class: "small muted" }, "scale report"),
    h("h1", {}, run.title),
    h("p", { class: "row" },
      h("span", { class: "badge", "data-tone": run.state.startsWith("finished") ? "good" : "warn" }, run.state),
      h("span", { class: "badge" }, run.code),
      best ? h("span", { class: "badge", "data-tone": "accent" }, `kNN ${number(best.value)} %`) : null));
}

function numbers(run) {
  const floors = [...new Set(run.measures.flatMap((one) => Object.keys(one.floors)))];
  return section("Measures", "Floors are features that learn nothing. A learner is of use where it is above them.",
    table(["measure", run.run.method, ...floors], run.measures.map((one) => [
      h("abbr", { title: one.meaning }, one.title), h("strong", {}, shown(one.value, one.unit)),
      ...floors.map((floor) => shown(one.floors[floor], one.unit)),
    ]), "Measures at the end"));
}

function shown(value, unit) {
  if (value === undefined || value === null) return "";
  return unit ? `${value.toFixed(1)} ${unit}` : number(value);
}

function curve(run) {
  const found = CURVES.filter(([name]) => run.curve[name]);
  const own = found.map(([name, label]) => ({ label, css: nameColour(label), values: run.curve[name] }));
  const floors = Object.entries(run.floors).filter(([, one]) => one.knn !== undefined)
    .map(([name, one]) => ({ label: name, colour: "--muted", dash: [5, 4], values: run.curve.position.map(() => one.knn) }));
  const all = [...own, ...floors];
  const chart = lineChart({ title: "Accuracy over the stream, in percent", x: run.curve.position, lines: all, height: 280, over: "images seen" });
  return section("Accuracy over the stream", "All classes are always evaluated, also those that have not arrived yet.",
    legend(own.concat(floors.length ? [{ label: "floors (kNN)", colour: "--muted" }] : [])), chart.element);
}

function over(run, matrix, title, text, most, unit) {
  return section(title, text, heat({ title, names: run.classes, rows: matrix.rows, from: matrix.from, to: matrix.to, most, unit }).element);
}

function memory(run) {
  const parts = [];
  if (run.memory) {
    const most = Math.max(1, ...run.memory.rows.flat().filter((value) => value !== null));
    parts.push(heat({ title: "Images of each class in memory", names: run.classes, rows: run.memory.rows, from: run.memory.from, to: run.memory.to, most }).element);
  }
  if (run.memoryImages) {
    const { sprite, held } = run.memoryImages, thumb = thumbs(sprite);
    parts.push(h("p", { class: "small muted" }, `${number(sprite.count)} of the ${number(held)} images at the end, oldest first:`),
      h("div", { class: "mosaic" }, Array.from({ length: sprite.count }, (_, i) => thumb(i, 32, `image ${i + 1} in memory`))));
  }
  return parts.length ? section("Memory", "What it keeps of the past: images by class over the stream.", ...parts) : null;
}

function lines(run) {
  const { position, ...values } = run.batches;
  if (!position) return null;
  const colours = ["--accent", "--good", "--warn", "--bad", "--muted"];
  const charts = Object.entries(values).map(([name, series], i) =>
    h("div", {}, h("h3", {}, name.replaceAll("_", " ")),
      lineChart({ title: name.replaceAll("_", " "), x: position, lines: [{ label: name, colour: colours[i % 5], values: series }], over: "images seen" }).element));
  if (run.guard.position) {
    const two = [{ label: "the learner", colour: "--accent", values: run.guard.learner }, { label: "its start", colour: "--muted", values: run.guard.start }];
    charts.push(h("div", {}, h("h3", {}, "guard"), legend(two), lineChart({ title: "Guard: views that find their image, in percent", x: run.guard.position, lines: two, over: "images seen" }).element));
  }
  return section("While it learned", "One point a batch; long runs are averaged. The guard needs no labels: it counts views that find their own image.", h("div", { class: "charts" }, charts));
}

function repeat(run) {
  const time = run.timing, rows = [];
  if (time.wall_seconds) rows.push(["wall time", duration(time.wall_seconds)]);
  if (time.cpu_seconds) rows.push(["CPU time", duration(time.cpu_seconds)]);
  if (time.images_per_second) rows.push(["images per second", number(time.images_per_second)]);
  if (time.peak_memory_bytes) rows.push(["peak memory", bytes(time.peak_memory_bytes)]);
  const settings = Object.entries(run.settings).filter(([, value]) => value !== null).map(([name, value]) => [name, String(value)]);
  return section("Again", "The command that repeats this run, with the same code and data, number for number.",
    h("pre", { tabindex: 0 }, run.command),
    rows.length ? table(["cost", ""], rows, "Cost") : null,
    h("details", {}, h("summary", {}, "All settings and versions"),
      table(["setting", "value"], settings, "Settings"),
      table(["package", "version"], Object.entries(run.versions), "Versions")));
}

export const colourOfRow = (row) => nameColour(`${row.place} ${row.name}`);
