// The run, its results and its plots: the part of the page above the table of tasks.

import { distributions, intervalBar, plotFigure, reasonOf, reasons, whyItFailed } from "./charts.js";
import { index, labelling, simulations } from "./data.js";
import { add, dataTable, folded, h, pairs, scrollable } from "./dom.js";
import { trialStrip } from "./strip.js";
import { term } from "./terms.js";
import { between, count, counted, duration, money, percent, scoreInPercent, shortfall } from "./text.js";

function measure(found) {
  if (found == null) return "–";
  if (typeof found === "number") return percent(found);
  if (typeof found !== "object") return found;
  if (found.value == null) return "–";
  return [
    h("span", { class: "value" }, scoreInPercent(found)),
    between(found) && h("span", { class: "range" }, between(found)),
    intervalBar(found),
    shortfall(found) && h("span", { class: "range" }, shortfall(found)),
  ];
}

const MANY_MEASURES = 6;

/** A row for each of `rows`; `drawName` draws its name. */
export function resultsTable({ counts, measures, rows }, drawName = ({ name }) => name ?? "", title = "Results") {
  const body = rows.map((row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, drawName(row)),
      row.counts.map((number, at) => h("td", { class: "number", "data-name": counts[at] }, number == null ? "–" : count.format(number))),
      row.measures.map((found, at) => h("td", { class: typeof found === "string" ? "measure words" : "measure", "data-name": measures[at] }, measure(found))),
    ),
  );
  return dataTable(title, ["", ...[...counts, ...measures].map((name) => term(name))], body, measures.length > MANY_MEASURES ? "results many" : "results");
}

// Hashes and versions matter, but not to every reader.
const FIRST = /^(Evaluated( of .*)?|Date|Command( of .*)?|Domain|Split|Model of .*|Seed( of .*)?|tau2 rules|maseval)$/;

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
  if (seconds > 0) parts.push(`simulations took ${duration(seconds)} in sum`);
  return parts.join(" · ");
}

/** What is known of a run before its first result. */
function nothingYet({ planned, state }) {
  const waiting = state === "running" ? "The run is running." : "Repeat the command that began the run, with --output and its folder, to resume it.";
  return h("p", {}, `None of ${counted(planned, "planned simulation")} has finished. ${waiting}`);
}

const MOST_NAMED = 3;

/** So many tasks, with their domains as far as these can be named: "24 airline and retail tasks". */
function tasksInWords(number) {
  const domains = [...new Set(index.tasks.map(({ domain }) => domain))].filter(Boolean);
  if (domains.length > MOST_NAMED) return `${counted(number, "task")} in ${counted(domains.length, "domain")}`;
  const names = [domains.slice(0, -1).join(", "), domains.at(-1)].filter(Boolean).join(" and ");
  return counted(number, `${names} task`.trim());
}

/** How many tasks have a verdict on one of their trials. */
function judgedTasks() {
  return new Set(simulations.filter(({ outcome }) => outcome === "pass" || outcome === "fail").map(({ task }) => task)).size;
}

/** The run in a sentence: how much it passes, and why most of what failed did. */
function headline() {
  const { counts, measures, rows } = index.results;
  const all = rows.at(-1);
  const at = measures.findIndex((name) => /^(pass\^1|success)$/.test(name));
  const rate = all?.measures[at];
  const { obstacle } = index.results;
  if (obstacle) return [h("b", {}, obstacle[0]), obstacle.slice(1).map((words) => h("p", { class: "totals" }, words))];
  if (rate?.value == null) return null;
  const who = new Map(index.facts).get("Evaluated") ?? index.title;
  const tasks = all.counts[counts.indexOf("tasks")] ?? index.tasks.length;
  const [verdicts, planned] = ["verdicts", "simulations"].map((name) => all.counts[counts.indexOf(name)]);
  const missing = verdicts < planned && `; ${count.format(verdicts)} of ${counted(planned, "simulation")} have a verdict`;
  const failed = simulations.filter(({ outcome }) => outcome === "fail").length;
  const [[label, number] = []] = labelling() ? [] : reasons();
  const most = label && [`; ${failed === 1 ? "its one failure" : `${count.format(number)} of its ${counted(failed, "failure")}`}: `, h("b", {}, label)];
  return [h("b", {}, who), " passes ", h("b", {}, percent(rate.value)), ` of ${missing ? `the ${count.format(judgedTasks())} of ${tasksInWords(tasks)} with a verdict` : tasksInWords(tasks)}`, between(rate) && ` (95% CI ${between(rate)})`, missing, most, "."];
}

/** What the numbers mean, and those beside the official one. */
function meaning() {
  const { beside = [], meaning: notes = [] } = index.results;
  const list = h("ul", { class: "notes" }, notes.map((words) => h("li", {}, words)));
  return (beside.length > 0 || notes.length > 0) && folded("What does this number mean?", () => [beside.length > 0 && resultsTable({ ...index.results, rows: beside }, undefined, "Additional results"), list]);
}

function resultsInside() {
  const title = h("h2", { id: "results" }, index.results.rows.length > 1 ? "Results by domain" : "Results");
  if (index.live && !simulations.length) return [title, nothingYet(index.live)];
  return [
    title,
    resultsTable(index.results),
    h("ul", { class: "notes" }, [...(index.results.cautions ?? []), ...index.results.notes].map((words) => h("li", {}, words))),
    meaning(),
  ];
}

/** pass^1 as it is recomputed and as it is recorded: one alone would mislead. */
export function bothRates({ recorded, recomputed }) {
  if (recorded?.value == null && recomputed?.value == null) return null;
  const rate = (found) => h("b", {}, found?.value == null ? "–" : percent(found.value));
  return ["pass^1 recomputed ", rate(recomputed), " · recorded ", h("s", {}, rate(recorded))];
}

/** Why the numbers are doubtful: stands before them. */
function doubtInside(doubt) {
  const rates = bothRates(doubt);
  return [h("h2", {}, "⚠ Doubtful: this record does not hold as it is"), rates && h("p", { class: "rates" }, rates), h("ul", {}, doubt.reasons.map((each) => h("li", {}, each)))];
}

/** Draws a part anew, unless somebody is in the middle of it. */
function renew(part, inside) {
  if (part.contains(document.activeElement) || part.querySelector(":scope > details[open]")) return;
  part.replaceChildren();
  add(part, inside);
}

/** The pictures, folded: they repeat what the table above them has. */
function pictures() {
  const drawings = () => index.plots.map((each) => scrollable("Picture", plotFigure(each)));
  return index.plots.length > 0 ? [folded(index.plots.length > 1 ? "Plots" : "Plot", drawings)] : [];
}

/** The parts in their order, with something `below` the title; `update` shows what is new. */
export function drawOverview(button, below) {
  const total = h("p", { class: "totals" });
  const doubt = h("section", { "aria-label": "Doubt", class: "doubt" });
  const sentence = h("div", { class: "headline" });
  const facts = h("div", {});
  const place = h("div", { class: "plots" });
  const strip = h("div", { class: "strip-place" });
  const why = h("div", { class: "why" });
  const lead = h("section", { "aria-label": "Summary", class: "card about" }, sentence, h("div", { class: "lead" }, strip, why));
  const results = h("div", { class: "results-place" });
  const card = h("section", { "aria-labelledby": "results", class: "card about" }, results, place);
  const about = h("section", { "aria-label": "Run", class: "card about" }, facts);
  const small = h("div", { class: "about distributions" });
  const update = () => {
    total.textContent = totals();
    const { doubt: found } = index.results;
    doubt.hidden = !found;
    for (const [part, inside] of [[doubt, found && doubtInside(found)], [sentence, headline()], [strip, trialStrip(reasons(), reasonOf)], [why, whyItFailed()], [small, simulations.length > 0 && distributions()]]) {
      part.replaceChildren();
      add(part, [inside]);
    }
    renew(facts, runFacts(index.facts));
    renew(results, resultsInside());
    renew(place, pictures());
    lead.hidden = !strip.children.length && !sentence.children.length;
    about.hidden = index.facts.length === 0;
  };
  update();
  const header = h("header", { class: "top" }, h("div", {}, h("h1", {}, index.title), total), button);
  return { parts: [header, doubt, below, lead, card, about, small], update };
}
