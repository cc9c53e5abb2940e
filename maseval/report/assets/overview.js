// The run, its results and its plots: the part of the page above the table of tasks.

import { distributions, drawn, intervalBar } from "./charts.js";
import { index, simulations } from "./data.js";
import { add, folded, h, pairs, scrollable } from "./dom.js";
import { between, count, counted, duration, money, percent, shortfall } from "./text.js";

function measure(found) {
  if (found == null) return "–";
  if (typeof found === "number") return percent(found);
  if (typeof found !== "object") return found;
  if (found.value == null) return "–";
  return [
    h("span", { class: "value" }, percent(found.value)),
    between(found) && h("span", { class: "range" }, between(found)),
    intervalBar(found),
    shortfall(found) && h("span", { class: "range" }, shortfall(found)),
  ];
}

const MANY_MEASURES = 6;

export function resultsTable({ counts, measures, rows }) {
  const head = ["", ...counts, ...measures].map((name) => h("th", { scope: "col" }, name));
  const body = rows.map((row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, row.name ?? ""),
      row.counts.map((number, at) => h("td", { class: "number", "data-name": counts[at] }, number == null ? "–" : count.format(number))),
      row.measures.map((found, at) => h("td", { class: typeof found === "string" ? "measure words" : "measure", "data-name": measures[at] }, measure(found))),
    ),
  );
  const size = measures.length > MANY_MEASURES ? "results many" : "results";
  return scrollable("Results", h("table", { class: size }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

// Hashes and versions matter, but not to every reader.
const FIRST = /^(Date|Command( of .*)?|Domain|Split|Agent|Model of .*|Seed( of .*)?|tau2 rules|maseval)$/;

export function runFacts(facts) {
  const first = facts.filter(([name]) => FIRST.test(name));
  const rest = facts.filter(([name]) => !FIRST.test(name));
  return [pairs(first), rest.length > 0 && folded("Versions and settings", () => pairs(rest))];
}

function totals() {
  const costs = simulations.map(({ cost }) => cost).filter((cost) => cost != null);
  const tokens = simulations.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);
  const seconds = simulations.reduce((sum, simulation) => sum + (simulation.seconds ?? 0), 0);
  const parts = [counted(index.tasks.length, "task"), counted(simulations.length, "simulation")];
  if (tokens > 0) parts.push(counted(tokens, "token"));
  if (tokens > 0 || costs.some(Boolean)) parts.push(costs.length > 0 ? money(costs.reduce((sum, cost) => sum + cost, 0)) : "cost not known");
  if (seconds > 0) parts.push(`${duration(seconds)} total`);
  return parts.join(" · ");
}

function results() {
  return [
    h("h2", { id: "results" }, "Results"),
    resultsTable(index.results),
    h("ul", { class: "notes" }, [...(index.results.cautions ?? []), ...index.results.notes].map((note) => h("li", {}, note))),
    distributions(),
  ];
}

/** Draws a part anew, unless somebody is in the middle of it. */
function renew(part, inside) {
  if (part.contains(document.activeElement) || part.querySelector(":scope > details[open]")) return;
  part.replaceChildren();
  add(part, inside);
}

/** The parts in their order, with something `below` the title; `update` shows what is new. */
export function drawOverview(button, below) {
  const total = h("p", { class: "totals" }, totals());
  const facts = h("section", { "aria-label": "Run", class: "card about" }, runFacts(index.facts));
  const card = h("section", { "aria-labelledby": "results", class: "card about" }, results());
  const plots = h("div", { class: "plots" }, index.plots.map(drawn));
  const drawings = h("section", { "aria-labelledby": "plots", class: "card about" }, h("h2", { id: "plots" }, "Plots"), plots);
  const show = () => {
    facts.hidden = index.facts.length === 0;
    drawings.hidden = index.plots.length === 0;
  };
  const update = () => {
    total.textContent = totals();
    renew(facts, runFacts(index.facts));
    renew(card, results());
    plots.replaceChildren(...index.plots.map(drawn));
    show();
  };
  show();
  const header = h("header", { class: "top" }, h("div", {}, h("h1", {}, index.title), total), button);
  return { parts: [header, below, facts, card, drawings], update };
}
