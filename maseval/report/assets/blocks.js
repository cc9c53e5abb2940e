// A long table in blocks of rows. A block is drawn when it comes near the window and given up when it
// is far away, so that a table of 20,000 rows opens and scrolls as one of 200 does.

import { h } from "./dom.js";

const MOST_ROWS = 300;
const MOST_CELLS = 1500;
const NEAR = "1200px";
const USUAL_HEIGHT = 34;

/** Splits lines so that no block has too many rows or cells; `weigh` says how many cells a line has. */
function* split(lines, weigh) {
  let block = [];
  let cells = 0;
  for (const line of lines) {
    block.push(line);
    cells += weigh(line);
    if (block.length < MOST_ROWS && cells < MOST_CELLS) continue;
    yield block;
    [block, cells] = [[], 0];
  }
  if (block.length) yield block;
}

/** The table's bodies; `rowOf` makes the row of a line, or gives the one it has. */
export function inBlocks(table, rowOf, weigh = () => 1) {
  let blocks = [];
  const homes = new Map();
  const observer = new IntersectionObserver(moved, { rootMargin: NEAR });

  function moved(entries) {
    for (const { target, isIntersecting, boundingClientRect } of entries) {
      const block = homes.get(target);
      if (!block) continue;
      if (isIntersecting && !block.drawn) fill(block);
      else if (!isIntersecting && blocks.length > 1 && block.drawn && !target.contains(document.activeElement)) empty(block, boundingClientRect.height);
    }
  }

  function fill(block) {
    const rows = block.lines.map(rowOf);
    const same = rows.length === block.body.children.length && rows.every((row, place) => row === block.body.children[place]);
    if (!same) block.body.replaceChildren(...rows);
    block.drawn = true;
  }

  function empty(block, height) {
    block.drawn = false;
    const space = h("tr", { class: "space", "aria-hidden": "true" }, h("td", { colspan: "20" }));
    space.style.height = `${height}px`;
    block.body.replaceChildren(space);
  }

  function place(lines, old) {
    const block = { lines, body: old?.body ?? h("tbody"), drawn: false };
    homes.set(block.body, block);
    if (!old) table.append(block.body);
    // The first is drawn at once, and what the reader looks at stays drawn.
    if (old?.drawn || homes.size === 1) fill(block);
    else if (old?.lines.length !== lines.length) empty(block, lines.length * USUAL_HEIGHT);
    observer.observe(block.body);
    return block;
  }

  /** Shows these lines, in this order. */
  function show(lines) {
    const before = blocks;
    blocks = [...split(lines, weigh)].map((some, at) => place(some, before[at]));
    for (const { body } of before.slice(blocks.length)) {
      observer.unobserve(body);
      homes.delete(body);
      body.remove();
    }
  }

  /** Draws the block of a line, wherever it is. */
  function reveal(line) {
    const block = blocks.find(({ lines }) => lines.includes(line));
    if (block && !block.drawn) fill(block);
  }

  /** Draws everything: paper has no window. */
  function whole() {
    blocks.forEach(fill);
  }

  return { show, reveal, whole };
}
