// The only way anything gets into the page. Strings become text nodes and attribute values, never
// markup, whoever wrote them.

import { counted, indented, textNodes, visible } from "./text.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value != null && value !== false) element.setAttribute(name, visible(value));
  }
  add(element, children);
  return element;
}

export function add(element, children) {
  for (const child of children.flat(Infinity)) {
    if (child == null || child === false) continue;
    if (child instanceof Node) element.append(child);
    else element.append(...textNodes(String(child)));
  }
  return element;
}

/** An element: `h("p", { class: "note", click: handler }, "text", otherElement)`. */
export function h(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for drawings. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Something folded away, whose inside is made when it is first looked at. */
export function folded(summary, inside, open = false) {
  const details = h("details", { open }, h("summary", {}, summary));
  const unfold = () => {
    if (details.open && details.children.length === 1) add(details, [inside()]);
  };
  details.addEventListener("toggle", unfold);
  unfold();
  return details;
}

const LONG_TEXT = 6000;
// A browser takes seconds to lay out a million characters, so a very long text comes in portions.
const PORTION = 60000;
const LONG_LINES = 14;

/** A text of any length; what is very long is cut until somebody asks for more. */
export function prose(text, attributes = {}) {
  const block = h("div", { ...attributes, class: `prose ${attributes.class ?? ""}`, dir: "auto" });
  if (text.length <= LONG_TEXT) return add(block, [text]);
  const more = h("button", { type: "button", class: "more" });
  let shown = 0;
  const grow = (by) => {
    add(block, [text.slice(shown, shown + by)]);
    shown += by;
    more.textContent = `Show more: ${counted(text.length - shown, "character")} left`;
    more.hidden = shown >= text.length;
  };
  more.addEventListener("click", () => grow(PORTION));
  grow(LONG_TEXT);
  return h("div", {}, block, more);
}

/** JSON or program text: short pieces are open, long ones folded under their beginning. */
export function code(text, name = "") {
  const shown = indented(text);
  const lines = shown.split("\n").length;
  if (lines <= LONG_LINES && shown.length <= 1200) return prose(shown, { class: "code" });
  const beginning = text.slice(0, 90).replace(/\s+/g, " ");
  const size = lines > 1 ? counted(lines, "line") : counted(text.length, "character");
  const summary = [name, h("span", { class: "beginning" }, beginning, "…"), h("small", {}, size)];
  return folded(summary, () => prose(shown, { class: "code" }));
}

/** A table that may be wider than its place; the keyboard can scroll it. */
export function scrollable(name, table) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${name}, scrollable` }, table);
}

/** The head of a column; over names of rows it may be empty. */
export function columnHead(name) {
  return name ? h("th", { scope: "col" }, name) : h("td");
}

/** A table under its heads, each a name or a cell of its own; it may be wider than its place. */
export function dataTable(title, heads, rows, kind) {
  const head = heads.map((each) => (each instanceof HTMLTableCellElement ? each : columnHead(each)));
  return scrollable(title, h("table", { class: kind }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows)));
}

/** A row of such a table: its name, and the numbers under the heads that follow. */
export function dataRow(name, values, [, ...heads], kind) {
  return h("tr", { class: kind }, h("th", { scope: "row" }, name), values.map((value, at) => h("td", { class: "number", "data-name": heads[at] }, value)));
}

/** A button whose name is a sign, or a word. */
export function toolButton(label, title, click) {
  return h("button", { type: "button", title, "aria-label": label.length < 2 && title, click }, label);
}

/** Has keys do something, unless somebody is writing. */
export function onKeys(keys) {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const writing = event.target.closest?.("input, select, textarea");
    if (writing) return void (event.key === "Escape" && writing.blur());
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
}

/** Parts of one thing, of which one is shown: names, and what draws each. */
export function tabs(label, parts) {
  const shown = h("div", { role: "tabpanel", tabindex: "0" });
  const show = (at) => {
    buttons.forEach((button, place) => {
      button.setAttribute("aria-selected", String(place === at));
      button.tabIndex = place === at ? 0 : -1;
    });
    shown.setAttribute("aria-label", parts[at][0]);
    shown.replaceChildren();
    add(shown, [parts[at][1]()]);
  };
  const keydown = ({ key, target }) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    const next = step && (buttons.indexOf(target) + step + parts.length) % parts.length;
    if (next == null) return;
    show(next);
    buttons[next].focus();
  };
  const buttons = parts.map(([name], at) => h("button", { type: "button", role: "tab", click: () => show(at) }, name));
  show(0);
  return h("div", { class: "tabs" }, h("div", { role: "tablist", "aria-label": label, keydown }, buttons), shown);
}

/** Names and values, side by side. */
export function pairs(list, show = (value) => value) {
  return h("dl", { class: "pairs" }, list.map(([name, value]) => [h("dt", {}, name), h("dd", {}, show(value))]));
}

/** A long name, whose parts stay whole where a line has room for them. */
export function nameParts(name) {
  const parts = name.split(/(?<=[/_])/);
  return parts.length > 1 ? parts.map((part) => h("span", { class: "name-part" }, part)) : name;
}
