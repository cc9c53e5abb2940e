// Two runs: their numbers and what differs between them, the tasks that flipped first, and two
// conversations side by side, aligned up to their first difference. The page of the viewer and that
// of a file are this one; each has a source of its own:
// `{ read(): Promise, detail(side, task, trial): Promise, link(side, task, trial, message) }`, where
// `side` is "a" or "b" and `link` is the address of a simulation, or of a message, in its own page.

import { drawn } from "./charts.js";
import { drawMessage } from "./conversation.js";
import { hashOf, simulationName } from "./data.js";
import { add, folded, h, scrollable } from "./dom.js";
import { choice } from "./filters.js";
import { inBlocks } from "./blocks.js";
import { resultsTable, runFacts } from "./overview.js";
import { badges, drawSections } from "./simulation.js";
import { counted, inPoints } from "./text.js";
import { themeButton } from "./theme.js";

let comparedFrom;
let compared;
let byName = new Map();

const TRIAL_MARKS = new Map([[true, ["pass", "✓", "passed"]], [false, ["fail", "✗", "failed"]], [null, ["error", "!", "not counted"]]]);

function runName(side) {
  return compared.names[side === "a" ? 0 : 1];
}

function taskName({ domain, id }) {
  return simulationName(domain, id, "");
}

/** A trial of each run to begin with: where the task flipped, one that passed and one that failed. */
function firstPair({ a, b, change }) {
  const first = (list, passed) => (list.find((each) => each.passed === passed) ?? list[0])?.trial;
  return change < 0 ? [first(a, true), first(b, false)] : [first(a, false), first(b, true)];
}

function pairAddress(task, [one, other]) {
  return `${hashOf(taskName(task))}?${new URLSearchParams({ a: one, b: other })}`;
}

function trialLinks(task, side) {
  const [one, other] = firstPair(task);
  return task[side].map(({ trial, passed }) => {
    const [kind, mark, word] = TRIAL_MARKS.get(passed);
    const pair = side === "a" ? [trial, other] : [one, trial];
    return h("a", { class: `cell ${kind}`, href: pairAddress(task, pair), "aria-label": `${taskName(task)} in ${runName(side)}, trial ${trial}: ${word}` }, mark);
  });
}

function comparedRow(task) {
  const change = task.change ? inPoints(task.change, 0) : "";
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: pairAddress(task, firstPair(task)), class: "id" }, taskName(task)), badges(task)),
    h("td", { "data-name": compared.names[0] }, h("div", { class: "cells" }, trialLinks(task, "a"))),
    h("td", { "data-name": compared.names[1] }, h("div", { class: "cells" }, trialLinks(task, "b"))),
    h("td", { class: task.change < 0 ? "number worse" : "number better", "data-name": "change" }, change),
  );
}

function comparedTasks() {
  const flipped = compared.tasks.filter(({ change }) => change !== 0);
  const head = ["Task", ...compared.names, "Change"].map((name) => h("th", { scope: "col" }, name));
  const table = h("table", { class: "compared" }, h("thead", {}, h("tr", {}, head)));
  const blocks = inBlocks(table, (line) => (line.row ??= comparedRow(line.task)), ({ task }) => task.a.length + task.b.length);
  const lines = compared.tasks.map((task) => ({ task }));
  const show = (which) => blocks.show(which === "flipped" ? lines.filter(({ task }) => task.change !== 0) : lines);
  const { field } = choice("Show", ["all tasks", "flipped"], show);
  show("all tasks");
  const title = h("div", { class: "title-line" }, h("h2", { id: "tasks" }, "Tasks"), h("span", { class: "status" }, `${counted(flipped.length, "task")} of ${compared.tasks.length} changed; the largest changes first, in percentage points`));
  return h("section", { class: "card", "aria-labelledby": "tasks" }, title, h("div", { class: "filters" }, field), h("div", { class: "scroll" }, table));
}

function noteList(notes = []) {
  return notes.length > 0 && h("ul", { class: "notes" }, notes.map((note) => h("li", {}, note)));
}

/** Why simulations failed in both runs: labels, and checks that were not met. */
function reasonsOf(why = []) {
  if (!why.length) return null;
  const head = ["", ...compared.names].map((name) => h("th", { scope: "col" }, name));
  const row = ([name, ...counts]) => h("tr", {}, h("th", { scope: "row" }, name), counts.map((number, at) => h("td", { class: "number", "data-name": compared.names[at] }, number)));
  const table = h("table", { class: "results" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, why.map(row)));
  return h("section", { class: "card", "aria-labelledby": "why" }, h("h2", { id: "why" }, "Why simulations failed"), scrollable("Why simulations failed", table));
}

/** What two messages must have in common to be the same. */
function gist({ who, text, calls = [] }) {
  return JSON.stringify([who, text, calls.map(({ name, arguments: given, result }) => [name, given, result?.text])]);
}

function sameMessages(one, other) {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) if (gist(one[at]) !== gist(other[at])) return at;
  return length;
}

function differenceLine(same, sides) {
  if (sides.every((messages) => messages.length === same)) return h("p", { class: "difference", id: "difference", tabindex: "-1" }, "The two conversations are the same.");
  return h("h3", { class: "difference", id: "difference", tabindex: "-1" }, `First difference, after ${counted(same, "equal message")}`);
}

/** Two conversations, a row for each pair of equal messages; what comes after stands in columns. */
function aligned(sides, links) {
  const [one, other] = sides;
  const same = sameMessages(one, other);
  const draw = (messages, link) => h("ol", { class: "conversation" }, messages.map((said) => drawMessage(said, link)));
  const equal = () => h("div", { class: "pair equal" }, sides.map((messages, side) => draw(messages.slice(0, same), links[side])));
  const inside = h(
    "div",
    { class: "aligned" },
    same > 0 && folded(`${counted(same, "message")} the same`, equal, same <= 12),
    differenceLine(same, sides),
    h("div", { class: "pair" }, sides.map((messages, side) => draw(messages.slice(same), links[side]))),
  );
  // The same numbers stand on both sides, and an id stands once in a page.
  inside.querySelectorAll(".message").forEach((each) => each.removeAttribute("id"));
  inside.querySelectorAll(".pair:not(.equal) .message:first-child").forEach((each) => each.classList.add("differs"));
  return inside;
}

function sideHead(side, task, trial, pair) {
  const [kind, mark, word] = TRIAL_MARKS.get(task[side].find((each) => each.trial === trial)?.passed ?? null);
  const pick = (chosen) => (location.hash = pairAddress(task, side === "a" ? [chosen, pair[1]] : [pair[0], chosen]).slice(1));
  const { select, field } = choice("Trial", task[side].map((each) => each.trial), pick);
  select.value = trial;
  const whole = comparedFrom.link(side, task, trial);
  return h("div", { class: "side-head" }, h("h3", {}, runName(side)), h("p", { class: "outcome" }, h("span", { class: `chip ${kind}` }, h("b", {}, mark), ` ${word}`), field, h("a", { href: whole }, "Open in its run")));
}

function verdictsOf(detail) {
  const { messages, wish, task, usage, record, ...judged } = detail;
  return h("div", {}, drawSections(judged));
}

async function showPair(panel, task, pair) {
  const sides = ["a", "b"];
  const heads = sides.map((side, at) => sideHead(side, task, pair[at], pair));
  const close = () => (location.hash = "");
  const bar = h("nav", { class: "panel-bar", "aria-label": "Comparison" }, h("a", { class: "button", href: "#difference", click: (event) => (event.preventDefault(), toDifference()) }, "First difference"), h("span", { class: "spread" }), h("button", { type: "button", "aria-label": "Close (Esc)", title: "Close (Esc)", click: close }, "✕"));
  const inside = h("div", { class: "inside" }, h("h2", { tabindex: "-1" }, h("span", { class: "id" }, taskName(task)), badges(task)), h("div", { class: "pair" }, heads));
  panel.replaceChildren(bar, inside);
  panel.hidden = false;
  panel.scrollTop = 0;
  try {
    const details = await Promise.all(sides.map((side, at) => comparedFrom.detail(side, task, pair[at])));
    const links = sides.map((side, at) => (message) => comparedFrom.link(side, task, pair[at], message));
    add(inside, [folded("Verdicts", () => h("div", { class: "pair" }, details.map(verdictsOf))), aligned(details.map(({ messages = [] }) => messages), links)]);
    inside.querySelector("h2").focus({ preventScroll: true });
  } catch (error) {
    add(inside, [h("p", { class: "error", role: "alert" }, error.message)]);
  }
  if (inside.isConnected) panel.dataset.ready = taskName(task); // else another was opened meanwhile
}

function toDifference() {
  const line = document.getElementById("difference");
  line?.scrollIntoView({ block: "center" });
  line?.focus({ preventScroll: true });
}

/** Opens the pair that the address names. */
function followPair() {
  const panel = document.getElementById("panel");
  const [name, query] = decodeURIComponent(location.hash.slice(1)).split(/\?(?=[^?]*$)/);
  const task = byName.get(name);
  delete panel.dataset.ready;
  panel.hidden = !task;
  panel.classList.toggle("two", Boolean(task));
  if (!task) return panel.replaceChildren();
  const asked = new URLSearchParams(query);
  const [one, other] = firstPair(task);
  return showPair(panel, task, [asked.get("a") ?? one, asked.get("b") ?? other]);
}

function leftOpen({ key, target }) {
  if (key === "Escape" && !target.closest("select") && location.hash) location.hash = "";
}

/** Shows the comparison of a source; `above` stands on top of the page. */
export async function comparePage(container, source, title, above) {
  comparedFrom = source;
  const status = h("output", { class: "status" }, "Comparing …");
  add(container, [above, h("header", { class: "top" }, h("div", {}, h("h1", {}, title), status), h("div", { class: "beside" }, themeButton()))]);
  try {
    compared = await source.read();
  } catch (error) {
    return void (status.textContent = error.message);
  }
  status.replaceChildren();
  add(status, [compared.note]);
  byName = new Map(compared.tasks.map((task) => [taskName(task), task]));
  const { facts = [], results, plots } = compared;
  add(container, [
    facts.length > 0 && h("section", { class: "card about", "aria-label": "Runs" }, runFacts(facts)),
    h("section", { class: "card", "aria-labelledby": "results" }, h("h2", { id: "results" }, "Results"), noteList(results.cautions), results.headline && h("p", {}, h("b", {}, results.headline)), resultsTable(results), noteList(results.notes)),
    reasonsOf(results.why),
    comparedTasks(),
    plots.length > 0 && h("section", { class: "card", "aria-labelledby": "plots" }, h("h2", { id: "plots" }, "Plots"), h("div", { class: "plots" }, plots.map(drawn))),
  ]);
  addEventListener("hashchange", followPair);
  addEventListener("keydown", leftOpen);
  await followPair();
}
