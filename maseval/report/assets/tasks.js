// The table of tasks by trials, and the filters above it. Rows are made once; filtering hides them.

const filters = { words: "", domain: "", ended: "", label: "", outcomes: new Set() };
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
    (!words || `${id}\n${note}`.toLowerCase().includes(words))
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
  const { mark } = OUTCOMES[simulation.outcome];
  const words = describe(simulation);
  // One stop for the Tab key in the whole table; the arrow keys go from cell to cell.
  const cell = h("a", { class: `cell ${simulation.outcome}`, href: linkTo(simulation), title: words, "aria-label": words, tabindex: "-1" }, mark);
  cells.set(simulation, cell);
  return cell;
}

function rowOf(task, trials) {
  const passed = trials.filter(({ outcome }) => outcome === "pass").length;
  const row = h(
    "tr",
    {},
    h("td", { class: "domain" }, task.domain),
    h("th", { scope: "row", class: "task" }, h("div", {}, h("span", { class: "id" }, task.id), task.note && h("span", { class: "note" }, task.note))),
    h("td", {}, h("div", { class: "cells" }, trials.map(cellOf))),
    h("td", { class: "number" }, `${passed}/${trials.length}`),
  );
  rows.push({ row, trials, passed: passed / trials.length });
  return row;
}

function drawRows(body) {
  const trials = index.tasks.map(() => []);
  for (const simulation of simulations) trials[simulation.task].push(simulation);
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
  status.textContent = `${count.format(found)} of ${counted(simulations.length, "simulation")}`;
  makeReachable(cells.get(shown()[0]));
}

function makeReachable(cell) {
  for (const other of document.querySelectorAll('.cell[tabindex="0"]')) other.tabIndex = -1;
  if (cell) cell.tabIndex = 0;
}

const ORDERS = {
  "by task": () => 0,
  "fewest passed": (a, b) => a.passed - b.passed,
  "most passed": (a, b) => b.passed - a.passed,
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
  return h("label", {}, h("span", {}, label), select);
}

function outcomeButtons(apply) {
  const found = tally((simulation) => simulation.outcome);
  const buttons = Object.entries(OUTCOMES)
    .filter(([outcome]) => found.has(outcome))
    .map(([outcome, { mark, word }]) => {
      const button = h("button", { type: "button", class: `chip ${outcome}`, "aria-pressed": "false" }, h("b", {}, mark), ` ${word} `, h("small", {}, count.format(found.get(outcome))));
      button.addEventListener("click", () => {
        const on = !filters.outcomes.delete(outcome);
        if (on) filters.outcomes.add(outcome);
        button.setAttribute("aria-pressed", String(on));
        apply();
      });
      return button;
    });
  return h("div", { class: "chips", role: "group", "aria-label": "Outcome" }, buttons);
}

function filterBar(body, status) {
  const apply = () => applyFilters(status);
  const set = (name) => (value) => {
    filters[name] = value;
    apply();
  };
  const search = h("input", { type: "search", id: "search", placeholder: "Task id or text ( / )", "aria-label": "Task id or text" });
  search.addEventListener("input", () => set("words")(search.value.toLowerCase()));
  const domains = [...new Set(index.tasks.map(({ domain }) => domain))].filter(Boolean);
  const labels = [...tally((simulation) => simulation.labels).keys()];
  return h(
    "div",
    { class: "filters", role: "search" },
    search,
    outcomeButtons(apply),
    domains.length > 1 && choice("Domain", domains, set("domain")),
    choice("Termination", [...tally((simulation) => simulation.ended).keys()], set("ended")),
    labels.length > 0 && choice("Label", labels, set("label")),
    choice("Order", Object.keys(ORDERS), (order) => sortRows(body, order), null),
  );
}

function drawTasks() {
  const body = h("tbody");
  const status = h("output", { class: "status" });
  const head = h("tr", {}, ["Domain", "Task", "Trials", "Passed"].map((name) => h("th", { scope: "col" }, name)));
  const bar = filterBar(body, status);
  drawRows(body);
  const single = index.tasks.every(({ domain }) => domain === index.tasks[0].domain);
  const table = h("table", { class: single ? "tasks single" : "tasks" }, h("thead", {}, head), body);
  const section = h("section", { "aria-labelledby": "tasks", class: "card" }, h("div", { class: "title-line" }, h("h2", { id: "tasks" }, "Tasks by trials"), status), bar, h("div", { class: "scroll" }, table));
  return { section, start: () => applyFilters(status) };
}
