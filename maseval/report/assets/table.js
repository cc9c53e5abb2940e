// The table of tasks by trials. Rows are made once; filtering hides them.

import { index, linkTo, OUTCOMES, simulations, taskOf, trialsOf } from "./data.js";
import { add, h } from "./dom.js";
import { downloads } from "./download.js";
import { choice, filterBar, matches, search, showFilters } from "./filters.js";
import { badges } from "./simulation.js";
import { count, counted, visible } from "./text.js";
import { onFilters, writeAddress } from "./view.js";

const cells = new Map();
const rows = [];

/** The cell of a simulation. */
export function cellOf(simulation) {
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
  cell.className = `cell ${simulation.outcome}`;
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

function drawRow(task, trials) {
  const passed = trials.filter(({ outcome }) => outcome === "pass").length;
  const row = h(
    "tr",
    {},
    h("td", { class: "domain" }, task.domain),
    h("th", { scope: "row", class: "task" }, h("div", {}, h("span", { class: "id" }, task.id), badges(task), task.note && h("span", { class: "note", title: task.note }, task.note))),
    h("td", {}, drawCells(trials)),
    h("td", { class: "number" }, `${passed}/${trials.length}`),
  );
  rows.push({ row, trials, passed: passed / trials.length });
  return row;
}

/** The simulations that the filters leave, in the order of the table. */
export function shown() {
  return rows.flatMap(({ trials }) => trials).filter(matches);
}

function applyFilters(status) {
  let found = 0;
  for (const { row, trials } of rows) {
    const matching = new Set(trials.filter(matches));
    row.hidden = matching.size === 0;
    for (const simulation of trials) cells.get(simulation).classList.toggle("dim", !matching.has(simulation));
    found += matching.size;
  }
  writeAddress();
  status.textContent = `${count.format(found)} of ${counted(simulations.length, "simulation")}`;
  makeReachable(cells.get(shown()[0]));
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
  const near = { ArrowLeft: [row, column - 1], ArrowRight: [row, column + 1] }[key];
  if (near) return near[0].querySelectorAll(".cell")[near[1]];
  const next = key === "ArrowUp" ? "previousElementSibling" : "nextElementSibling";
  let other = row[next];
  while (other?.hidden) other = other[next];
  const there = other?.querySelectorAll(".cell");
  return there?.[Math.min(column, there.length - 1)];
}

/** By how much the second run did better on a task. */
function gain({ trials }) {
  const share = (number) => {
    const mine = trials.filter(({ run }) => run === number);
    return mine.filter(({ outcome }) => outcome === "pass").length / (mine.length || 1);
  };
  return share(1) - share(0);
}

function orders() {
  return {
    "by task": () => 0,
    "fewest passed": (a, b) => a.passed - b.passed,
    "most passed": (a, b) => b.passed - a.passed,
    ...(index.runs.length > 1 && {
      "largest loss": (a, b) => gain(a) - gain(b),
      "largest gain": (a, b) => gain(b) - gain(a),
    }),
  };
}

function orderChoice(body) {
  const known = orders();
  const sort = (order) => {
    rows.sort((a, b) => known[order](a, b) || a.trials[0].task - b.trials[0].task);
    body.append(...rows.map(({ row }) => row));
  };
  return choice("Order", Object.keys(known), sort).field;
}

/** The hint of a cell is made when somebody points at it. */
function hint({ target }) {
  const cell = target.closest(".cell");
  if (cell && !cell.title) cell.title = cell.getAttribute("aria-label");
}

/** The table with its filters; `start` applies them. */
export function drawTasks() {
  const body = h("tbody", { mouseover: hint });
  const status = h("output", { class: "status" });
  const head = h("tr", {}, ["Domain", "Task", "Trials", "Passed"].map((name) => h("th", { scope: "col" }, name)));
  add(body, index.tasks.map((task, position) => drawRow(task, trialsOf[position])));
  const single = index.tasks.every(({ domain }) => domain === index.tasks[0].domain);
  const table = h("table", { class: single ? "tasks single" : "tasks" }, h("thead", {}, head), body);
  const title = h("div", { class: "title-line" }, h("h2", { id: "tasks" }, "Tasks by trials"), status, downloads(shown));
  const start = async () => {
    showFilters();
    await search(status);
    applyFilters(status);
  };
  onFilters(start);
  const section = h("section", { "aria-labelledby": "tasks", class: "card" }, title, filterBar(orderChoice(body)), h("div", { class: "scroll" }, table));
  return { section, start };
}
