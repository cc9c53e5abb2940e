// Simulations of compared runs, opened from their table: one, or two side by side, aligned up to their
// first difference. What is open stands in the address: `#retail/1?a=careful.0&b=hurried.2`.

import { drawMessage } from "./conversation.js";
import { hashOf, simulationName } from "./data.js";
import { add, folded, h } from "./dom.js";
import { choice } from "./filters.js";
import { badges, drawSections, wishLine } from "./simulation.js";
import { counted, percent } from "./text.js";

const TRIAL_MARKS = { p: ["pass", "✓", "passed"], f: ["fail", "✗", "failed"], x: ["error", "!", "not counted"], s: ["partly", "◐"] };

/** The trials of a task in a run: `[{ run, trial, kind, mark, word }]`. */
export function trialsIn(task, run) {
  const [letters, numbers, values] = task.cells[run];
  return [...letters].map((letter, at) => {
    const [kind, mark, word = percent(values[at])] = TRIAL_MARKS[letter];
    return { run, trial: String(numbers ? numbers[at] : at), kind, mark, word };
  });
}

/** The share of trials that passed, or the mean of their shares; nothing if none has a verdict. */
export function passShare(task, run) {
  const [letters, , values = [...letters].map((letter) => ({ p: 1, f: 0 })[letter])] = task.cells[run];
  const judged = values.filter((value) => value != null);
  return judged.length ? judged.reduce((sum, value) => sum + value, 0) / judged.length : undefined;
}

export function comparedName({ domain, id }) {
  return simulationName(domain, id, "");
}

/** The runs of a task that differ most: the best and the worst of those that have it, in the order of the table. */
function mostDifferent(task) {
  const runs = task.cells.map((_, run) => run).filter((run) => trialsIn(task, run).length > 0);
  const share = (run) => passShare(task, run) ?? 0;
  const best = runs.reduce((a, b) => (share(b) > share(a) ? b : a));
  const worst = runs.reduce((a, b) => (share(b) < share(a) ? b : a));
  return best === worst ? runs.slice(0, 2) : [best, worst].sort((a, b) => a - b);
}

/** A trial of each of these runs: where they differ, one that passed and one that failed. */
export function trialsToOpen(task, wanted = mostDifferent(task)) {
  const runs = wanted.every((run) => trialsIn(task, run).length > 0) ? wanted : mostDifferent(task);
  const shares = runs.map((run) => passShare(task, run) ?? 0);
  return runs.map((run, at) => {
    const kind = shares[at] > Math.min(...shares) ? "pass" : "fail";
    const trials = trialsIn(task, run);
    return trials.find((each) => each.kind === kind) ?? trials[0];
  });
}

/** The address under which these trials of a task are open. */
export function addressOfTrials(names, task, trials) {
  const query = trials.map(({ run, trial }, at) => ["ab"[at], `${names[run]}.${trial}`]);
  return `${hashOf(comparedName(task))}?${new URLSearchParams(query)}`;
}

/** The task and the trials that the address names; what it does not name is chosen. */
export function trialsInAddress(names, byName) {
  let name = location.hash.slice(1);
  let query;
  try {
    [name, query] = name.split(/\?(?=[^?]*$)/);
    name = decodeURIComponent(name);
  } catch {
    return {}; // a lone % cannot be decoded
  }
  const task = byName.get(name);
  if (!task) return {};
  const asked = new URLSearchParams(query);
  const found = ["a", "b"].map((side) => {
    const [, run, trial] = /^(.*)\.(\d+)$/s.exec(asked.get(side) ?? "") ?? [];
    const at = names.indexOf(run);
    return at < 0 ? undefined : trialsIn(task, at).find((each) => each.trial === trial);
  });
  return { task, trials: found[0] ? found.filter(Boolean) : trialsToOpen(task) };
}

/** What two messages must have in common to be the same. */
function gist({ who, text, calls = [] }) {
  return JSON.stringify([who, text, calls.map(({ name, arguments: given, result }) => [name, given, result?.text])]);
}

function sameMessages(one, other) {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) if (gist(one[at]) !== gist(other[at])) return at;
  return length;
}

function differenceLine(same, sides) {
  if (sides.every((messages) => messages.length === same)) return h("p", { class: "difference", id: "difference", tabindex: "-1" }, "The two conversations are the same.");
  return h("h3", { class: "difference", id: "difference", tabindex: "-1" }, `First difference, after ${counted(same, "equal message")}`);
}

/** Two conversations: what is equal at their beginning is folded away, what comes after stands in columns. */
function aligned(sides, links) {
  const same = sameMessages(...sides);
  const draw = (messages, link) => h("ol", { class: "conversation" }, messages.map((said) => drawMessage(said, link)));
  // The same numbers stand on both sides, and an id stands once in a page.
  const nameless = (list) => {
    list.querySelectorAll(".message").forEach((each) => each.removeAttribute("id"));
    return list;
  };
  const equal = () => nameless(h("div", { class: "pair equal" }, sides.map((messages, side) => draw(messages.slice(0, same), links[side]))));
  const rest = nameless(h("div", { class: "pair" }, sides.map((messages, side) => draw(messages.slice(same), links[side]))));
  rest.querySelectorAll(".message:first-child").forEach((each) => each.classList.add("differs"));
  return h("div", { class: "aligned" }, same > 0 && folded(`${counted(same, "message")} the same`, equal), differenceLine(same, sides), rest);
}

/** To where the two conversations part. */
export function toDifference() {
  const line = document.getElementById("difference");
  line?.scrollIntoView({ block: "center" });
  line?.focus({ preventScroll: true });
}

/** A list of all trials of the task, by run; `none` is a further entry. */
function trialChoice(names, task, label, now, pick, none) {
  const every = names.flatMap((_, run) => trialsIn(task, run));
  const words = every.map(({ run, trial, mark }) => `${names[run]}, trial ${trial} ${mark}`);
  const { select, field } = choice(label, words, () => pick(every[select.selectedIndex - (none ? 1 : 0)]), none);
  select.value = now ? words[every.findIndex(({ run, trial }) => run === now.run && trial === now.trial)] : "";
  return field;
}

function sideHead(names, from, task, trials, at) {
  const mine = trials[at];
  const openThem = (chosen) => (location.hash = addressOfTrials(names, task, chosen));
  const pick = (chosen) => openThem(trials.map((each, side) => (side === at ? chosen : each)));
  const beside = trials.length === 1 && trialChoice(names, task, "Beside", undefined, (chosen) => chosen && openThem([mine, chosen]), "nothing");
  const alone = trials.length === 2 && h("a", { href: addressOfTrials(names, task, [mine]) }, "Alone");
  return h(
    "div",
    { class: "side-head" },
    h("h3", {}, names[mine.run]),
    h("p", { class: "outcome" }, h("span", { class: `chip ${mine.kind}` }, h("b", {}, mine.mark), ` ${mine.word}`), trialChoice(names, task, "Trial", mine, pick), beside),
    h("p", { class: "outcome" }, h("a", { href: from.link(mine.run, task, mine.trial) }, "Open in its run"), alone),
  );
}

function withoutConversation({ messages, wish, task, usage, record, timeline, ...judged }) {
  return h("div", {}, drawSections(judged));
}

/** The labels of a simulation that did not pass, in one line. */
function labelLine({ explanation }) {
  const name = explanation?.label?.name ?? explanation?.summary;
  return name && h("p", { class: "outcome" }, h("span", { class: "tag" }, name));
}

/** Draws these trials of a task into an element; resolves once they are read. */
export async function showTrials(inside, names, from, task, trials) {
  const heads = trials.map((_, at) => sideHead(names, from, task, trials, at));
  const wish = h("div", {}, wishLine({ wish: task.note }));
  add(inside, [h("h2", { tabindex: "-1" }, h("span", { class: "id" }, comparedName(task)), badges(task)), wish, h("div", { class: trials.length > 1 ? "pair" : "alone" }, heads)]);
  try {
    const details = await Promise.all(trials.map(({ run, trial }) => from.detail(run, task, trial)));
    const links = trials.map(({ run, trial }) => (message) => from.link(run, task, trial, message));
    wish.replaceChildren(...[wishLine(details[0])].filter(Boolean));
    heads.forEach((head, at) => add(head, [labelLine(details[at])]));
    if (trials.length === 1) add(inside, [drawSections({ ...details[0], timeline: undefined }, links[0])]);
    else add(inside, [folded("Verdicts", () => h("div", { class: "pair" }, details.map(withoutConversation))), aligned(details.map(({ messages = [] }) => messages), links)]);
  } catch (error) {
    add(inside, [h("p", { class: "error", role: "alert" }, `These simulations could not be shown: ${error.message}`)]);
  }
}
