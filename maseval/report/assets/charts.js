// Drawings: values within their intervals, counts as bars, and the plots that come with the data. Bars
// filter by what they count.

import { labelling, OUTCOMES, simulations, tally } from "./data.js";
import { h, svg } from "./dom.js";
import { reasonClass } from "./strip.js";
import { count, counted, visible } from "./text.js";
import { choose } from "./view.js";

const BAR = { width: 132, height: 16 };

/** A value within its interval, on a line from 0 to 1. */
export function intervalBar({ value, low, high }) {
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

function countsOf(title, filter, found, classOf = () => "", note = "", under = () => null) {
  const most = Math.max(...found.values(), 1);
  const rows = [...found].map(([name, number]) => {
    const bar = svg(
      "svg",
      { class: `bar ${classOf(name)}`, viewBox: "0 0 100 8", preserveAspectRatio: "none", "aria-hidden": "true" },
      svg("rect", { width: Math.max(1, (100 * number) / most), height: 8, rx: 1 }),
    );
    const pick = h("button", { type: "button", class: "pick", title: "Show these only", click: () => choose(filter, name) }, OUTCOMES[name]?.word ?? name);
    const line = h("tr", { class: "choice", click: ({ target }) => target.closest("button") || choose(filter, name) }, h("th", { scope: "row" }, pick), h("td", {}, bar), h("td", { class: "number" }, count.format(number)));
    return [line, under(name)];
  });
  return h("section", { class: "card counts" }, h("h2", {}, title, note && h("small", {}, ` ${note}`)), h("table", {}, h("tbody", {}, rows)));
}

// What is said of a simulation beside why it failed, each on a scale of its own.
const ASIDES = [
  ["Policy", /^agent: (broke the policy|policy |matter of form$)/],
  ["Soundness of tasks", /^task: (sound verdict: |left out$)/],
  ["Record", /^record: /],
  ["Calls at fault", /^(missing call|wrong arguments|wrong call): /],
];
const isAside = (label) => ASIDES.some(([, pattern]) => pattern.test(label));

/** The label that says why a simulation failed; nothing for one that passed or was not judged. */
export function reasonOf({ outcome, labels }) {
  return outcome === "fail" || outcome === "error" ? labels.find((label) => !isAside(label)) : undefined;
}

/** Why simulations failed, the most frequent reason first. */
export function reasons() {
  return tally(reasonOf);
}

const MOST_CLUSTERS = 3;

/** The calls that failures of a reason have in common, each with the tasks in which it is at fault. */
function clustersOf(reason) {
  const [, pattern] = ASIDES.at(-1);
  const tasks = new Map();
  for (const simulation of simulations) {
    if (reasonOf(simulation) !== reason) continue;
    for (const label of simulation.labels) if (pattern.test(label)) tasks.set(label, (tasks.get(label) ?? new Set()).add(simulation.task));
  }
  const found = [...tasks].map(([label, { size }]) => [label, size]).filter(([, size]) => size > 1);
  return found.sort((a, b) => b[1] - a[1]).slice(0, MOST_CLUSTERS);
}

function clusterLine([label, tasks]) {
  return h("li", {}, `${counted(tasks, "task")}: `, h("button", { type: "button", class: "pick", title: "Show these only", click: () => choose("label", label) }, label));
}

/** Why it failed: each reason in its colour of the strip, and the calls that its failures share. */
export function whyItFailed() {
  const found = reasons();
  const places = [...found.keys()];
  const under = (reason) => {
    const clusters = clustersOf(reason);
    return clusters.length > 0 && h("tr", {}, h("td", { colspan: "3" }, h("ul", { class: "clusters" }, clusters.map(clusterLine))));
  };
  return (found.size > 0 || labelling()) && countsOf("Why it failed", "label", found, (name) => reasonClass(places.indexOf(name)), labelling(), under);
}

/** What else can be counted, each in a small card. */
export function distributions() {
  const others = (wanted) => tally((simulation) => simulation.labels.filter((label) => label !== reasonOf(simulation) && wanted(label)));
  // The calls at fault stand below the reasons.
  const labelled = [...ASIDES.slice(0, -1).map(([title, pattern]) => [title, others((label) => pattern.test(label))]), ["Other labels", others((label) => !isAside(label))]];
  return [
    countsOf("Outcome", "outcome", tally((simulation) => simulation.outcome), (name) => name),
    countsOf("Termination", "ended", tally((simulation) => simulation.ended)),
    labelled.map(([title, found]) => found.size > 0 && countsOf(title, "label", found)),
  ];
}

/** A drawing, element by element; its style is the page's. */
function drawn([name, attributes, inside]) {
  const children = inside.map((part) => (typeof part === "string" ? document.createTextNode(visible(part)) : drawn(part)));
  return svg(name, attributes, children);
}

/** A plot. Its words stand below it where a phone has no room for them in it: the style chooses. */
export function plotFigure(plot) {
  const drawing = drawn(plot);
  const lines = [...drawing.querySelectorAll('text[font-size="11"]')].slice(0, 1).concat(...drawing.querySelectorAll("g > title"));
  return h("figure", { class: "plot" }, drawing, h("ul", { class: "plot-words", "aria-hidden": "true" }, lines.map(({ textContent }) => h("li", {}, textContent))));
}
