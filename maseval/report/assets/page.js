// Puts the parts together: what is open follows the address, keys and clicks change the address.

import { showMessage } from "./conversation.js";
import { detailOf, index, linkTo, load, nameOf, OUTCOMES, simulations } from "./data.js";
import { add, h, onKeys, toolButton } from "./dom.js";
import { drawOverview } from "./overview.js";
import { watchEventKeys } from "./outline.js";
import { preparePrinting } from "./print.js";
import { banner, drawSimulation } from "./simulation.js";
import { cellOf, drawTasks, everything, makeReachable, moveInTable, shown } from "./table.js";
import { watchHints } from "./terms.js";
import { themeButton } from "./theme.js";
import { visible } from "./text.js";
import { absentName, filtersChanged, go, hasQuery, readFilters, reading, readReading, writeAddress } from "./view.js";

const overview = document.getElementById("overview");
const panel = document.getElementById("panel");
const absentNotice = h("p", { class: "absent-notice", role: "alert" });

function neighbour(step) {
  const list = shown();
  const { one } = reading;
  if (!one) return list[step > 0 ? 0 : list.length - 1];
  const here = list.indexOf(one);
  if (here >= 0) return list[here + step];
  // What is open was filtered out: go on from where it stands in the whole list.
  const left = new Set(list);
  const all = everything();
  const rest = step > 0 ? all.slice(all.indexOf(one) + 1) : all.slice(0, all.indexOf(one)).reverse();
  return rest.find((each) => left.has(each));
}

/** The next simulation that the filters leave and that did not pass. */
function nextFailure() {
  const failed = new Set(shown().filter((each) => each.outcome !== "pass" && each !== reading.one));
  const all = everything();
  return all.slice(all.indexOf(reading.one) + 1).find((each) => failed.has(each)) ?? [...failed][0];
}

function close() {
  const cell = cellOf(reading.one);
  reading.one = reading.other = reading.message = undefined;
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

function besideButton() {
  const { one, other } = reading;
  if (other) return toolButton("⇤ one trial", "Show one trial only", () => go(one));
  const found = counterpart(one);
  return found && toolButton(`⇥ beside trial ${found.trial} (${OUTCOMES[found.outcome].word})`, "Show both side by side", () => go(one, found));
}

/** Saves all that is known of the open simulation. */
async function saveSimulation() {
  const name = nameOf(reading.one);
  const text = JSON.stringify({ run: index.title, simulation: name, ...(await detailOf(reading.one)) }, null, 1);
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  h("a", { href: address, download: `${name.replace(/[^\w.-]+/g, "-")}.json` }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

function panelBar() {
  return h(
    "nav",
    { class: "panel-bar", "aria-label": "Simulations" },
    toolButton("↑", "Previous simulation (k)", () => go(neighbour(-1))),
    toolButton("↓", "Next simulation (j)", () => go(neighbour(1))),
    besideButton(),
    !reading.other && [
      toolButton("Save", "Save this simulation as a JSON file", saveSimulation),
      toolButton("Print", "Print this simulation", () => print()),
    ],
    h("span", { class: "spread" }),
    toolButton("✕", "Close (Esc)", close),
  );
}

async function sectionsOf(simulation) {
  try {
    const detail = await detailOf(simulation);
    return drawSimulation(simulation, detail, (message) => linkTo(simulation, message));
  } catch (error) {
    return h("p", { class: "error" }, `This simulation could not be shown: ${error.message}`);
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
  columns.forEach((column, position) => {
    add(column, [sections[position]]);
  });
  // A landmark has a name of its own.
  for (const each of columns[1]?.querySelectorAll("nav, [role=region]") ?? []) each.setAttribute("aria-label", `Beside: ${each.getAttribute("aria-label")}`);
  columns[0].querySelector("h2").focus({ preventScroll: true });
  if (reading.message != null) showMessage(columns[0], reading.message);
  // A failure opens at its fault.
  else if (list.length === 1) columns[0].querySelector(".lost-here")?.scrollIntoView({ block: "start", behavior: "instant" });
  panel.dataset.ready = list.map(nameOf).join(" ");
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
  const before = panel.dataset.ready && { ...reading };
  readReading();
  const { one, other, message } = reading;
  absentNotice.textContent = absentName() && `There is no simulation ${visible(absentName())} in this run; the table below has those that are there.`;
  if (one && before && before.one === one && before.other === other) {
    // Only the message is another.
    if (message != null) showMessage(panel.querySelector(".inside"), message);
    return;
  }
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

/** The arrow keys go from cell to cell. */
function arrowPressed(event) {
  const cell = event.key.startsWith("Arrow") && event.target.closest?.(".tasks :is(.cell, .absent)");
  if (!cell || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  const next = moveInTable(event.key, cell);
  if (next) makeReachable(next);
  next?.focus();
}

function keyHelp() {
  const key = (name) => h("kbd", {}, name);
  const parts = [key("j"), " ", key("k"), " next and previous · ", key("n"), " next failure · ", key("["), " ", key("]"), " previous and next event · ", key("/"), " search · ", key("Esc"), " close · arrow keys move in the table"];
  return h("footer", {}, parts);
}

/**
 * Shows the run of a source. `above` stands on top of the page, `below` under its title. `update`
 * shows what has come in since, of some tasks or of all.
 */
export async function start(source, { above, below } = {}) {
  watchHints();
  await load(source);
  const tasks = drawTasks();
  const top = drawOverview(themeButton(), below);
  add(overview, [above, absentNotice, top.parts, tasks.section, keyHelp()]);
  readFilters();
  addEventListener("hashchange", addressChanged);
  addEventListener("keydown", arrowPressed);
  onKeys({ j: () => go(neighbour(1)), k: () => go(neighbour(-1)), n: () => go(nextFailure()), "/": () => document.getElementById("search").focus(), Escape: () => reading.one && close() });
  preparePrinting(tasks.whole);
  watchEventKeys();
  follow();
  await tasks.start();
  mark(reading.one);
  // In milliseconds since somebody asked for the page.
  document.documentElement.dataset.ready = Math.round(performance.now());
  const update = (changed) => {
    tasks.update(changed);
    top.update();
  };
  return { update };
}
