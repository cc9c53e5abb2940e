// Compared runs: their numbers, which differences are sure, why simulations failed,
// and every task by every run, whose cells open simulations. The page of the viewer, of a file
// and of a site are this one; each has a source of its own:
// `{ read(say): Promise, reasons(say): Promise, detail(run, task, trial): Promise,
//    link(run, task, trial, message), page(run), compare(runs), measure, measured(name) }`, where `run`
// is the number of a run in the document, and `link`, `page`, `compare` and `measured` are the addresses
// of a simulation or message, of a run, of a comparison, and of this one by another measure. `reasons`,
// `page`, `compare` and `measured` may be missing; `say` gets how far it is.

import { inBlocks } from "./blocks.js";
import { plotFigure } from "./charts.js";
import { add, columnHead, dataRow, dataTable, folded, h, nameParts, onKeys, scrollable, toolButton } from "./dom.js";
import { choice } from "./filters.js";
import { resultsTable, runFacts } from "./overview.js";
import { addressOfTrials, comparedName, passShare, showTrials, toDifference, trialsIn, trialsInAddress, trialsToOpen } from "./pair.js";
import { preparePrinting } from "./print.js";
import { foldedBadges } from "./simulation.js";
import { between, count, counted, inPoints, percent } from "./text.js";
import { themeButton } from "./theme.js";

const FEW_RUNS = 4;

let comparedFrom;
let compared;
let byName = new Map();
// The tasks that the filters leave, in the order of the table; and the trials that are open.
let listedTasks = [];
let openTrials = {};

function card(title, ...inside) {
  const id = title.toLowerCase().replace(/\W+/g, "-");
  return h("section", { class: "card", "aria-labelledby": id }, h("h2", { id }, title), inside);
}

function noteList(notes = []) {
  return notes.length > 0 && h("ul", { class: "notes" }, notes.map((note) => h("li", {}, note)));
}

function isMany() {
  return compared.names.length > FEW_RUNS;
}

/** The name of a run; of many, with its number, as names may begin alike and are cut where they are long. */
function numberedName(run) {
  return isMany() ? `${run + 1} ${compared.names[run]}` : compared.names[run];
}

/** What says of a cell whose it is, where there are no columns. */
function ofRun(run) {
  return { "data-name": isMany() ? run + 1 : compared.names[run] };
}

/** The name of a run, which leads to its page, and away from this one. */
function runLink(run) {
  const name = compared.names[run];
  const page = comparedFrom.page?.(run);
  const others = compared.names.map((_, at) => at).filter((at) => at !== run);
  const without = others.length > 1 && comparedFrom.compare?.(others);
  return [isMany() && h("small", {}, `${run + 1} `), page ? h("a", { href: page }, nameParts(name)) : nameParts(name), without && h("a", { class: "leave", href: without, title: `Compare without ${name}`, "aria-label": `Compare without ${name}` }, " ✕")];
}

function runHeads(first) {
  const { names } = compared;
  const heads = names.map((name, run) => h("th", { scope: "col", title: name }, h("span", {}, numberedName(run))));
  return h("thead", {}, h("tr", {}, columnHead(first), heads));
}

/** A table with a column for each run; the names of many stand upright. */
function byRun(first, kind, rows) {
  const size = isMany() ? "by-run upright" : "by-run";
  return h("table", { class: `${size} ${kind}` }, runHeads(first), rows && h("tbody", {}, rows));
}

/** What the runs can be compared by, where their benchmark has several numbers; the official one has no name here. */
function measureLinks() {
  const { measures = [] } = compared;
  const { measure: chosen = "", measured } = comparedFrom;
  const link = (name) => h("a", { class: "button", href: measured(name), "aria-current": name === chosen && "true" }, name || "official number");
  return measured && measures.length > 1 && h("nav", { class: "filters", "aria-label": "Compared by" }, "Compared by ", measures.map(link));
}

function resultsCard() {
  const { results, headline, cautions, notes, left_out: leftOut, differences, beside = [] } = compared;
  const listed = () => resultsTable(results, ({ name }) => runLink(compared.names.indexOf(name)));
  return card(
    "Results",
    measureLinks(),
    noteList(cautions),
    headline && h("p", { class: "headline" }, headline),
    compared.grid && cellsTable(compared.grid),
    compared.grid ? folded("All cells as a list", () => listed()) : listed(),
    differences && tableOf("Differences", differences),
    beside.map((table) => folded("Other measures", () => tableOf(table.title, table))),
    noteList(notes),
    leftOut.length > 0 && folded(`Left out: ${count.format(leftOut.length)}`, () => noteList(leftOut)),
  );
}

/** A table of the terminal; the rows in bold are sure. */
function tableOf(title, { columns, rows, bold = [] }) {
  const row = ([name, ...values], at) => dataRow(name, values, columns, bold.includes(at) && "total");
  return dataTable(title, columns, rows.map(row), "results");
}

let chosenCell;

/** Chooses a cell to be compared with the next one that is chosen. */
function chooseCell({ currentTarget: button }, run) {
  if (chosenCell !== undefined && chosenCell !== run) return void location.assign(comparedFrom.compare([chosenCell, run]));
  chosenCell = chosenCell === run ? undefined : run;
  return button.setAttribute("aria-pressed", chosenCell === run);
}

/** The cells of a grid: the levels of the first factor by those of all others. */
function cellsTable({ factors, cells }) {
  const across = ({ levels }) => levels.slice(1).join(" · ");
  const [rows, columns] = [cells.map(({ levels }) => levels[0]), cells.map(across)].map((names) => [...new Set(names)]);
  const draw = (first, second) => {
    const found = cells.find((each) => each.levels[0] === first && across(each) === second);
    if (!found) return h("td", { class: "number", "data-name": second }, "–");
    const { run, value, cost, time } = found;
    const name = compared.names[run];
    const page = comparedFrom.page?.(run);
    const shown = h("strong", {}, percent(value));
    const button = comparedFrom.compare && h("button", { type: "button", "aria-pressed": "false", "aria-label": `Compare ${name} with another cell`, title: "Compare with another cell: choose two", click: (event) => chooseCell(event, run) }, "⇄");
    const cell = h("td", { class: "number heat good", "data-name": second, title: name }, button, " ", page ? h("a", { href: page, "aria-label": `${name}: ${percent(value)}` }, shown) : shown, " ", between(found), h("small", {}, [cost, time].filter(Boolean).join(" · ")));
    cell.style.setProperty("--share", value || 0);
    return cell;
  };
  const lines = rows.map((first) => h("tr", {}, h("th", { scope: "row" }, first), columns.map((second) => draw(first, second))));
  return dataTable("Cells", [factors.join(" × "), ...columns], lines, "by-run grid-cells");
}

/** What each factor does: as a picture, and as tables. */
function effectsCard({ plot, tables, interactions, notes }) {
  const [factors, contrasts] = tables;
  return card(
    "Effects",
    plot && scrollable("Effects", h("div", { class: "plots" }, plotFigure(plot))),
    noteList(interactions),
    tableOf("Factors", factors),
    folded(contrasts.title, () => tableOf("Levels", contrasts)),
    noteList(notes),
  );
}

/** What a pair of runs is found to differ by, in one line. */
function pairWords({ first, second, points, interval, p, adjusted, sure }) {
  return `${compared.names[second]} − ${compared.names[first]}: ${points} ${interval} percentage points, p = ${p}, corrected ${adjusted}: ${sure ? "sure" : "this may be chance"}`;
}

/** Every run against every other, the best first: which differences are sure. */
function sureCard() {
  const { names, pairs: found } = compared;
  if (names.length < 3 || found.length === 0) return null;
  const scores = names.map(() => 0);
  for (const { first, second, difference } of found) {
    scores[first] -= difference;
    scores[second] += difference;
  }
  const ranked = names.map((_, run) => run).sort((a, b) => scores[b] - scores[a]);
  const pairOf = new Map(found.map((pair) => [`${pair.first} ${pair.second}`, pair]));
  const cell = (run, other) => {
    if (run === other) return h("td", { class: "same" });
    const pair = pairOf.get(`${Math.min(run, other)} ${Math.max(run, other)}`);
    if (!pair) return h("td", { class: "same" }); // cells with different tasks
    const difference = run === pair.second ? pair.difference : -pair.difference;
    const words = pairWords(pair);
    const kind = !pair.sure ? "unsure" : difference < 0 ? "worse" : "better";
    const address = comparedFrom.compare?.([other, run]);
    const inside = address ? h("a", { href: address, "aria-label": words }, inPoints(difference)) : h("span", { "aria-label": words }, inPoints(difference));
    return h("td", { class: `number ${kind}`, title: words, ...ofRun(other) }, inside);
  };
  const heads = ranked.map((run) => h("th", { scope: "col", title: names[run] }, h("span", {}, numberedName(run))));
  const rows = ranked.map((run) => h("tr", {}, h("th", { scope: "row" }, numberedName(run)), ranked.map((other) => cell(run, other))));
  const size = isMany() ? "by-run upright sure" : "by-run sure";
  const listed = found.map(({ first, second, points, interval, p, adjusted, sure }) => [`${names[second]} − ${names[first]}`, `${points} ${interval}`, p, adjusted, sure ? "sure" : ""]);
  const sure = found.filter((pair) => pair.sure).length;
  const answer = sure ? `${count.format(sure)} of ${counted(found.length, "difference")} ${sure === 1 ? "is" : "are"} sure.` : `None: each of the ${counted(found.length, "difference")} may be chance.`;
  return card(
    "Which differences are sure",
    h("p", { class: "answer" }, h("b", {}, answer)),
    h("p", { class: "totals" }, `${found[0].measure} of the run in the row minus that of the run in the column, in percentage points; grey: this may be chance`),
    dataTable("Differences", ["", ...heads], rows, size),
    folded(`All ${counted(found.length, "pair")} with intervals and p-values`, () => tableOf("Pairs", { columns: ["runs", "difference", "p", "p, corrected", ""], rows: listed })),
  );
}

/** A count, shaded by its share of the largest. */
function shaded(value, share, run) {
  const cell = h("td", { class: "number heat", ...ofRun(run) }, count.format(value));
  cell.style.setProperty("--share", share || 0);
  return cell;
}

/** Why simulations failed in each run: labels, and checks that were not met. */
function reasonsCard({ failed, verdicts, rows }) {
  const most = Math.max(...rows.flatMap(({ counts }) => counts.map((number, run) => number / verdicts[run] || 0)), 0);
  const total = h("tr", { class: "total" }, h("th", { scope: "row" }, "failed"), failed.map((number, run) => h("td", { class: "number", ...ofRun(run) }, `${count.format(number)} of ${count.format(verdicts[run])}`)));
  const lines = rows.map(({ name, counts }) => h("tr", {}, h("th", { scope: "row" }, name), counts.map((number, run) => shaded(number, number / verdicts[run] / most, run))));
  return card("Why simulations failed", scrollable("Why simulations failed", byRun("", "reasons", [total, lines])));
}

/** What takes longer to find: drawn when it is there. */
function lookedInto({ reasons, system_facts: facts = [] }) {
  return [facts.map((table) => card("What each system does wrong", h("p", { class: "totals" }, table.title), tableOf("Facts", table))), reasons?.rows.length > 0 && reasonsCard(reasons)];
}

async function addReasons(place) {
  if (!comparedFrom.reasons || compared.reasons) return add(place, [lookedInto(compared)]);
  const status = h("output", { class: "status" }, "Failures are explained …");
  add(place, [card("Why simulations failed", status)]);
  try {
    const found = await comparedFrom.reasons();
    place.replaceChildren();
    return add(place, [lookedInto(found)]);
  } catch (error) {
    return void (status.textContent = `The failures could not be explained: ${error.message}`);
  }
}

function trialLink(task, each) {
  const { names } = compared;
  const others = names.length === 2 ? trialsToOpen(task) : [];
  const trials = names.length === 2 ? [0, 1].map((run) => (run === each.run ? each : others[run])) : [each];
  return h("a", { class: `cell ${each.kind}`, href: addressOfTrials(names, task, trials), "aria-label": `${comparedName(task)} in ${names[each.run]}, trial ${each.trial}: ${each.word}` }, each.mark);
}

function comparedRow(task) {
  const { names } = compared;
  const size = isMany() ? "cells compact" : "cells";
  const cells = names.map((_, run) => h("td", ofRun(run), h("div", { class: size }, trialsIn(task, run).map((each) => trialLink(task, each)))));
  const change = passShare(task, 1) - passShare(task, 0);
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, h("a", { href: addressOfTrials(names, task, trialsToOpen(task)), class: "id" }, comparedName(task)), foldedBadges(task), task.note && h("span", { class: "note", title: task.note }, task.note)),
    cells,
    names.length === 2 && h("td", { class: change < 0 ? "number worse" : "number better", "data-name": "change" }, change ? inPoints(change, 0) : ""),
  );
}

function runsDiffer(task) {
  const shares = task.cells.map((_, run) => passShare(task, run)).filter((share) => share !== undefined);
  return shares.some((share) => share !== shares[0]);
}

function tasksCard() {
  const { names, tasks } = compared;
  const table = byRun("Task", "compared");
  if (names.length === 2) table.tHead.rows[0].append(h("th", { scope: "col" }, "Change"));
  const blocks = inBlocks(table, (line) => (line.row ??= comparedRow(line.task)), ({ task }) => task.cells.reduce((sum, [letters]) => sum + letters.length, 0));
  const lines = tasks.map((task) => ({ task, text: `${comparedName(task)}\n${task.note}`.toLowerCase() }));
  const asked = { which: "all tasks", domain: "", words: "" };
  const status = h("output", { class: "status" });
  const show = () => {
    const words = asked.words.toLowerCase().split(/\s+/);
    const wanted = lines.filter(({ task, text }) => (asked.which === "all tasks" || runsDiffer(task)) && (!asked.domain || task.domain === asked.domain) && words.every((word) => text.includes(word)));
    listedTasks = wanted.map(({ task }) => task);
    blocks.show(wanted);
    status.textContent = `${count.format(wanted.length)} of ${counted(tasks.length, "task")}, those first that differ most`;
  };
  const pick = (name) => (value) => {
    asked[name] = value;
    show();
  };
  const domains = [...new Set(tasks.map(({ domain }) => domain))];
  const field = h("input", { type: "search", id: "search", placeholder: "Task id or text ( / )", "aria-label": "Task id or text", input: () => pick("words")(field.value.trim()) });
  show();
  preparePrinting(() => openTrials.task || blocks.whole());
  const title = h("div", { class: "title-line" }, h("h2", { id: "tasks" }, "Tasks by runs"), status);
  return h("section", { class: "card", "aria-labelledby": "tasks" }, title, h("div", { class: "filters", role: "search" }, field, choice("Show", ["all tasks", "only where runs differ"], pick("which")).field, domains.length > 1 && choice("Domain", domains, pick("domain"), "all").field), h("div", { class: "scroll" }, table));
}

/** The next or previous task that the filters leave, with the same runs side by side. */
function step(by) {
  const here = listedTasks.indexOf(openTrials.task);
  const next = listedTasks[here < 0 && by < 0 ? listedTasks.length - 1 : here + by];
  if (!next) return;
  location.hash = addressOfTrials(compared.names, next, trialsToOpen(next, openTrials.trials?.map(({ run }) => run)));
  openTrials = trialsInAddress(compared.names, byName); // the next key goes on from here
}

function panelButtons() {
  return h(
    "nav",
    { class: "panel-bar", "aria-label": "Comparison" },
    toolButton("↑", "Previous task (k)", () => step(-1)),
    toolButton("↓", "Next task (j)", () => step(1)),
    openTrials.trials.length > 1 && h("a", { class: "button", href: "#difference", click: (event) => (event.preventDefault(), toDifference()) }, "First difference"),
    h("span", { class: "spread" }),
    toolButton("✕", "Close (Esc)", closeTrials),
  );
}

function closeTrials() {
  const { task } = openTrials;
  location.hash = "";
  if (!task) return;
  const links = [...document.querySelectorAll("table.compared th a")];
  links.find((each) => each.textContent === comparedName(task))?.focus();
}

/** Opens what the address names. */
async function followTrials() {
  const panel = document.getElementById("panel");
  const { task, trials } = (openTrials = trialsInAddress(compared.names, byName));
  delete panel.dataset.ready;
  panel.hidden = !task;
  panel.classList.toggle("two", trials?.length > 1);
  if (!task) return panel.replaceChildren();
  const inside = h("div", { class: "inside" });
  panel.replaceChildren(panelButtons(), inside);
  panel.scrollTop = 0;
  await showTrials(inside, compared.names, comparedFrom, task, trials);
  if (!inside.isConnected) return undefined; // another was opened meanwhile
  inside.querySelector("#difference")?.scrollIntoView({ block: "nearest" });
  inside.querySelector("h2").focus({ preventScroll: true });
  panel.dataset.ready = comparedName(task);
}

/** Shows the comparison of a source; `above` stands on top of the page. */
export async function comparePage(container, source, title, above) {
  comparedFrom = source;
  const status = h("output", { class: "status" }, "Comparing …");
  add(container, [above, h("header", { class: "top" }, h("div", {}, h("h1", {}, title), status), h("div", { class: "beside" }, themeButton()))]);
  try {
    compared = await source.read();
  } catch (error) {
    return void (status.textContent = `The runs could not be compared: ${error.message}`);
  }
  status.replaceChildren();
  add(status, [compared.note]);
  byName = new Map(compared.tasks.map((task) => [comparedName(task), task]));
  const { facts = [], plots } = compared;
  const later = h("div", { class: "looked-into" });
  add(container, [
    resultsCard(),
    compared.grid && effectsCard(compared.grid),
    sureCard(),
    plots.length > 0 && card("Plots", scrollable("Drawings", h("div", { class: "plots" }, plots.map(plotFigure)))),
    later,
    tasksCard(),
    facts.length > 0 && h("section", { class: "card about", "aria-label": "Runs" }, runFacts(facts)),
    h("footer", {}, [["j", "k"].map((key) => [h("kbd", {}, key), " "]), "next and previous task · ", h("kbd", {}, "/"), " search · ", h("kbd", {}, "Esc"), " close"]),
  ]);
  addEventListener("hashchange", followTrials);
  onKeys({ j: () => step(1), k: () => step(-1), "/": () => document.getElementById("search").focus(), Escape: () => openTrials.task && closeTrials() });
  await followTrials();
  addReasons(later);
}
