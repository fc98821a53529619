// The report: one run, or several compared with a page for each.
import { byId, fill, h } from "../dom.js";
import { comparePage } from "./compare.js";
import { runPage } from "./run.js";

const facts = JSON.parse(byId("facts").textContent);

function show() {
  const chosen = /^#run-(\d+)$/.exec(location.hash);
  const run = facts.compared ? facts.runs[chosen?.[1]] : facts.runs[0];
  const back = facts.compared && run ? h("p", {}, h("a", { href: "#" }, "← all runs")) : null;
  fill(byId("main"), back, run ? runPage(run) : comparePage(facts));
  if (chosen) { byId("main").focus(); scrollTo(0, 0); }
}

// Paper has no clicks: what is folded is printed too.
const folded = () => document.querySelectorAll("details");
addEventListener("beforeprint", () => { for (const one of folded()) { one.dataset.open = one.open; one.open = true; } });
addEventListener("afterprint", () => { for (const one of folded()) one.open = one.dataset.open === "true"; });
addEventListener("hashchange", show);
show();
