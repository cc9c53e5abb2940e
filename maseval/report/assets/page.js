// Puts the parts together: what is open follows the address, keys and clicks change the address.

const overview = document.getElementById("overview");
const panel = document.getElementById("panel");
let opened;
let besides;

function neighbour(step) {
  const list = shown();
  if (!opened) return list[step > 0 ? 0 : list.length - 1];
  const here = list.indexOf(opened);
  if (here >= 0) return list[here + step];
  // What is open was filtered out: go on from where it stands in the whole list.
  const all = simulations.indexOf(opened);
  const rest = list.filter((each) => (simulations.indexOf(each) - all) * step > 0);
  return rest.at(step > 0 ? 0 : -1);
}

function go(simulation, beside) {
  if (simulation) location.hash = addressOf(simulation, beside);
}

function close() {
  const cell = cells.get(opened);
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
  if (besides) return button("⇤ one trial", "Show one trial only", () => go(opened));
  const other = counterpart(opened);
  return other && button(`⇥ beside trial ${other.trial} (${OUTCOMES[other.outcome].word})`, "Show both side by side", () => go(opened, other));
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
  if (!("DecompressionStream" in window)) return "This browser is too old to unpack the conversation.";
  try {
    const detail = await detailOf(simulation);
    return [wishLine(detail), drawSections(detail)];
  } catch (error) {
    return h("p", { class: "error" }, `This part of the file is damaged: ${error}`);
  }
}

/** One simulation, or two side by side. */
async function show(...list) {
  const columns = list.map((simulation) => h("div", { class: "inside" }, banner(simulation)));
  panel.replaceChildren(panelBar(), list.length > 1 ? h("div", { class: "columns" }, columns) : columns[0]);
  panel.hidden = false;
  panel.scrollTop = 0;
  const sections = await Promise.all(list.map(sectionsOf));
  if (opened !== list[0] || besides !== list[1]) return; // another was opened while this was unpacked
  columns.forEach((column, position) => add(column, [sections[position]]));
  // An id stands once in a page: the first column keeps its own.
  for (const each of columns[1]?.querySelectorAll("[id]") ?? []) each.id = `beside-${each.id}`;
  panel.dataset.ready = "true";
  columns[0].querySelector("h2").focus({ preventScroll: true });
}

function mark(simulation) {
  document.querySelector(".cell[aria-current]")?.removeAttribute("aria-current");
  const cell = cells.get(simulation);
  if (!cell) return;
  cell.setAttribute("aria-current", "true");
  makeReachable(cell);
  cell.scrollIntoView({ block: "nearest" });
}

function follow() {
  const { name, query } = address();
  opened = named.get(name);
  besides = opened && named.get(query.get("beside"));
  delete panel.dataset.ready;
  document.body.classList.toggle("reading", Boolean(opened));
  panel.classList.toggle("two", Boolean(besides));
  if (opened) show(...[opened, besides].filter(Boolean));
  else {
    panel.hidden = true;
    panel.replaceChildren();
  }
  mark(opened);
}

/** An address that somebody typed or went back to brings its filters; a link to a cell has none. */
function addressChanged() {
  if (address().query.size && readFilters()) applyNow();
  follow();
  writeAddress(opened, besides);
}

function moveInTable(key, cell) {
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

const KEYS = {
  j: () => go(neighbour(1)),
  k: () => go(neighbour(-1)),
  "/": () => document.getElementById("search").focus(),
  Escape: () => opened && close(),
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
  return h("footer", {}, key("j"), " ", key("k"), " next and previous · ", key("/"), " search · ", key("Esc"), " close · arrow keys move in the table");
}

const tasks = drawTasks();
add(overview, [drawOverview(themeButton()), tasks.section, keyHelp()]);
readFilters();
addEventListener("hashchange", addressChanged);
addEventListener("keydown", pressed);
// On paper nothing can be unfolded.
addEventListener("beforeprint", () => panel.querySelectorAll("details").forEach((each) => (each.open = true)));
follow();
await tasks.start();
document.documentElement.dataset.ready = "true";
