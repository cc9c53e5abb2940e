// All runs of the folder: their state and numbers, what people wrote about them, and the choice of
// those to compare. How the list is sorted and filtered stands in the address.

import { inBlocks } from "../blocks.js";
import { intervalBar } from "../charts.js";
import { columnClass, columnMenu } from "../columns.js";
import { add, h, nameParts, onKeys } from "../dom.js";
import { choice } from "../filters.js";
import { between, count, counted, inPercent, money, percent, scoreInPercent, shortfall } from "../text.js";
import { themeButton } from "../theme.js";
import { listen, lostNotice } from "./events.js";
import { STORED } from "./files.js";
import { minute, stateChip, topBar } from "./frame.js";
import { ask, pageAddress, pathTo, pathToComparison } from "./server.js";

const STATES = ["running", "reading", "complete", "incomplete", "damaged"];
const DOUBTFUL = "doubtful";

// What a column is called, what it is sorted by, and what it shows.
const RUN_COLUMNS = [
  ["Run", ({ name }) => name.toLowerCase(), runName],
  ["State", ({ state }) => STATES.indexOf(state), runProgress],
  ["pass^1", ({ pass_1 }) => pass_1?.value ?? -1, ({ grid, pass_1, estimate, doubt }) => grid ? rangeOf(grid) : [passRate(pass_1), doubt && recordedRate(doubt), pass_1 && estimate && h("div", {}, h("small", { class: "estimate" }, estimate))]],
  ["Cost", ({ cost }) => cost ?? -1, ({ cost }) => money(cost)],
  ["Tokens", ({ tokens }) => tokens ?? -1, ({ tokens }) => (tokens ? count.format(tokens) : "–")],
  ["Models", ({ models }) => models.join(), participants],
  ["Domains", ({ domains }) => domains.join(), ({ domains }) => stacked(domains)],
  ["Date", ({ started, updated }) => started || updated || "", ({ started, updated }) => minute(started || updated)],
  ["Tags", ({ tags }) => tags.join(), ({ tags }) => tags.map((tag) => h("span", { class: "tag" }, tag))],
  ["Note", ({ note }) => note ?? "", ({ note }) => note ?? ""],
];

const known = new Map();
// Grids by their folder, and which of them show their cells.
const grids = new Map();
const unfoldedGrids = new Set();
const wanted = { q: "", state: "", domain: "", model: "", tag: "", sort: "Date", down: true };
let chosen = [];
let parts;

/** The link to a run; a grid also says what it crosses, and unfolds its cells. */
function runName({ name, problem, grid }) {
  if (!grid) return [h("a", { href: pathTo(name) }, nameParts(name)), problem && h("small", { class: "problem" }, problem)];
  const unfold = () => {
    if (!unfoldedGrids.delete(name)) unfoldedGrids.add(name);
    showList();
  };
  const cells = grid.map((run) => run.name);
  const button = h("button", { type: "button", class: "unfold", "aria-label": `Cells of ${name}`, click: unfold }, `${counted(cells.length, "cell")}: ${Object.keys(grid[0].cell).join(" × ")}`);
  return [h("a", { href: STORED || name === "." ? pathToComparison(cells) : pathTo(name) }, nameParts(name === "." ? "grid" : name)), h("div", {}, button)];
}

function rangeOf(cells) {
  const rates = cells.map(({ pass_1 }) => pass_1?.value).filter((rate) => rate != null);
  return rates.length ? h("b", {}, `${inPercent(Math.min(...rates))} to ${percent(Math.max(...rates))}`) : "–";
}

const folderOf = (name) => name.slice(0, Math.max(0, name.lastIndexOf("/"))) || ".";
const totalOf = (runs, part) => (runs.some((run) => run[part] != null) ? runs.reduce((sum, run) => sum + (run[part] ?? 0), 0) : null);

/** One row for all cells of a grid. */
function gridRow(name, cells) {
  const every = (part) => [...new Set(cells.flatMap((run) => run[part]))];
  const sums = Object.fromEntries(["done", "failed", "planned", "cost", "tokens"].map((part) => [part, totalOf(cells, part)]));
  const best = cells.reduce((one, other) => ((other.pass_1?.value ?? -1) > (one.pass_1?.value ?? -1) ? other : one));
  const states = ["damaged", "running", "reading", "incomplete"];
  const dates = cells.map(({ started, updated }) => started || updated || "").sort();
  return {
    ...sums,
    name,
    grid: cells,
    pass_1: best.pass_1,
    state: states.find((state) => cells.some((run) => run.state === state)) ?? "complete",
    models: every("models"),
    domains: every("domains"),
    tags: every("tags"),
    started: dates[0],
    updated: dates.at(-1),
    doubt: cells.find(({ doubt }) => doubt)?.doubt,
  };
}

/** Puts the cells of each grid into one row; a run alone in its folder stays itself. */
function findGrids() {
  const found = new Map();
  for (const { run } of known.values()) if (run.cell) found.set(folderOf(run.name), [...(found.get(folderOf(run.name)) ?? []), run]);
  for (const name of grids.keys()) if (!(found.get(name)?.length > 1)) grids.delete(name);
  for (const [name, cells] of found) {
    if (cells.length < 2) continue;
    const entry = grids.get(name) ?? {};
    const run = gridRow(name, cells);
    if (JSON.stringify(entry.run) !== JSON.stringify(run)) grids.set(name, Object.assign(entry, { run, stale: true }));
  }
}

/** The rows that the filters leave: grids closed, or open with their cells below them. */
function wantedRows() {
  const inGrid = ({ name, cell }) => cell && grids.has(folderOf(name));
  const found = inOrder([...known.values()].map(({ run }) => run).filter(isWanted));
  const alone = found.filter((run) => !inGrid(run));
  const whole = [...grids.values()].map(({ run }) => run).filter(({ grid }) => grid.some((run) => found.includes(run)));
  return inOrder([...alone, ...whole]).flatMap((run) => (run.grid && unfoldedGrids.has(run.name) ? [run, ...found.filter((each) => run.grid.includes(each))] : [run]));
}

/** The rate as it is recorded, where it does not hold. */
function recordedRate({ recorded }) {
  return recorded?.value != null && h("div", {}, h("small", {}, "recomputed; recorded ", h("s", {}, percent(recorded.value))));
}

function runProgress({ state, done, failed, planned, doubt }) {
  const missing = state === "running" ? 0 : planned - done - failed;
  const lacking = [failed > 0 && counted(failed, "error"), missing > 0 && `${count.format(missing)} missing`].filter(Boolean);
  return [doubt && h("span", { class: "doubt-mark", title: doubt.reasons.join("\n") }, "⚠ doubtful"), stateChip(state), h("small", {}, ` ${count.format(done)}/${count.format(planned)}`), lacking.length > 0 && h("small", { class: "problem" }, ` ${lacking.join(", ")}`)];
}

/** Who took part, on which side. */
function participants({ agent, user }) {
  const line = (side, name) => name && h("div", {}, h("small", {}, `${side} `), nameParts(name));
  return agent || user ? [line("agent", agent), line("user", user)] : "–";
}

// Columns that only some folders have anything for.
const OPTIONAL = { Cost: ({ cost }) => cost, Tokens: ({ tokens }) => tokens, Tags: ({ tags }) => tags.length, Note: ({ note }) => note };

function hideEmptyColumns() {
  const every = [...known.values()].map(({ run }) => run);
  for (const [name, has] of Object.entries(OPTIONAL)) parts.table.classList.toggle(`without-${name.toLowerCase()}`, !every.some(has));
}

function stacked(list) {
  return list.length ? list.map((each) => h("div", {}, each)) : "–";
}

function passRate(found) {
  if (found?.value == null) return "–";
  return [h("b", {}, scoreInPercent(found)), between(found) && h("small", {}, ` ${between(found)}`), intervalBar(found), missing(found)];
}

function missing(found) {
  const words = shortfall(found);
  return words && h("div", { class: "shortfall" }, h("small", {}, words));
}

function readAddress() {
  const query = new URLSearchParams(location.search);
  for (const name of ["q", "state", "domain", "model", "tag"]) wanted[name] = query.get(name) ?? "";
  wanted.sort = query.get("sort") ?? "Date";
  wanted.down = query.has("sort") ? query.has("down") : true;
}

function addressOfList() {
  const query = new URLSearchParams();
  for (const name of ["q", "state", "domain", "model", "tag"]) if (wanted[name]) query.set(name, wanted[name]);
  if (wanted.sort !== "Date" || !wanted.down) {
    query.set("sort", wanted.sort);
    if (wanted.down) query.set("down", "");
  }
  return pageAddress("", query);
}

function isWanted({ name, state, domains, models, tags, note, doubt }) {
  const text = [name, ...models, ...domains, ...tags, note ?? ""].join("\n").toLowerCase();
  return (
    (!wanted.state || (wanted.state === DOUBTFUL ? doubt : state === wanted.state)) &&
    (!wanted.domain || domains.includes(wanted.domain)) &&
    (!wanted.model || models.includes(wanted.model)) &&
    (!wanted.tag || tags.includes(wanted.tag)) &&
    wanted.q.toLowerCase().split(/\s+/).every((word) => text.includes(word))
  );
}

function inOrder(list) {
  const [, key] = RUN_COLUMNS.find(([name]) => name === wanted.sort) ?? RUN_COLUMNS[7];
  const compared = (a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);
  return list.sort((a, b) => (wanted.down ? -1 : 1) * compared(a, b) || (a.name < b.name ? -1 : 1));
}

/** Chooses a run for the comparison, or takes it back. */
function toggleRun(...names) {
  const all = names.every((name) => chosen.includes(name));
  chosen = [...chosen.filter((each) => !names.includes(each)), ...(all ? [] : names)];
  showList();
}

const namesIn = ({ name, grid }) => grid?.map((run) => run.name) ?? [name];
const isChosen = (run) => namesIn(run).every((name) => chosen.includes(name));

function choiceOf(run) {
  const box = h("input", { type: "checkbox", "aria-label": `Compare ${run.name}`, change: () => toggleRun(...namesIn(run)) });
  box.checked = isChosen(run);
  return h("td", { class: "choose" }, box);
}

function drawRun(run) {
  const cells = RUN_COLUMNS.map(([name, , show], at) => h(at ? "td" : "th", at ? { "data-name": name, class: columnClass(name) } : { scope: "row" }, show(run)));
  const kind = run.grid ? "grid" : run.cell && grids.has(folderOf(run.name)) && "cell-of-grid";
  return h("tr", { "data-run": run.name, class: kind }, choiceOf(run), cells);
}

/** A row that somebody writes in is left alone. */
function runRow(entry) {
  const busy = entry.row?.querySelector("form");
  if (!entry.row || (entry.stale && !busy)) {
    entry.row = drawRun(entry.run);
    entry.stale = false;
  }
  return entry.row;
}

function headCell([name]) {
  const sort = () => {
    [wanted.sort, wanted.down] = [name, wanted.sort === name ? !wanted.down : !["Run", "State"].includes(name)];
    showList();
  };
  const cell = h("th", { scope: "col", class: columnClass(name) }, h("button", { type: "button", class: "pick", click: sort }, name));
  cell.update = () => cell.setAttribute("aria-sort", wanted.sort !== name ? "none" : wanted.down ? "descending" : "ascending");
  return cell;
}

function showCompare() {
  const words = chosen.length > 2 ? `Compare ${counted(chosen.length, "run")}` : `Compare ${chosen.join(" with ")}`;
  parts.compare.replaceChildren(chosen.length > 1 ? h("a", { class: "button", href: pathToComparison(chosen) }, words) : h("small", {}, "Choose two or more runs to compare them."));
}

function showList() {
  findGrids();
  const found = wantedRows();
  for (const { run, row } of [...known.values(), ...grids.values()]) if (row) row.querySelector(".choose input").checked = isChosen(run);
  parts.blocks.show(found.map(({ name, grid }) => (grid ? grids : known).get(name)));
  parts.heads.forEach((cell) => cell.update());
  hideEmptyColumns();
  const listed = new Set(found.flatMap(namesIn)).size;
  parts.status.textContent = `${count.format(listed)} of ${counted(known.size, "run")}${grids.size ? ` (${counted(grids.size, "grid")})` : ""}`;
  history.replaceState(null, "", addressOfList());
  showCompare();
}

/** What is new of some runs, and which are gone; what has the focus keeps it. */
function takeRuns(list, gone = []) {
  for (const name of gone) known.delete(name);
  for (const run of list) {
    const entry = known.get(run.name) ?? {};
    if (JSON.stringify(entry.run) !== JSON.stringify(run)) known.set(run.name, Object.assign(entry, { run, stale: true }));
  }
  const { activeElement } = document;
  const path = activeElement?.closest("tr[data-run]") && [activeElement.closest("tr").dataset.run, activeElement.getAttribute("aria-label") ?? activeElement.getAttribute("href")];
  showList();
  if (path && document.activeElement !== activeElement) refocus(...path);
}

function refocus(name, label) {
  const { row } = known.get(name) ?? grids.get(name) ?? {};
  [...(row?.querySelectorAll("a, input, button") ?? [])].find((each) => [each.getAttribute("aria-label"), each.getAttribute("href")].includes(label))?.focus({ preventScroll: true });
}

function filterOf(name, label, values) {
  const { select, field } = choice(label, values, (value) => ((wanted[name] = value), showList()), "all");
  select.value = wanted[name];
  return values.length > 0 && field;
}

function listFilters() {
  const every = (select) => [...new Set([...known.values()].flatMap(({ run }) => select(run)))].sort();
  const field = h("input", { type: "search", id: "search", placeholder: "Name, model, tag or note ( / )", "aria-label": "Name, model, tag or note" });
  field.value = wanted.q;
  field.addEventListener("input", () => {
    wanted.q = field.value.trim();
    showList();
  });
  return h(
    "div",
    { class: "filters", role: "search", "aria-label": "Runs" },
    field,
    filterOf("state", "State", [...STATES, DOUBTFUL].filter((state) => every((run) => [run.state, run.doubt && DOUBTFUL]).includes(state))),
    filterOf("domain", "Domain", every(({ domains }) => domains)),
    filterOf("model", "Model", every(({ models }) => models)),
    filterOf("tag", "Tag", every(({ tags }) => tags)),
    columnMenu(parts.table, "maseval-run-columns", ["Cost", "Tokens", "Models", "Domains", "Date", "Tags", "Note"]),
    parts.compare,
  );
}

function drawRuns({ root, runs }, notice) {
  const heads = RUN_COLUMNS.map(headCell);
  const head = h("tr", {}, h("th", { scope: "col" }, h("span", { class: "unseen-words" }, "Compare")), heads);
  const table = h("table", { class: "runs" }, h("thead", {}, head));
  parts = { table, heads, blocks: inBlocks(table, runRow), status: h("output", { class: "status" }), compare: h("div", { class: "compare-choice" }) };
  for (const run of runs) known.set(run.name, { run });
  const empty = runs.length === 0 && h("p", { class: "totals" }, "No run is in this folder yet. ", h("code", {}, "maseval demo"), " makes one.");
  return [
    topBar(),
    notice,
    h("header", { class: "top" }, h("div", {}, h("h1", { id: "all" }, "Runs"), h("p", { class: "totals" }, root)), h("div", { class: "beside" }, themeButton())),
    h("section", { class: "card", "aria-labelledby": "all" }, listFilters(), parts.status, empty, h("div", { class: "scroll" }, table)),
  ];
}

export async function runsPage(container) {
  readAddress();
  const found = await ask("/api/runs");
  const all = async () => {
    const { runs } = await ask("/api/runs");
    const names = new Set(runs.map(({ name }) => name));
    takeRuns(runs, [...known.keys()].filter((name) => !names.has(name)));
  };
  const notice = lostNotice();
  add(container, drawRuns(found, notice));
  listen({}, { runs: ({ runs, gone }) => takeRuns(runs, gone) }, () => all().catch(() => {}), notice);
  onKeys({ "/": () => document.getElementById("search").focus() });
  showList();
}
