// Puts the parts together: what is open follows the address, keys and clicks change the address.

import { detailOf, load, OUTCOMES, simulations } from "./data.js";
import { add, h } from "./dom.js";
import { drawOverview } from "./overview.js";
import { banner, drawSections, wishLine } from "./simulation.js";
import { cellOf, drawTasks, makeReachable, moveInTable, shown } from "./table.js";
import { filtersChanged, go, hasQuery, readFilters, reading, readReading, writeAddress } from "./view.js";

const overview = document.getElementById("overview");
const panel = document.getElementById("panel");

function neighbour(step) {
  const list = shown();
  const { one } = reading;
  if (!one) return list[step > 0 ? 0 : list.length - 1];
  const here = list.indexOf(one);
  if (here >= 0) return list[here + step];
  // What is open was filtered out: go on from where it stands in the whole list.
  const all = simulations.indexOf(one);
  const rest = list.filter((each) => (simulations.indexOf(each) - all) * step > 0);
  return rest.at(step > 0 ? 0 : -1);
}

/** The next simulation that the filters leave and that did not pass. */
function nextFailure() {
  const list = shown();
  const here = reading.one ? simulations.indexOf(reading.one) : -1;
  const failed = list.filter((each) => each.outcome !== "pass" && each !== reading.one);
  return failed.find((each) => simulations.indexOf(each) > here) ?? failed[0];
}

function close() {
  const cell = cellOf(reading.one);
  reading.one = reading.other = undefined;
  writeAddress();
  follow();
  cell?.focus();
}

/** The first trial of the same task that ended the other way: failed for passed and vice versa. */
function counterpart(simulation) {
  const passed = simulation.outcome === "pass";
  const others = simulations.filter((each) => each.task === simulation.task && (each.outcome === "pass") !== passed);
  return others.find(({ run }) => run !== simulation.run) ?? others[0];
}

function besideButton(button) {
  const { one, other } = reading;
  if (other) return button("⇤ one trial", "Show one trial only", () => go(one));
  const found = counterpart(one);
  return found && button(`⇥ beside trial ${found.trial} (${OUTCOMES[found.outcome].word})`, "Show both side by side", () => go(one, found));
}

function panelBar() {
  const button = (label, title, click) => h("button", { type: "button", title, "aria-label": title, click }, label);
  return h(
    "nav",
    { class: "panel-bar", "aria-label": "Simulations" },
    button("↑", "Previous simulation (k)", () => go(neighbour(-1))),
    button("↓", "Next simulation (j)", () => go(neighbour(1))),
    besideButton(button),
    h("span", { class: "spread" }),
    button("✕", "Close (Esc)", close),
  );
}

async function sectionsOf(simulation) {
  try {
    const detail = await detailOf(simulation);
    return [wishLine(detail), drawSections(detail)];
  } catch (error) {
    return h("p", { class: "error" }, error.message);
  }
}

/** One simulation, or two side by side. */
async function show(...list) {
  const columns = list.map((simulation) => h("div", { class: "inside" }, banner(simulation)));
  panel.replaceChildren(panelBar(), list.length > 1 ? h("div", { class: "columns" }, columns) : columns[0]);
  panel.hidden = false;
  panel.scrollTop = 0;
  const sections = await Promise.all(list.map(sectionsOf));
  if (reading.one !== list[0] || reading.other !== list[1]) return; // another was opened meanwhile
  columns.forEach((column, position) => add(column, [sections[position]]));
  // An id stands once in a page: the first column keeps its own.
  for (const each of columns[1]?.querySelectorAll("[id]") ?? []) each.id = `beside-${each.id}`;
  panel.dataset.ready = "true";
  columns[0].querySelector("h2").focus({ preventScroll: true });
}

function mark(simulation) {
  document.querySelector(".cell[aria-current]")?.removeAttribute("aria-current");
  const cell = cellOf(simulation);
  if (!cell) return;
  cell.setAttribute("aria-current", "true");
  makeReachable(cell);
  cell.scrollIntoView({ block: "nearest" });
}

function follow() {
  readReading();
  const { one, other } = reading;
  delete panel.dataset.ready;
  document.body.classList.toggle("reading", Boolean(one));
  panel.classList.toggle("two", Boolean(other));
  if (one) show(...[one, other].filter(Boolean));
  else {
    panel.hidden = true;
    panel.replaceChildren();
  }
  mark(one);
}

/** An address that somebody typed or went back to brings its filters; a link to a cell has none. */
function addressChanged() {
  if (hasQuery() && readFilters()) filtersChanged();
  follow();
  writeAddress();
}

const KEYS = {
  j: () => go(neighbour(1)),
  k: () => go(neighbour(-1)),
  n: () => go(nextFailure()),
  "/": () => document.getElementById("search").focus(),
  Escape: () => reading.one && close(),
};

function pressed(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest?.("input, select, textarea");
  if (typing && event.key === "Escape") return typing.blur();
  if (typing) return;
  const cell = event.target.closest?.(".cell");
  if (cell && event.key.startsWith("Arrow")) {
    event.preventDefault();
    const next = moveInTable(event.key, cell);
    if (next) makeReachable(next);
    return next?.focus();
  }
  if (!Object.hasOwn(KEYS, event.key)) return;
  event.preventDefault();
  KEYS[event.key]();
}

const THEMES = ["auto", "light", "dark"];

function themeButton() {
  let at = 0;
  const button = h("button", { type: "button", class: "theme", title: "Light or dark" }, "Theme: auto");
  button.addEventListener("click", () => {
    at = (at + 1) % THEMES.length;
    document.documentElement.dataset.theme = THEMES[at];
    button.textContent = `Theme: ${THEMES[at]}`;
  });
  return button;
}

function keyHelp() {
  const key = (name) => h("kbd", {}, name);
  const parts = [key("j"), " ", key("k"), " next and previous · ", key("n"), " next failure · ", key("/"), " search · ", key("Esc"), " close · arrow keys move in the table"];
  return h("footer", {}, parts);
}

/** Shows the run of a source. */
export async function start(source) {
  await load(source);
  const tasks = drawTasks();
  add(overview, [drawOverview(themeButton()), tasks.section, keyHelp()]);
  readFilters();
  addEventListener("hashchange", addressChanged);
  addEventListener("keydown", pressed);
  // On paper nothing can be unfolded.
  addEventListener("beforeprint", () => panel.querySelectorAll("details").forEach((each) => (each.open = true)));
  follow();
  await tasks.start();
  // In milliseconds since somebody asked for the page.
  document.documentElement.dataset.ready = Math.round(performance.now());
}
