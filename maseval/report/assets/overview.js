// The run, its results and its plots: the part of the page above the table of tasks.

const BAR = { width: 132, height: 16 };

/** A value within its interval, on a line from 0 to 1. */
function intervalBar({ value, low, high }) {
  const at = (share) => 2 + Math.min(1, Math.max(0, share)) * (BAR.width - 4);
  const middle = BAR.height / 2;
  const band =
    low != null && high != null &&
    svg("rect", { class: "band", x: at(low), y: middle - 4, width: Math.max(1, at(high) - at(low)), height: 8, rx: 2 });
  return svg(
    "svg",
    { class: "interval", viewBox: `0 0 ${BAR.width} ${BAR.height}`, width: BAR.width, height: BAR.height, "aria-hidden": "true" },
    svg("line", { class: "track", x1: at(0), x2: at(1), y1: middle, y2: middle }),
    band,
    svg("circle", { class: "point", cx: at(value), cy: middle, r: 3.5 }),
  );
}

function measure(found) {
  if (found == null) return "–";
  if (typeof found === "number") return percent(found);
  if (typeof found !== "object") return found;
  if (found.value == null) return "–";
  const interval = found.low != null && found.high != null;
  return [
    h("span", { class: "value" }, percent(found.value)),
    interval && h("span", { class: "range" }, `${(found.low * 100).toFixed(1)} – ${(found.high * 100).toFixed(1)}`),
    intervalBar(found),
  ];
}

function resultsTable({ counts, measures, rows }) {
  const head = ["", ...counts, ...measures].map((name) => h("th", { scope: "col" }, name));
  const body = rows.map((row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, row.name ?? ""),
      row.counts.map((number, at) => h("td", { class: "number", "data-name": counts[at] }, number == null ? "–" : count.format(number))),
      row.measures.map((found, at) => h("td", { class: "measure", "data-name": measures[at] }, measure(found))),
    ),
  );
  return h("div", { class: "scroll" }, h("table", { class: "results" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, body)));
}

function tally(select) {
  const found = new Map();
  for (const simulation of simulations) {
    for (const key of [select(simulation)].flat()) if (key != null) found.set(key, (found.get(key) ?? 0) + 1);
  }
  return new Map([...found].sort((a, b) => b[1] - a[1]));
}

function countsOf(title, filter, found, classOf = () => "") {
  const most = Math.max(...found.values(), 1);
  const rows = [...found].map(([name, number]) => {
    const bar = svg(
      "svg",
      { class: `bar ${classOf(name)}`, viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { width: Math.max(1, (100 * number) / most), height: 8, rx: 1 }),
    );
    const pick = h("button", { type: "button", class: "pick", title: "Show these only", click: () => choose(filter, name) }, OUTCOMES[name]?.word ?? name);
    return h("tr", { class: "choice", click: ({ target }) => target !== pick && choose(filter, name) }, h("th", { scope: "row" }, pick), h("td", {}, bar), h("td", { class: "number" }, count.format(number)));
  });
  return h("section", { class: "counts" }, h("h3", {}, title), h("table", {}, h("tbody", {}, rows)));
}

function distributions() {
  const labels = tally((simulation) => simulation.labels);
  return h(
    "div",
    { class: "distributions" },
    countsOf("Outcome", "outcome", tally((simulation) => simulation.outcome), (name) => name),
    countsOf("Termination", "ended", tally((simulation) => simulation.ended)),
    labels.size > 0 && countsOf("Labels", "label", labels),
  );
}

/** A drawing, element by element; its style is the page's. Marks of simulations and labels lead to them. */
function drawn([name, attributes, inside]) {
  const children = inside.map((part) => (typeof part === "string" ? document.createTextNode(visible(part)) : drawn(part)));
  return svg(name, { ...attributes, click: leadsTo(attributes) }, children);
}

function leadsTo({ "data-simulation": simulation, "data-label": label }) {
  if (simulation != null) return () => go(named.get(visible(simulation)));
  return label != null && (() => choose("label", label));
}

// Hashes and versions matter, but not to every reader.
const FIRST = /^(Date|Command( of .*)?|Domain|Split|Agent|Model of .*|Seed|tau2 rules|maseval)$/;

function runFacts() {
  const first = index.facts.filter(([name]) => FIRST.test(name));
  const rest = index.facts.filter(([name]) => !FIRST.test(name));
  return [pairs(first), rest.length > 0 && folded("Versions and settings", () => pairs(rest))];
}

function totals() {
  const cost = simulations.reduce((sum, { cost }) => sum + (cost ?? 0), 0);
  const tokens = simulations.reduce((sum, { tokens }) => sum + (tokens ?? 0), 0);
  const seconds = simulations.reduce((sum, simulation) => sum + (simulation.seconds ?? 0), 0);
  const parts = [counted(index.tasks.length, "task"), counted(simulations.length, "simulation")];
  if (tokens > 0) parts.push(counted(tokens, "token"));
  if (cost > 0) parts.push(money(cost));
  if (seconds > 0) parts.push(`${duration(seconds)} total`);
  return parts.join(" · ");
}

function drawOverview(themeButton) {
  return [
    h("header", { class: "top" }, h("div", {}, h("h1", {}, index.title), h("p", { class: "totals" }, totals())), themeButton),
    h("section", { "aria-label": "Run", class: "card about" }, runFacts()),
    h(
      "section",
      { "aria-labelledby": "results", class: "card about" },
      h("h2", { id: "results" }, "Results"),
      resultsTable(index.results),
      h("ul", { class: "notes" }, index.results.notes.map((note) => h("li", {}, note))),
      distributions(),
    ),
    index.plots.length > 0 && h("section", { "aria-labelledby": "plots", class: "card about" }, h("h2", { id: "plots" }, "Plots"), h("div", { class: "plots" }, index.plots.map(drawn))),
  ];
}
