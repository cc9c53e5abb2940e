// Puts the parts together: what is open follows the address, keys and clicks change the address.

const overview = document.getElementById("overview");
const panel = document.getElementById("panel");
let opened;

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

function go(simulation) {
  if (simulation) location.hash = linkTo(simulation);
}

function close() {
  const cell = cells.get(opened);
  history.replaceState(null, "", location.pathname + location.search);
  follow();
  cell?.focus();
}

function panelBar() {
  const button = (label, title, click) => h("button", { type: "button", title, "aria-label": title, click }, label);
  return h(
    "nav",
    { class: "panel-bar", "aria-label": "Simulations" },
    button("↑", "Previous simulation (k)", () => go(neighbour(-1))),
    button("↓", "Next simulation (j)", () => go(neighbour(1))),
    h("span", { class: "spread" }),
    button("✕", "Close (Esc)", close),
  );
}

async function sectionsOf(simulation) {
  if (!("DecompressionStream" in window)) return "This browser is too old to unpack the conversation.";
  try {
    return drawSections(await detailOf(simulation));
  } catch (error) {
    return h("p", { class: "error" }, `This part of the file is damaged: ${error}`);
  }
}

async function show(simulation) {
  const inside = h("div", { class: "inside" }, banner(simulation));
  panel.replaceChildren(panelBar(), inside);
  panel.hidden = false;
  panel.scrollTop = 0;
  const sections = await sectionsOf(simulation);
  if (opened !== simulation) return; // another one was opened while this was unpacked
  add(inside, [sections]);
  panel.dataset.ready = "true";
  inside.querySelector("h2").focus({ preventScroll: true });
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
  opened = linked();
  delete panel.dataset.ready;
  document.body.classList.toggle("reading", Boolean(opened));
  if (opened) show(opened);
  else {
    panel.hidden = true;
    panel.replaceChildren();
  }
  mark(opened);
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
tasks.start();
addEventListener("hashchange", follow);
addEventListener("keydown", pressed);
// On paper nothing can be unfolded.
addEventListener("beforeprint", () => panel.querySelectorAll("details").forEach((each) => (each.open = true)));
follow();
document.documentElement.dataset.ready = "true";
