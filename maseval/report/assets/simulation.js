// One simulation, drawn when it is opened.

import { conversationSection } from "./conversation.js";
import { OUTCOMES, taskOf } from "./data.js";
import { code, folded, h, pairs, prose, scrollable } from "./dom.js";
import { count, duration, isJSON, money } from "./text.js";
import { errorSection, explanationSection, stateSection, verdict } from "./verdict.js";
import { choose } from "./view.js";

/** What is wrong with the task itself: its errata, and the findings of an audit. */
export function badges({ findings = [] }) {
  return findings.map(({ name, text }) => h("span", { class: "tag finding", title: text }, name));
}

function taskSection({ task }) {
  return task && task.map(([name, words]) => folded(name, () => (isJSON(words) ? code(words) : prose(words))));
}

const HEADS = ["", "input tokens", "cached input tokens", "output tokens", "cost"];

function usageSection({ usage }) {
  if (!usage) return null;
  const number = (value, name) => h("td", { class: "number", "data-name": name }, value == null ? "–" : count.format(value));
  const lines = usage.map(({ name, input, cached, output, cost }) =>
    h("tr", {}, h("th", { scope: "row" }, name), number(input, HEADS[1]), number(cached, HEADS[2]), number(output, HEADS[3]), h("td", { class: "number", "data-name": HEADS[4] }, money(cost))),
  );
  const head = HEADS.map((name) => h("th", { scope: "col" }, name));
  return scrollable("Usage", h("table", { class: "used" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, lines)));
}

// Each makes one section from the details, or nothing. To show something more, add it here and
// its part to the details.
const SECTIONS = [
  ["Error", errorSection],
  ["Verdict", ({ verdicts }) => verdicts?.map(verdict)],
  ["Explanation", explanationSection],
  ["State", stateSection],
  ["Task", taskSection],
  ["Conversation", conversationSection],
  ["Usage", usageSection],
  ["Record", ({ record }) => record && pairs(record)],
];

/** `link` gives the address of a message by its number. */
export function drawSections(detail, link) {
  return SECTIONS.map(([title, draw]) => {
    const inside = draw(detail, link);
    return inside && h("section", { class: `part ${title.toLowerCase()}` }, h("h3", {}, title), inside);
  });
}

/** What the customer wants, in the words of the task. */
export function wishLine({ wish }) {
  return wish && h("div", { class: "wish" }, h("h3", {}, "Customer's request"), prose(wish));
}

export function banner(simulation) {
  const { domain, id } = taskOf(simulation);
  const { mark, word } = OUTCOMES[simulation.outcome];
  const facts = [simulation.ended, simulation.seconds != null && duration(simulation.seconds), simulation.cost && money(simulation.cost)];
  return [
    h("h2", { tabindex: "-1" }, domain && h("span", { class: "domain" }, domain), h("span", { class: "id" }, id), h("span", { class: "trial" }, `trial ${simulation.trial}`)),
    h(
      "p",
      { class: "outcome" },
      h("span", { class: `chip ${simulation.outcome}` }, h("b", {}, mark), ` ${word}`),
      facts.filter(Boolean).join(" · "),
      simulation.labels.map((label) => h("button", { type: "button", class: "tag", title: "Show these only", click: () => choose("label", label) }, label)),
      badges(taskOf(simulation)),
    ),
  ];
}
