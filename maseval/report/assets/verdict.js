// Why the verdict is what it is: the error, each check and what it rests on, and the explanation.

import { toMessage } from "./conversation.js";
import { OUTCOMES } from "./data.js";
import { code, dataTable, folded, h, pairs, prose } from "./dom.js";
import { meaningOf, term } from "./terms.js";
import { counted } from "./text.js";

const LONGEST_REASON = 240;

function shortened(text) {
  const line = text.replace(/\s+/g, " ").trim();
  return line.length <= LONGEST_REASON ? line : `${line.slice(0, LONGEST_REASON)}…`;
}

/** Where the verdict was decided, and in a few words why; nothing for what passed or has no messages. */
export function decision({ outcome }, { error, explanation, messages }) {
  if (!messages?.length || outcome === "pass") return undefined;
  if (error) return { message: messages.at(-1).index, words: ["! Broke off here: ", error.type] };
  if (!explanation) return undefined;
  const name = explanation.label?.name ?? explanation.summary ?? "failed";
  if (explanation.message != null) return { message: explanation.message, words: ["✗ ", term("First wrong step"), ": ", name] };
  // What is missing could have come until the end.
  return { message: messages.at(-1).index, words: ["✗ Ended without it: ", name] };
}

/** The message after which the end state was out of reach, and why, if that is known. */
export function noReturn({ explanation }) {
  const [line = ""] = explanation?.sections.find(({ title }) => title === "Point of no return")?.lines ?? [];
  const [, number, why] = /^message (\d+): (.*)$/s.exec(line) ?? [];
  return number && { message: Number(number), words: [term("Point of no return"), `: ${why}`] };
}

/** The reason for a verdict without the number of the message that decided, which stands before it. */
function reasonWords({ label, summary, message }) {
  const lines = label?.evidence ?? [];
  const first = Math.max(0, lines.findIndex((line) => line.includes(`message ${message}`)));
  const words = lines.slice(first, first + 2).join("; ").replace(new RegExp(`^message ${message}(, | *: *)`), "");
  // The arguments of a call stand in the conversation.
  return shortened((words || summary || "").replace(/(\w)\([^()]{40,2000}(?:\)|$)/g, "$1(…)"));
}

function unmetChecks(verdicts = []) {
  const unmet = verdicts.flatMap(({ checks = [] }) => checks).filter(({ counts, met }) => counts && !met);
  return shortened(unmet.map(({ name }) => name).join("; "));
}

function rewardWords(verdicts = []) {
  const [judged] = verdicts.filter(({ basis }) => basis);
  if (!judged) return null;
  const product = judged.basis.map(([kind, found], at) => [at > 0 && " × ", term(kind), `\u00a0${found ?? "–"}`]);
  return ["Reward ", h("b", {}, judged.reward ?? "–"), product.length > 0 && [" = ", product]];
}

/** The verdict in a line, with a link to the message that decided. */
export function verdictLine(simulation, detail) {
  const { mark, word } = OUTCOMES[simulation.outcome];
  const { error, explanation, verdicts } = detail;
  const decided = decision(simulation, detail);
  const label = explanation?.label;
  const reason = () => {
    if (error) return [h("b", {}, error.type), ": ", shortened(error.message)];
    if (simulation.outcome === "pass") return rewardWords(verdicts);
    if (!explanation) return unmetChecks(verdicts);
    return [label && [term(label.name, label.meaning ?? meaningOf(label.name), { class: "blame" }), ": "], reasonWords(explanation)];
  };
  return h(
    "p",
    { class: `verdict-line ${simulation.outcome}` },
    term(`${mark} ${word}`, meaningOf(word), { class: `chip ${simulation.outcome}` }),
    h("span", { class: "reason" }, decided && [toMessage(decided.message), " "], reason()),
  );
}

function errorBlock(error) {
  return h(
    "div",
    { class: "error" },
    h("strong", {}, error.type),
    prose(error.message),
    error.more && code(error.more),
    error.traceback && folded("Traceback", () => prose(error.traceback, { class: "code" })),
  );
}

export function errorSection({ error, attempts = [] }) {
  if (!error && !attempts.length) return null;
  const earlier = attempts.map((attempt, number) => [h("h4", {}, `Attempt ${number + 1}: ${attempt.status}`), attempt.error && errorBlock(attempt.error)]);
  return [error && errorBlock(error), attempts.length > 0 && folded(counted(attempts.length, "earlier attempt"), () => h("div", {}, earlier))];
}

const KINDS = {
  __proto__: null,
  DB: "End state",
  ENV_ASSERTION: "Assertions on the state",
  ACTION: "Reference actions",
  COMMUNICATE: "Information given",
  NL_ASSERTION: "Judged assertions",
};

function check({ met, name, evidence, arguments: given, message: found }) {
  return h(
    "li",
    { class: met ? "met" : "unmet" },
    h("span", { class: "mark", "aria-label": met ? "met" : "not met" }, met ? "✓" : "✗"),
    h(
      "div",
      {},
      h("span", { class: "check-name" }, name),
      found != null && toMessage(found),
      given && given !== "{}" && h("div", { class: "given" }, code(given)),
      evidence && prose(evidence, { class: "evidence" }),
    ),
  );
}

function checkGroup(kind, list) {
  const met = list.filter((each) => each.met).length;
  const counts = list[0].counts;
  const title = [
    h("span", { class: met === list.length ? "mark met" : counts ? "mark unmet" : "mark" }, met === list.length ? "✓" : "✗"),
    h("b", { "data-hint": meaningOf(kind) }, KINDS[kind] ?? kind),
    h("small", {}, `${met} of ${list.length} met`),
    h("small", { class: counts ? "tag strong" : "tag", "data-hint": meaningOf(counts ? "scored" : "not scored") }, counts ? "scored" : "not scored"),
  ];
  return folded(title, () => h("ul", { class: "checks" }, list.map(check)), counts && met < list.length);
}

export function verdict({ returned, reward, basis, checks, notes }) {
  if (returned) return pairs(returned, (value) => code(value));
  const groups = Map.groupBy ? Map.groupBy(checks, ({ kind }) => kind) : grouped(checks);
  return [
    basis && h("p", { class: "reward" }, rewardWords([{ basis, reward }])),
    notes.map((note) => h("p", { class: "note" }, note)),
    [...groups].map(([kind, list]) => checkGroup(kind, list)),
  ];
}

function grouped(checks) {
  const groups = new Map();
  for (const each of checks) groups.set(each.kind, [...(groups.get(each.kind) ?? []), each]);
  return groups;
}

/** A line of an explanation, in which each message that it names can be jumped to. */
function explained(line) {
  const depth = Math.min(2, Math.floor(line.search(/\S|$/) / 2));
  const parts = line.trim().split(/(message \d+)/);
  return h("p", { class: `explained depth-${depth}` }, parts.map((part, at) => (at % 2 ? toMessage(Number(part.slice(8))) : part)));
}

function wrongFields(fields) {
  const cause = ({ message, call, remedy }) => [
    message != null && h("p", {}, toMessage(message), call && h("code", {}, call)),
    remedy && h("p", {}, "missing: ", h("code", {}, remedy)),
  ];
  const same = (one, other) => one && ["message", "call", "remedy"].every((key) => one[key] === other[key]);
  const lines = fields.map((field, at) => {
    // One call often leaves several fields wrong; it stands beside all of them once.
    let alike = 1;
    while (at + alike < fields.length && same(field, fields[at + alike])) alike += 1;
    const { place, expected, found } = field;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("code", {}, place)),
      h("td", {}, h("code", {}, expected ?? "–")),
      h("td", {}, h("code", {}, found ?? "–")),
      !same(fields[at - 1], field) && h("td", { rowspan: alike }, cause(field)),
    );
  });
  return dataTable("Fields of the end state", ["Field", "expected", "found", "cause"], lines, "fields");
}

export function explanationSection({ explanation, unexplained }) {
  if (unexplained) return h("div", { role: "note" }, "This verdict cannot be explained here:", prose(unexplained, { class: "evidence" }));
  if (!explanation) return null;
  const { summary, label, fields, sections } = explanation;
  return [
    label && h("p", {}, h("b", {}, label.name), label.rule && h("small", {}, ` rule: ${label.rule}`)),
    label?.evidence.map(explained),
    summary && h("p", { class: "evidence" }, summary),
    fields.length > 0 && [h("h4", {}, "End state"), wrongFields(fields)],
    sections.map(({ title, lines }) => [h("h4", {}, title), lines.map(explained)]),
  ];
}
