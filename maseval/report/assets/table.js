// The table of tasks by trials. A row is made when it is first looked at; filtering leaves rows out.

import { inBlocks } from "./blocks.js";
import { columnClass, columnMenu } from "./columns.js";
import { index, linkTo, named, OUTCOMES, simulationName, simulations, taskOf, trialsOf } from "./data.js";
import { h } from "./dom.js";
import { choice, filterBar, matches, matchesPlan, misread, search, showFilters } from "./filters.js";
import { drawList } from "./list.js";
import { foldedBadges } from "./simulation.js";
import { term } from "./terms.js";
import { count, counted, duration, money, shortId, visible } from "./text.js";
import { filters, onFilters, setFilter, writeAddress } from "./view.js";

const cells = new Map();
// A line stands for a task, whether its row is drawn or not.
let lines = [];
let listed = [];
let table;
let blocks;
let order = "by task";
let numbered;
// The flat list, and its simulations in their order while it is what is shown.
let flat;
let flatOrder;

/** The cell of a simulation, if the filters leave its task. */
export function cellOf(simulation) {
  if (!simulation) return undefined;
  const line = listed.find(({ task }) => task === simulation.task);
  if (!line) return undefined;
  blocks.reveal(line);
  return cells.get(simulation);
}

function describe(simulation) {
  const { domain, id } = taskOf(simulation);
  const parts = [`${domain} task ${id}, trial ${simulation.trial}: ${OUTCOMES[simulation.outcome].word}`];
  if (simulation.reward != null) parts.push(`reward ${simulation.reward}`);
  if (simulation.ended) parts.push(simulation.ended);
  return [...parts, ...simulation.labels].join(" · ").trim();
}

function drawCell(simulation) {
  // Without h, as there may be ten thousand; all text goes through visible all the same.
  const cell = document.createElement("a");
  cell.className = matches(simulation) ? `cell ${simulation.outcome}` : `cell ${simulation.outcome} dim`;
  cell.href = linkTo(simulation);
  cell.setAttribute("aria-label", visible(describe(simulation)));
  // One stop for the Tab key in the whole table; the arrow keys go from cell to cell.
  cell.tabIndex = -1;
  cell.textContent = OUTCOMES[simulation.outcome].mark;
  cells.set(simulation, cell);
  return cell;
}

const MANY_TRIALS = 12;

// The trials of each run, in order: every task has a place for each of them, so that columns align.
let columns = [];

function findColumns() {
  const runs = index.runs.length ? index.runs : [""];
  const found = runs.map(() => new Set());
  for (const { run = 0, trial } of simulations) found[run]?.add(trial);
  for (const { unrecorded = [] } of index.tasks) for (const trial of unrecorded) found[0].add(trial);
  columns = found.map((trials) => [...trials].sort((a, b) => a.localeCompare(b, "en", { numeric: true })));
}

// A trial without a record: running, still to come, or missing.
const ABSENT = { running: "▸", waiting: "", missing: "" };
// The trials that are running, by name, and whether the run goes on.
let runningNow = new Set();
let goesOn = false;
const absentCells = new Map();

function absentCell(name, { domain, id }, trial) {
  const kind = runningNow.has(name) ? "running" : goesOn ? "waiting" : "missing";
  const words = `${domain} task ${id}, trial ${trial}: ${kind}`.trim();
  return h("span", { class: `absent ${kind}`, "aria-label": words, title: words, tabindex: "-1", role: "img" }, ABSENT[kind]);
}

function drawAbsent(task, trial) {
  const name = simulationName(task.domain, task.id, trial);
  const cell = absentCell(name, task, trial);
  absentCells.set(name, { cell, task, trial });
  return cell;
}

/** Shows which trials of the plan are running now, and whether the others are still to come. */
export function showPlan({ state, in_flight: now = [] }) {
  runningNow = new Set(now.map(({ domain, task, trial }) => simulationName(domain ?? "", task, String(trial))));
  goesOn = state === "running";
  for (const [name, { cell, task, trial }] of absentCells) {
    if (named.has(name)) absentCells.delete(name); // it has a record now
    const fresh = absentCell(name, task, trial);
    if (named.has(name) || fresh.className === cell.className) continue;
    const focused = cell === document.activeElement;
    fresh.tabIndex = cell.tabIndex;
    cell.replaceWith(fresh);
    if (focused) fresh.focus({ preventScroll: true });
    absentCells.set(name, { cell: fresh, task, trial });
  }
}

/** The cells of a task, a line for each run; many trials are drawn small, missing ones as missing. */
function drawCells(place, trials) {
  return columns.map((names, number) => {
    const run = index.runs[number];
    const mine = new Map(trials.filter((simulation) => (simulation.run ?? 0) === number).map((simulation) => [simulation.trial, simulation]));
    const size = names.length > MANY_TRIALS ? "cells compact" : "cells";
    return h("div", { class: "run-cells" }, run && h("small", {}, run), h("div", { class: size }, names.map((name) => (mine.has(name) ? drawCell(mine.get(name)) : drawAbsent(index.tasks[place], name)))));
  });
}

/** The numbers of the trials above their columns, where there is room for them. */
function trialNumbers() {
  const [names] = columns;
  return columns.length === 1 && names.length <= MANY_TRIALS && h("div", { class: "cells trial-numbers", "aria-hidden": "true" }, names.map((name) => h("span", {}, name)));
}

const sumOf = (trials, part) => trials.reduce((sum, each) => sum + (each[part] ?? 0), 0);
// What the trials of a task come to; a cost that is not known is never zero.
const SUMS = {
  Cost: (trials) => money(trials.some(({ cost }) => cost == null) ? null : sumOf(trials, "cost")),
  Tokens: (trials) => count.format(sumOf(trials, "tokens")),
  Time: (trials) => duration(sumOf(trials, "seconds")),
};

function drawRow({ task: place, trials }) {
  const task = index.tasks[place];
  const passed = trials.filter(({ outcome }) => outcome === "pass").length;
  const judged = trials.filter(({ outcome }) => outcome === "pass" || outcome === "fail").length;
  return h(
    "tr",
    {},
    h("td", { class: "domain" }, task.domain),
    h("th", { scope: "row", class: "task" }, h("div", {}, h("span", { class: "id", title: task.id }, shortId(task.id)), foldedBadges(task), task.note && h("span", { class: "note of-request", title: task.note }, noteOf(task)))),
    h("td", {}, drawCells(place, trials)),
    Object.entries(SUMS).map(([name, show]) => h("td", { class: `number ${columnClass(name)}` }, trials.length ? show(trials) : "–")),
    h("td", { class: "number" }, judged ? `${passed}/${judged}` : "–"),
  );
}

// The first sentences, by domain, that more than half of its tasks share.
let beginnings = new Map();

/** What a task is about, without the sentences that most tasks of its domain begin with. */
function noteOf({ domain, note }) {
  const beginning = beginnings.get(domain) ?? "";
  return beginning && note?.startsWith(beginning) ? note.slice(beginning.length) : note;
}

function findBeginnings() {
  beginnings = new Map();
  for (const domain of new Set(index.tasks.map((task) => task.domain))) {
    const notes = index.tasks.filter((task) => task.domain === domain && task.note).map(({ note }) => note);
    if (notes.length > 2) beginnings.set(domain, sharedBeginning(notes));
  }
}

/** The first sentences, as far as more than half of the notes share them. */
function sharedBeginning(notes) {
  let shared = "";
  for (;;) {
    const next = new Map();
    for (const note of notes) {
      const sentence = note.startsWith(shared) && /^.*?[.!?:]\s+(?=\S)/s.exec(note.slice(shared.length))?.[0];
      if (sentence) next.set(sentence, (next.get(sentence) ?? 0) + 1);
    }
    const [[sentence, times] = ["", 0]] = [...next].sort((a, b) => b[1] - a[1]);
    if (times <= notes.length / 2) return shared;
    shared += sentence;
  }
}

function rowOf(line) {
  line.row ??= drawRow(line);
  return line.row;
}

/** The share of trials that passed; a task that has none yet comes last. */
function passedShare({ trials }, none) {
  return trials.length ? trials.filter(({ outcome }) => outcome === "pass").length / trials.length : none;
}

/** The simulations that the filters leave, in the order of the table. */
export function shown() {
  return flatOrder ?? everything().filter(matches);
}

/** All simulations, in the order of the table. */
export function everything() {
  return flatOrder ?? lines.flatMap(({ trials }) => trials);
}

function applyFilters(status) {
  const asList = filters.view === "list";
  table.hidden = asList;
  flat.table.hidden = !asList;
  flatOrder = asList ? flat.show(matches) : undefined;
  let found = 0;
  listed = lines.filter(({ row, task, trials }) => {
    const matching = new Set(trials.filter(matches));
    if (row) for (const simulation of trials) cells.get(simulation).classList.toggle("dim", !matching.has(simulation));
    found += matching.size;
    return trials.length ? matching.size > 0 : matchesPlan(index.tasks[task]);
  });
  blocks.show(listed);
  writeAddress();
  table.setAttribute("aria-rowcount", listed.length + 1);
  status.textContent = misread ? `The filter is not understood: ${misread}.` : `${count.format(found)} of ${counted(simulations.length, "simulation")}`;
  makeReachable(cells.get(listed.find(({ trials }) => trials.some(matches))?.trials.find(matches)));
}

/** Lets the Tab key stop at this cell and no other. */
export function makeReachable(cell) {
  for (const other of document.querySelectorAll('.tasks :is(.cell, .absent)[tabindex="0"]')) other.tabIndex = -1;
  if (cell) cell.tabIndex = 0;
}

/** The place in the table that an arrow key leads to, with a record or without. */
export function moveInTable(key, cell) {
  const row = cell.closest("tr");
  const placesIn = (line) => [...line.querySelectorAll(".cell, .absent")];
  const column = placesIn(row).indexOf(cell);
  const near = { ArrowLeft: column - 1, ArrowRight: column + 1 }[key];
  if (near != null) return placesIn(row)[near];
  const next = listed[listed.findIndex((line) => line.row === row) + (key === "ArrowUp" ? -1 : 1)];
  if (!next) return undefined;
  blocks.reveal(next);
  return placesIn(next.row)[column]; // every task has a place for each trial
}

function orders() {
  return {
    "by task": () => 0,
    "fewest passed": (a, b) => passedShare(a, 2) - passedShare(b, 2),
    "most passed": (a, b) => passedShare(b, -1) - passedShare(a, -1),
  };
}

function sortLines() {
  const by = orders()[order];
  lines.sort((a, b) => by(a, b) || a.task - b.task);
  table.classList.toggle("single", !severalDomains());
}

function orderChoice(changed) {
  const pick = (chosen) => {
    order = chosen;
    sortLines();
    changed();
  };
  const { select, field } = choice("Order", Object.keys(orders()), pick);
  select.value = order;
  field.classList.add("order");
  return field;
}

/** The hint of a cell is made when somebody points at it. */
function hint({ target }) {
  const cell = target.closest(".cell");
  if (cell && !cell.title) cell.title = cell.getAttribute("aria-label");
}

/** Draws the rows of these tasks anew, or of all; what has the focus keeps it. */
function redraw(tasks) {
  const focused = simulations.find((simulation) => cells.get(simulation) === document.activeElement);
  const awaited = [...absentCells].find(([, { cell }]) => cell === document.activeElement)?.[0];
  const current = simulations.find((simulation) => cells.get(simulation)?.hasAttribute("aria-current"));
  const before = columns.flat().length;
  findColumns();
  findBeginnings();
  // Another trial moves those of every task.
  if (columns.flat().length !== before) tasks = undefined;
  const known = tasks && new Map(lines.map((line) => [line.task, line]));
  numbered?.replaceChildren(...[term("Trials"), trialNumbers()].filter(Boolean));
  lines = trialsOf.map((trials, task) => (tasks?.has(task) ? undefined : known?.get(task)) ?? { task, trials });
  sortLines();
  return () => {
    cellOf(current)?.setAttribute("aria-current", "true");
    const place = cellOf(focused ?? named.get(awaited)) ?? absentCells.get(awaited)?.cell;
    place?.focus({ preventScroll: true });
  };
}

function severalDomains() {
  return index.tasks.some(({ domain }) => domain !== index.tasks[0].domain);
}

/** The table with its filters. `start` applies them, `update` shows what is new of some tasks. */
export function drawTasks() {
  goesOn = index.live?.state === "running";
  const status = h("output", { class: "status" });
  const heads = ["Domain", "Task", "Trials", ...Object.keys(SUMS), "Passed"].map((name) => h("th", { scope: "col", class: columnClass(name) }, name));
  numbered = heads[2];
  const head = h("tr", {}, heads);
  table = h("table", { class: "tasks", mouseover: hint }, h("thead", {}, head));
  blocks = inBlocks(table, rowOf, () => columns.flat().length || 1);
  flat = drawList();
  redraw();
  const turn = () => setFilter("view", filters.view === "list" ? "" : "list");
  const listButton = h("button", { type: "button", "aria-pressed": "false", title: "A row for each simulation, to be sorted", click: turn }, "As a list");
  const title = h("div", { class: "title-line" }, h("h2", { id: "tasks" }, "Tasks by trials"), status, h("div", { class: "table-tools" }, listButton, columnMenu(table, "maseval-task-columns", ["Request", ...Object.keys(SUMS)], Object.keys(SUMS))));
  const drawBar = () => filterBar(orderChoice(() => applyFilters(status)));
  let bar = drawBar();
  const start = async () => {
    showFilters();
    listButton.setAttribute("aria-pressed", String(filters.view === "list"));
    const trouble = await search(status);
    applyFilters(status);
    if (trouble) status.textContent = `The search in conversations was cut short: ${trouble}`;
  };
  const update = (tasks) => {
    const restore = redraw(tasks);
    flat.forget();
    if (!bar.contains(document.activeElement)) {
      const fresh = drawBar();
      bar.replaceWith(fresh);
      bar = fresh;
      showFilters();
    }
    applyFilters(status);
    restore();
  };
  onFilters(start);
  const section = h("section", { "aria-labelledby": "tasks", class: "card" }, title, bar, h("div", { class: "scroll" }, table, flat.table));
  const whole = () => document.body.classList.contains("reading") || (flatOrder ? flat : blocks).whole();
  return { section, start, update, whole };
}
