// The table of tasks by trials. A row is made when it is first looked at; filtering leaves rows out.

import { inBlocks } from "./blocks.js";
import { index, linkTo, OUTCOMES, simulations, taskOf, trialsOf } from "./data.js";
import { h } from "./dom.js";
import { downloads } from "./download.js";
import { choice, filterBar, matches, search, showFilters } from "./filters.js";
import { badges } from "./simulation.js";
import { count, counted, visible } from "./text.js";
import { onFilters, writeAddress } from "./view.js";

const cells = new Map();
// A line stands for a task, whether its row is drawn or not.
let lines = [];
let listed = [];
let table;
let blocks;
let order = "by task";

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

/** The cells of a task, a line for each run; many trials are drawn small. */
function drawCells(trials) {
  const runs = index.runs.length ? index.runs : [""];
  return runs.map((run, number) => {
    const mine = trials.filter((simulation) => (simulation.run ?? 0) === number);
    const size = mine.length > MANY_TRIALS ? "cells compact" : "cells";
    return h("div", { class: "run-cells" }, run && h("small", {}, run), h("div", { class: size }, mine.map(drawCell)));
  });
}

function drawRow({ task: place, trials }) {
  const task = index.tasks[place];
  const passed = trials.filter(({ outcome }) => outcome === "pass").length;
  return h(
    "tr",
    {},
    h("td", { class: "domain" }, task.domain),
    h("th", { scope: "row", class: "task" }, h("div", {}, h("span", { class: "id" }, task.id), badges(task), task.note && h("span", { class: "note", title: task.note }, task.note))),
    h("td", {}, drawCells(trials)),
    h("td", { class: "number" }, `${passed}/${trials.length}`),
  );
}

function rowOf(line) {
  line.row ??= drawRow(line);
  return line.row;
}

function passedShare({ trials }) {
  return trials.filter(({ outcome }) => outcome === "pass").length / trials.length;
}

/** The simulations that the filters leave, in the order of the table. */
export function shown() {
  return everything().filter(matches);
}

/** All simulations, in the order of the table. */
export function everything() {
  return lines.flatMap(({ trials }) => trials);
}

function applyFilters(status) {
  let found = 0;
  listed = lines.filter(({ row, trials }) => {
    const matching = new Set(trials.filter(matches));
    if (row) for (const simulation of trials) cells.get(simulation).classList.toggle("dim", !matching.has(simulation));
    found += matching.size;
    return matching.size > 0;
  });
  blocks.show(listed);
  writeAddress();
  table.setAttribute("aria-rowcount", listed.length + 1);
  status.textContent = `${count.format(found)} of ${counted(simulations.length, "simulation")}`;
  makeReachable(listed.length && cells.get(listed[0].trials.find(matches)));
}

/** Lets the Tab key stop at this cell and no other. */
export function makeReachable(cell) {
  for (const other of document.querySelectorAll('.cell[tabindex="0"]')) other.tabIndex = -1;
  if (cell) cell.tabIndex = 0;
}

/** The cell that an arrow key leads to. */
export function moveInTable(key, cell) {
  const row = cell.closest("tr");
  const column = [...row.querySelectorAll(".cell")].indexOf(cell);
  const near = { ArrowLeft: column - 1, ArrowRight: column + 1 }[key];
  if (near != null) return row.querySelectorAll(".cell")[near];
  const next = listed[listed.findIndex((line) => line.row === row) + (key === "ArrowUp" ? -1 : 1)];
  if (!next) return undefined;
  blocks.reveal(next);
  const there = next.row.querySelectorAll(".cell");
  return there[Math.min(column, there.length - 1)];
}

function orders() {
  return {
    "by task": () => 0,
    "fewest passed": (a, b) => passedShare(a) - passedShare(b),
    "most passed": (a, b) => passedShare(b) - passedShare(a),
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
  const current = simulations.find((simulation) => cells.get(simulation)?.hasAttribute("aria-current"));
  const known = tasks && new Map(lines.map((line) => [line.task, line]));
  lines = trialsOf.map((trials, task) => (tasks?.has(task) ? undefined : known?.get(task)) ?? { task, trials });
  sortLines();
  return () => {
    cellOf(current)?.setAttribute("aria-current", "true");
    cellOf(focused)?.focus({ preventScroll: true });
  };
}

function severalDomains() {
  return index.tasks.some(({ domain }) => domain !== index.tasks[0].domain);
}

/** The table with its filters. `start` applies them, `update` shows what is new of some tasks. */
export function drawTasks() {
  const status = h("output", { class: "status" });
  const head = h("tr", {}, ["Domain", "Task", "Trials", "Passed"].map((name) => h("th", { scope: "col" }, name)));
  table = h("table", { class: "tasks", mouseover: hint }, h("thead", {}, head));
  blocks = inBlocks(table, rowOf, ({ trials }) => trials.length);
  redraw();
  const title = h("div", { class: "title-line" }, h("h2", { id: "tasks" }, "Tasks by trials"), status, downloads(shown));
  const drawBar = () => filterBar(orderChoice(() => applyFilters(status)));
  let bar = drawBar();
  const start = async () => {
    showFilters();
    await search(status);
    applyFilters(status);
  };
  const update = (tasks) => {
    const restore = redraw(tasks);
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
  addEventListener("beforeprint", () => blocks.whole());
  const section = h("section", { "aria-labelledby": "tasks", class: "card" }, title, bar, h("div", { class: "scroll" }, table));
  return { section, start, update };
}
