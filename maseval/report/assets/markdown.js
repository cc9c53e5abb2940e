// Markdown as models write it, drawn as elements: headings, lists, tables, code, emphasis. What is not
// Markdown stays as it was written; no address becomes a link, and no markup comes alive.

import { add, h, prose } from "./dom.js";

const LONGEST_RENDERED = 40000;
const DEEPEST = 6;
const SIGNS = /^ {0,3}(?:#{1,6} |[-*+•] |\d{1,9}[.)] |> |```|~~~|\|)|\*\*[^*\n]{1,1000}\*\*|`[^`\n]{1,1000}`/m;

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*(.*)$/;
const HEADING = /^ {0,3}(#{1,6}) +(.*)$/;
const RULE = /^ {0,3}(?:-{3,}|\*{3,}|_{3,})\s*$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( *)([-*+•]|\d{1,9}[.)]) +(.*)$/;
const DIVIDER = /^ {0,3}\|?[ :-]*-[ :|-]*$/;

// Underscores are left alone: names of tools and ids are full of them.
const INLINE = /\\([\\`*_[\]#|])|`([^`\n]{1,1000})`|\*\*([^*\n]{1,1000})\*\*|(?<![\w*])\*([^*\s][^*\n]{0,500})\*(?![\w*])|!?\[([^\]\n]{1,300})\]\(([^)\s]{1,1000})\)/g;

/** A line's text with what stands in it emphasised. */
function* inline(text) {
  let from = 0;
  for (const match of text.matchAll(INLINE)) {
    const [whole, escapedSign, verbatim, bold, italic, name, address] = match;
    yield text.slice(from, match.index);
    from = match.index + whole.length;
    if (escapedSign) yield escapedSign;
    else if (verbatim) yield h("code", {}, verbatim);
    else if (bold) yield h("strong", {}, ...inline(bold));
    else if (italic) yield h("em", {}, ...inline(italic));
    else yield [name, h("small", { class: "address" }, ` (${address})`)];
  }
  yield text.slice(from);
}

/** Whether a line ends a block of code; one with words on it does not. */
function closesFence(line, fence) {
  const end = line.trim();
  return end.startsWith(fence) && !end.replaceAll(fence[0], "");
}

/** A block of code, with the words beside its first fence: mostly a language, but any text may stand there. */
function drawCode(lines) {
  const [, fence, words] = FENCE.exec(lines[0]);
  const closed = lines.length > 1 && closesFence(lines.at(-1), fence);
  return [words && h("small", {}, words), prose(lines.slice(1, closed ? -1 : undefined).join("\n"), { class: "code" })];
}

function rowCells(line) {
  return line.trim().replace(/^\|/, "").replace(/\|$/, "").split("|").map((cell) => cell.trim());
}

function drawTable(lines) {
  const [head, , ...rows] = lines.map(rowCells);
  const line = (cells, name) => h("tr", {}, cells.map((cell) => h(name, {}, ...inline(cell))));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table" }, h("table", {}, h("thead", {}, line(head, "th")), h("tbody", {}, rows.map((cells) => line(cells, "td")))));
}

/** The items of a list; what is indented further belongs to the item above it. */
function listItems(lines, depthSoFar) {
  const first = ITEM.exec(lines[0]);
  const depth = first[1].length;
  const items = [];
  for (const line of lines) {
    const item = ITEM.exec(line);
    if (item && item[1].length <= depth) items.push({ words: item[3], under: [] });
    else items.at(-1).under.push(line.slice(Math.min(depth + 2, line.search(/\S|$/))));
  }
  const ordered = /\d/.test(first[2]);
  const start = ordered && parseInt(first[2], 10) > 1 ? parseInt(first[2], 10) : undefined;
  return h(ordered ? "ol" : "ul", { start }, items.map(({ words, under }) => h("li", {}, ...inline(words), under.some((line) => line.trim()) && drawBlocks(under, depthSoFar + 1))));
}

/** How many lines from `at` on belong together as one block, of which kind. */
function blockAt(lines, at) {
  const line = lines[at];
  const until = (holds) => {
    let end = at + 1;
    while (end < lines.length && holds(lines[end])) end += 1;
    return end;
  };
  const fence = FENCE.exec(line);
  if (fence) return { kind: "code", end: until((next) => !closesFence(next, fence[1])) + 1 };
  if (HEADING.test(line)) return { kind: "heading", end: at + 1 };
  if (RULE.test(line)) return { kind: "rule", end: at + 1 };
  if (QUOTE.test(line)) return { kind: "quote", end: until((next) => QUOTE.test(next)) };
  if (line.includes("|") && DIVIDER.test(lines[at + 1] ?? "") && lines[at + 1].includes("|")) return { kind: "table", end: until((next) => next.includes("|")) };
  const item = ITEM.exec(line);
  if (item) {
    const kind = /\d/.test(item[2]);
    const belongs = (next, place) => {
      const other = ITEM.exec(next);
      if (other) return other[1].length > item[1].length || /\d/.test(other[2]) === kind;
      if (next.trim()) return /^ {2}/.test(next);
      // An empty line is inside of a list that goes on after it.
      return place + 1 < lines.length && (ITEM.test(lines[place + 1]) || /^ {2}\S/.test(lines[place + 1]));
    };
    let end = at + 1;
    while (end < lines.length && belongs(lines[end], end)) end += 1;
    return { kind: "list", end };
  }
  return { kind: "paragraph", end: until((next) => next.trim() && !FENCE.test(next) && !HEADING.test(next) && !QUOTE.test(next) && !ITEM.test(next) && !RULE.test(next)) };
}

const DRAWN = {
  code: drawCode,
  heading: ([line]) => h("p", { class: "heading" }, ...inline(HEADING.exec(line)[2])),
  rule: () => h("div", { class: "rule", role: "presentation" }),
  quote: (lines, depth) => h("blockquote", {}, drawBlocks(lines.map((line) => line.replace(QUOTE, "")), depth + 1)),
  table: drawTable,
  list: listItems,
  paragraph: (lines) => h("p", { dir: "auto" }, ...inline(lines.join("\n").trim())),
};

function drawBlocks(lines, depth = 0) {
  if (depth > DEEPEST) return prose(lines.join("\n"));
  const found = [];
  for (let at = 0; at < lines.length; ) {
    if (!lines[at].trim()) at += 1;
    else {
      const { kind, end } = blockAt(lines, at);
      found.push(DRAWN[kind](lines.slice(at, end), depth));
      at = end;
    }
  }
  return found;
}

// What was said, by the element that shows it; the switch draws all of them anew.
const originals = new WeakMap();
let raw = false;

function redrawText(block) {
  const written = originals.get(block);
  const text = raw ? written : written.replace(/^(?:[ \t]*\r?\n)+|[ \t\r\n]+$/g, "");
  const rendered = !raw && text.length <= LONGEST_RENDERED && SIGNS.test(text);
  block.replaceChildren(rendered ? add(h("div", { class: "markdown", dir: "auto" }), [drawBlocks(text.split(/\r?\n/))]) : prose(text));
}

/** A text that may be Markdown: drawn as such, or as it was written while the switch says so. */
export function markdown(text) {
  const block = h("div", { class: "written" });
  originals.set(block, text);
  redrawText(block);
  return block;
}

/** The switch between Markdown and the text as it was written. */
export function rawSwitch() {
  const turn = ({ currentTarget: button }) => {
    raw = !raw;
    button.setAttribute("aria-pressed", String(raw));
    for (const block of document.querySelectorAll(".written")) redrawText(block);
  };
  return h("button", { type: "button", class: "raw", "aria-pressed": String(raw), "data-hint": "Show every text as it was written, character by character, instead of as Markdown.", click: turn }, "Raw text");
}
