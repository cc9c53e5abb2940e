// The simulations as a flat list, beside the table of tasks by trials: sorted by what each of them used
// and reached. How it is sorted stands in the address, as the filters do.

import { inBlocks } from "./blocks.js";
import { reasonOf } from "./charts.js";
import { linkTo, OUTCOMES, simulations, taskOf } from "./data.js";
import { h } from "./dom.js";
import { count, duration, money, shortId } from "./text.js";
import { filters, setFilter } from "./view.js";

const orDash = (value, show) => (value == null ? "–" : show(value));

// Its name, what it is sorted by, and what it shows.
const LIST_COLUMNS = [
  ["Task", (one) => one.task, (one) => h("a", { href: linkTo(one), class: "id", title: taskOf(one).id }, [taskOf(one).domain, shortId(taskOf(one).id)].filter(Boolean).join("/"))],
  ["Trial", ({ trial }) => parseFloat(trial), ({ trial }) => trial],
  ["Outcome", ({ outcome }) => Object.keys(OUTCOMES).indexOf(outcome), ({ outcome }) => h("span", { class: `chip ${outcome}` }, OUTCOMES[outcome].word)],
  ["Score", ({ reward }) => reward, ({ reward }) => orDash(reward, String)],
  ["Steps", ({ steps }) => steps, ({ steps }) => orDash(steps, count.format)],
  ["Tokens", ({ tokens }) => tokens, ({ tokens }) => orDash(tokens || null, count.format)],
  ["Cost", ({ cost }) => cost, ({ cost }) => money(cost)],
  ["Time", ({ seconds }) => seconds, ({ seconds }) => duration(seconds)],
  ["Reason", (one) => reasonOf(one) ?? "", (one) => reasonOf(one) ?? ""],
];

function drawLine(simulation) {
  const cells = LIST_COLUMNS.map(([name, , show], at) => h(at ? "td" : "th", at ? { class: at > 2 && at < 8 ? "number" : null, "data-name": name } : { scope: "row" }, show(simulation)));
  return h("tr", {}, cells);
}

/** The simulations in the order of the address, those without a value last. */
function inChosenOrder(list) {
  const down = filters.sort.startsWith("-");
  const [, valueOf] = LIST_COLUMNS.find(([name]) => name.toLowerCase() === filters.sort.replace("-", "")) ?? LIST_COLUMNS[0];
  const compared = (a, b) => (a == null) - (b == null) || (down ? -1 : 1) * (a < b ? -1 : a > b ? 1 : 0);
  return list.map((one, at) => [valueOf(one), at, one]).sort((a, b) => compared(a[0], b[0]) || a[1] - b[1]).map(([, , one]) => one);
}

function headOf([name]) {
  const key = name.toLowerCase();
  const chosen = () => filters.sort || "task";
  // What matters of a number is usually its largest value; tasks have an order of their own.
  const sort = () => setFilter("sort", chosen() === `-${key}` || (key === "task" && chosen() !== key) ? key : `-${key}`);
  const cell = h("th", { scope: "col" }, h("button", { type: "button", class: "pick", click: sort }, name));
  return { cell, update: () => cell.setAttribute("aria-sort", chosen() === key ? "ascending" : chosen() === `-${key}` ? "descending" : "none") };
}

/** The list; `show` draws those that the filters leave, and gives them in their order. */
export function drawList() {
  const heads = LIST_COLUMNS.map(headOf);
  const table = h("table", { class: "list" }, h("thead", {}, h("tr", {}, heads.map(({ cell }) => cell))));
  const rows = new Map();
  const rowOf = (one) => {
    if (!rows.has(one)) rows.set(one, drawLine(one));
    return rows.get(one);
  };
  const blocks = inBlocks(table, rowOf);
  const show = (wanted) => {
    for (const { update } of heads) update();
    const ordered = inChosenOrder(simulations.filter(wanted));
    blocks.show(ordered);
    return ordered;
  };
  return { table, show, forget: () => rows.clear(), whole: blocks.whole };
}
