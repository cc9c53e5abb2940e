// One simulation, drawn when it is opened: the verdict in a line, the conversation, and below it all
// that the verdict rests on.

import { conversationSection } from "./conversation.js";
import { belowSimulation, index, taskOf } from "./data.js";
import { code, dataRow, dataTable, folded, h, pairs, prose } from "./dom.js";
import { markdown } from "./markdown.js";
import { meaningOf, term } from "./terms.js";
import { count, duration, isJSON, money } from "./text.js";
import { timelineSection } from "./timeline.js";
import { decision, errorSection, explanationSection, noReturn, verdict, verdictLine } from "./verdict.js";
import { choose } from "./view.js";

/** What is wrong with the task itself: its errata. */
export function badges({ findings = [] }) {
  return findings.map(({ name, text }) => term(name, text, { class: "tag finding" }));
}

/** The same as one mark with their number, which unfolds. */
export function foldedBadges(task) {
  const { findings = [] } = task;
  const names = findings.map(({ name }) => name).join("; ");
  return findings.length > 0 && h("div", { class: "findings", "data-hint": names }, folded(`⚠ ${findings.length}`, () => badges(task)));
}

function taskSection({ task }) {
  return task && task.map(([name, words]) => folded(name, () => (isJSON(words) ? code(words) : markdown(words))));
}

/** The policy with the recorded fingerprint, or the usual one, with why it may not be the agent's. */
function policySection({ policies, policy }) {
  if (!policies?.length) return null;
  const given = policies.find(({ sha256 }) => sha256 === policy);
  const { text } = given ?? policies[0];
  const why = policy ? ["⚠ ", h("b", {}, "Not the text that the agent was given: "), `the fingerprint of that one is ${policy.slice(0, 12)}….`] : "The record does not say which policy the agent was given.";
  return [!given && h("p", { class: policy ? "doubt" : "note", role: "note" }, why), folded(given ? "The policy that the agent was given" : "The policy of the domain, as its release has it", () => markdown(text))];
}

const HEADS = ["", "input tokens", "cached input tokens", "output tokens", "cost"];

const numberOf = (value) => (value == null ? "–" : count.format(value));

function usageSection({ usage }) {
  const lines = usage?.map(({ name, input, cached, output, cost }) => dataRow(name, [...[input, cached, output].map(numberOf), money(cost)], HEADS));
  return usage && dataTable("Usage", HEADS, lines, "used");
}

const WORK = { requests: "model requests", calls: "tool calls", handovers: "took over", input_tokens: "input tokens", output_tokens: "output tokens", seconds: "seconds" };

/** The part of each agent of a team, and whose message decided the verdict. */
function teamSection({ team, messages }, link, { lost } = {}) {
  if (!team) return null;
  const decider = lost && messages?.findLast(({ index }) => index <= lost.message)?.speaker;
  const heads = ["agent", ...Object.values(WORK)];
  const name = ({ agent }) => [agent, agent === decider && [" ", h("span", { class: "tag bad" }, "decided")]];
  const lines = team.map((each) => dataRow(name(each), Object.keys(WORK).map((key) => numberOf(each[key])), heads));
  return dataTable("Team", heads, lines, "used");
}

// Each makes one section from the details, or nothing. To show something more, add it here and
// its part to the details.
const SECTIONS = [
  ["Conversation", conversationSection],
  ["Error", errorSection],
  ["Verdict", ({ verdicts }) => verdicts?.map(verdict)],
  ["Explanation", explanationSection],
  ["Time travel", timelineSection],
  ["Policy", policySection],
  ["Task", taskSection],
  ["Team", teamSection],
  ["Usage", usageSection],
  ["Record", ({ record }) => record && pairs(record)],
];

/** `link` gives the address of a message by its number; `more` is what sections need to know beside. */
export function drawSections(detail, link, more) {
  return SECTIONS.map(([title, draw]) => {
    const inside = draw(detail, link, more);
    return inside && h("section", { class: `part ${title.toLowerCase().replace(" ", "-")}` }, h("h3", {}, term(title)), inside);
  });
}

/** That the task does not fit the conversation, or that the recorded verdict does not hold. */
function doubtLine({ doubt }) {
  return doubt && h("p", { class: "doubt", role: "note" }, h("b", {}, "⚠ Doubtful: "), doubt);
}

/** Ways to the sections below a conversation, which may be long. */
function contents(sections) {
  const to = (section) => section.scrollIntoView({ block: "start" });
  const links = sections.filter(Boolean).slice(1).map((section) => h("button", { type: "button", class: "jump", click: () => to(section) }, section.querySelector("h3").textContent));
  return links.length > 0 && h("nav", { class: "contents", "aria-label": "Sections" }, links);
}

/** All that is known of a simulation. */
export function drawSimulation(simulation, detail, link) {
  const { domain } = taskOf(simulation);
  const known = { ...detail, policies: Object.hasOwn(index.policies ?? {}, domain) && index.policies[domain] };
  const travel = { to: undefined };
  const more = { lost: decision(simulation, detail), gone: simulation.outcome === "fail" && noReturn(detail), simulation, travel: (message) => travel.to?.(message), onTravel: (to) => (travel.to = to) };
  const sections = drawSections(known, link, more);
  return [doubtLine(detail), verdictLine(simulation, detail), tagLine(simulation), contents(sections), wishLine(detail), sections, belowSimulation(simulation)];
}

/** What the customer wants, in the words of the task. */
export function wishLine({ wish }) {
  return wish && h("div", { class: "wish" }, h("h3", {}, "Customer's request"), prose(wish));
}

/** Its labels, which filter, and what is wrong with its task. */
function tagLine(simulation) {
  const label = (name) => h("button", { type: "button", class: "tag", "data-hint": `${meaningOf(name) ?? ""} Click to show these only.`.trim(), click: () => choose("label", name) }, name);
  return h("p", { class: "tags" }, simulation.labels.map(label), badges(taskOf(simulation)));
}

export function banner(simulation) {
  const { domain, id } = taskOf(simulation);
  const facts = [simulation.ended && term(simulation.ended), simulation.seconds != null && duration(simulation.seconds), simulation.cost && money(simulation.cost)];
  return h("h2", { tabindex: "-1" }, domain && h("span", { class: "domain" }, domain), h("span", { class: "id" }, id), h("span", { class: "trial" }, `trial ${simulation.trial}`), h("small", {}, facts.filter(Boolean).map((fact, at) => [at > 0 && " · ", fact])));
}
