// Search: more like this, from an image of the store or one that is uploaded, pasted or dropped.
import { fill, h } from "../dom.js";
import { count, moment } from "../format.js";
import { ask, get, thumbnail } from "./api.js";
import { heading, load, nothing } from "./parts.js";
import { grid, nameLine } from "./thumbs.js";

const HITS = 48;

export function search(root, chosen) {
  const file = h("input", { type: "file", accept: "image/*", id: "search-file", class: "hidden-text", onchange: () => { if (file.files[0]) upload(file.files[0]); } });
  const drop = h("label", { class: "card drop", for: "search-file" },
    h("strong", {}, "Drop an image here, paste one, or choose a file"),
    h("span", { class: "muted small" }, "It is only compared, not stored and not learned from."));
  const byNumber = h("form", { class: "row" },
    h("input", { type: "text", name: "id", inputmode: "numeric", pattern: "[0-9]+", required: true, placeholder: "Number of an image", "aria-label": "Number of an image", value: chosen ?? "" }),
    h("button", { type: "submit" }, "More like this"));
  const result = h("section", { "aria-label": "Result", "aria-live": "polite" });
  fill(root, heading("Search", "Find images like one that you have."), drop, file, byNumber, result);

  let wanted = 0;
  const show = (query, image, action) => load(result, async () => {
    const mine = (wanted += 1);
    const answer = await action();
    if (mine === wanted) showHits(result, query, image, answer);
  });
  const upload = (blob) => {
    const address = URL.createObjectURL(blob);
    fill(result);
    show("your image", address, () => ask("POST", `/search?k=${HITS}`, blob));
    file.value = "";
  };
  const like = (id) => show(`image ${id}`, thumbnail(id), () => get("/search", { image: id, k: HITS }));
  byNumber.addEventListener("submit", (event) => { event.preventDefault(); location.hash = `#search/${byNumber.elements.id.value}`; });
  drop.addEventListener("dragover", (event) => { event.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    const given = [...event.dataTransfer.files].find((one) => one.type.startsWith("image/")) ?? event.dataTransfer.files[0];
    if (given) upload(given);
  });
  const onpaste = (event) => {
    const given = [...(event.clipboardData?.files ?? [])].find((one) => one.type.startsWith("image/"));
    if (given) { event.preventDefault(); upload(given); }
  };
  document.addEventListener("paste", onpaste);
  if (/^[0-9]+$/.test(chosen ?? "")) like(Number(chosen));
  else fill(result);
  return { close() { document.removeEventListener("paste", onpaste); } };
}

function showHits(place, query, image, answer) {
  const stale = answer.stale ? `${count(answer.stale, "embedding")} older than the learner; they are made again in idle time.` : "All embeddings are up to date.";
  const head = h("div", { class: "row card query" }, h("img", { src: image, alt: `The query: ${query}` }),
    h("div", {}, h("h2", {}, `Like ${query}`), h("p", { class: "muted small" }, `${count(answer.hits.length, "image")}, nearest first. ${stale}`)));
  const note = (hit) => [h("span", { class: "number", title: moment(hit.taken) }, hit.score.toFixed(2)), hit.name ? [" ", nameLine(hit)] : h("span", { class: "muted" }, ` ${moment(hit.taken)}`)];
  fill(place, head, answer.hits.length ? grid(answer.hits, { label: "Images found, nearest first", note })
    : nothing("Nothing found", "The learner has not embedded any image yet."));
}
