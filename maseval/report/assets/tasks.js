// The table of tasks by trials, and the filters above it. Rows are made once; filtering hides them.

const filters = { words: "", text: "", domain: "", ended: "", label: "", outcomes: new Set() };
// The simulations in which filters.text was found; null while nothing is searched for.
let saying = null;
const controls = new Map();
const cells = new Map();
const rows = [];

function matches(simulation) {
  const { domain, id, note } = taskOf(simulation);
  const { words } = filters;
  return (
    (!filters.domain || domain === filters.domain) &&
    (!filters.ended || simulation.ended === filters.ended) &&
    (!filters.label || simulation.labels.includes(filters.label)) &&
    (!filters.outcomes.size || filters.outcomes.has(simulation.outcome)) &&
    (!saying || saying.has(simulation)) &&
    (!words || `${id}\n${note}`.toLowerCase().includes(words.toLowerCase()))
  );
}

function describe(simulation) {
  const { domain, id } = taskOf(simulation);
  const parts = [`${domain} task ${id}, trial ${simulation.trial}: ${OUTCOMES[simulation.outcome].word}`];
  if (simulation.reward != null) parts.push(`reward ${simulation.reward}`);
  if (simulation.ended) parts.push(simulation.ended);
  return [...parts, ...simulation.labels].join(" · ").trim();
}

function cellOf(simulation) {
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
function cellsOf(trials) {
  const runs = index.runs.length ? index.runs : [""];
  return runs.map((run, number) => {
    const mine = trials.filter((simulation) => (simulation.run ?? 0) === number);
    const size = mine.length > MANY_TRIALS ? "cells compact" : "cells";
    return h("div", { class: "run-cells" }, run && h("small", {}, run), h("div", { class: size }, mine.map(cellOf)));
  });
}

/** What an audit found in the task itself. */
function badges({ findings = [] }) {
  return findings.map(({ name, text }) => h("span", { class: "tag finding", title: text }, name));
}

function rowOf(task, trials) {
  const passed = trials.filter(({ outcome }) => outcome === "pass").length;
  const row = h(
    "tr",
    {},
    h("td", { class: "domain" }, task.domain),
    h("th", { scope: "row", class: "task" }, h("div", {}, h("span", { class: "id" }, task.id), badges(task), task.note && h("span", { class: "note", title: task.note }, task.note))),
    h("td", {}, cellsOf(trials)),
    h("td", { class: "number" }, `${passed}/${trials.length}`),
  );
  rows.push({ row, trials, passed: passed / trials.length });
  return row;
}

function drawRows(body) {
  const trials = simulationsByTask();
  add(body, index.tasks.map((task, position) => rowOf(task, trials[position])));
}

function shown() {
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
  writeAddress(opened, besides);
  status.textContent = `${count.format(found)} of ${counted(simulations.length, "simulation")}`;
  makeReachable(cells.get(shown()[0]));
}

function makeReachable(cell) {
  for (const other of document.querySelectorAll('.cell[tabindex="0"]')) other.tabIndex = -1;
  if (cell) cell.tabIndex = 0;
}

/** By how much the second run did better on a task. */
function gain({ trials }) {
  const share = (number) => {
    const mine = trials.filter(({ run }) => run === number);
    return mine.filter(({ outcome }) => outcome === "pass").length / (mine.length || 1);
  };
  return share(1) - share(0);
}

const ORDERS = {
  "by task": () => 0,
  "fewest passed": (a, b) => a.passed - b.passed,
  "most passed": (a, b) => b.passed - a.passed,
  ...(index.runs.length > 1 && {
    "largest loss": (a, b) => gain(a) - gain(b),
    "largest gain": (a, b) => gain(b) - gain(a),
  }),
};

function sortRows(body, order) {
  rows.sort((a, b) => ORDERS[order](a, b) || a.trials[0].task - b.trials[0].task);
  body.append(...rows.map(({ row }) => row));
}

function choice(label, values, changed, all = "all") {
  const options = values.map((value) => h("option", { value }, value));
  // An option's value is compared with data, so it must be the data and not its visible form.
  options.forEach((option, position) => (option.value = values[position]));
  const first = all && h("option", { value: "" }, all);
  const select = h("select", { change: () => changed(select.value) }, first, options);
  if (all) controls.set(changed.filter, (value) => (select.value = value));
  return h("label", {}, h("span", {}, label), select);
}

function outcomeButtons(apply) {
  const found = tally((simulation) => simulation.outcome);
  const buttons = Object.entries(OUTCOMES)
    .filter(([outcome]) => found.has(outcome))
    .map(([outcome, { mark, word }]) => {
      const button = h("button", { type: "button", class: `chip ${outcome}`, "aria-pressed": "false" }, h("b", {}, mark), ` ${word} `, h("small", {}, count.format(found.get(outcome))));
      button.addEventListener("click", () => {
        if (!filters.outcomes.delete(outcome)) filters.outcomes.add(outcome);
        apply();
      });
      controls.set(`outcome ${outcome}`, () => button.setAttribute("aria-pressed", String(filters.outcomes.has(outcome))));
      return button;
    });
  return h("div", { class: "chips", role: "group", "aria-label": "Outcome" }, buttons);
}

/** Shows the filters as they are, wherever they were set. */
function showFilters() {
  for (const [name, set] of controls) set(filters[name] ?? "");
}

let searched = "";

/** Finds out in which conversations filters.text is said, unless that is known. */
async function search(status) {
  const { text } = filters;
  if (text === searched) return;
  searched = text;
  if (!text) saying = null;
  else {
    const words = text.toLowerCase();
    const progress = (done, all) => (status.textContent = `Searching: ${count.format(done)} of ${counted(all, "task")}`);
    const found = await searchConversations(words, progress, () => searched === text);
    if (searched === text) saying = found;
  }
}

async function applyAll(status) {
  showFilters();
  await search(status);
  applyFilters(status);
}

let applyNow = () => {};

/** Sets a filter, or takes it back if it is set already; for everything that can be clicked. */
function choose(name, value) {
  if (name === "outcome") {
    if (!filters.outcomes.delete(value)) filters.outcomes.add(value);
  } else filters[name] = filters[name] === value ? "" : value;
  applyNow();
  document.getElementById("tasks").scrollIntoView({ block: "start" });
}

const PAUSE = 300;

function searchField(name, label, changed) {
  let waiting;
  const field = h("input", { type: "search", id: name === "words" ? "search" : "search-text", placeholder: label, "aria-label": label });
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => changed(field.value), name === "words" ? 0 : PAUSE);
  });
  controls.set(name, (value) => field.value !== value && (field.value = value));
  return field;
}

function filterBar(body, status) {
  applyNow = () => applyAll(status);
  const set = (name) =>
    Object.assign(
      (value) => {
        filters[name] = value;
        applyNow();
      },
      { filter: name },
    );
  const domains = [...new Set(index.tasks.map(({ domain }) => domain))].filter(Boolean);
  const labels = [...tally((simulation) => simulation.labels).keys()];
  return h(
    "div",
    { class: "filters", role: "search" },
    searchField("words", "Task id or text ( / )", set("words")),
    searchField("text", "Said in a conversation", set("text")),
    outcomeButtons(applyNow),
    domains.length > 1 && choice("Domain", domains, set("domain")),
    choice("Termination", [...tally((simulation) => simulation.ended).keys()], set("ended")),
    labels.length > 0 && choice("Label", labels, set("label")),
    choice("Order", Object.keys(ORDERS), (order) => sortRows(body, order), null),
  );
}

/** The hint of a cell is made when somebody points at it. */
function hint({ target }) {
  const cell = target.closest(".cell");
  if (cell && !cell.title) cell.title = cell.getAttribute("aria-label");
}

function drawTasks() {
  const body = h("tbody", { mouseover: hint });
  const status = h("output", { class: "status" });
  const head = h("tr", {}, ["Domain", "Task", "Trials", "Passed"].map((name) => h("th", { scope: "col" }, name)));
  const bar = filterBar(body, status);
  drawRows(body);
  const single = index.tasks.every(({ domain }) => domain === index.tasks[0].domain);
  const table = h("table", { class: single ? "tasks single" : "tasks" }, h("thead", {}, head), body);
  const section = h("section", { "aria-labelledby": "tasks", class: "card" }, h("div", { class: "title-line" }, h("h2", { id: "tasks" }, "Tasks by trials"), status, downloads()), bar, h("div", { class: "scroll" }, table));
  return { section, start: () => applyAll(status) };
}
