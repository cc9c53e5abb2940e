// What was said and done, message by message: each tool's answer and what it changed in the databases
// beside its call, and a mark where the verdict was decided.

import { code, folded, h, pairs, prose, tabs } from "./dom.js";
import { faultAt, markedArguments } from "./fault.js";
import { markdown, rawSwitch } from "./markdown.js";
import { copyButton, outline, talkTools } from "./outline.js";
import { term } from "./terms.js";
import { counted, duration, money } from "./text.js";

const SPEAKERS = { __proto__: null, assistant: "Agent", user: "User", tool: "Tool", system: "System" };
const MOST_CHANGES = 8;
const LONGEST_VALUE = 90;
const LONG_TALK = 1400;
const LONG_TALK_LINES = 22;

function speaker(message) {
  const who = SPEAKERS[message.who] ?? message.who;
  return message.speaker ? `${who} (${message.speaker})` : who;
}

/** The lane of each agent of a team, by which its messages are coloured. */
function lanesOf(messages) {
  const names = messages.flatMap(({ speaker, aside = [] }) => [...aside.map((each) => each.speaker), speaker]);
  return new Map([...new Set(names.filter(Boolean))].map((name, place) => [name, `lane lane-${place % 6}`]));
}

/** What the agents of a team said among themselves. */
function amongAgents(aside, lanes) {
  const line = (said) =>
    h("li", { class: lanes.get(said.speaker) }, h("strong", {}, said.who === "user" ? `to ${said.speaker}` : said.speaker), words(said), (said.calls ?? []).map((call) => toolCall(call)));
  return h("li", { class: "among" }, h("ol", { "aria-label": "Among the agents" }, aside.map(line)));
}

function valueOf(value) {
  if (value === undefined) return h("i", {}, "(none)");
  const text = JSON.stringify(value);
  if (text.length <= LONGEST_VALUE) return h("code", {}, text);
  return h("code", { role: "button", tabindex: "0", "data-hint": text.slice(0, 2000) }, `${text.slice(0, LONGEST_VALUE)}…`);
}

/** The fields that a call changed; those that are wrong at the end are marked. */
function changedFields(changed, wrong) {
  const line = ({ side, place, was, is }) =>
    h(
      "li",
      { class: wrong.has(place) ? "wrong" : "" },
      h("span", { class: "id" }, place),
      side === "customer" && h("small", {}, " customer's"),
      ": ",
      valueOf(was),
      " → ",
      valueOf(is),
      wrong.has(place) && [" ", term("wrong", "The reference solution ends with another value here.", { class: "tag bad" })],
    );
  const first = changed.slice(0, MOST_CHANGES).map(line);
  const rest = changed.slice(MOST_CHANGES);
  return h(
    "div",
    { class: "changes" },
    h("small", {}, `Changed ${counted(changed.length, "field")}`),
    h("ul", {}, first),
    rest.length > 0 && folded(`${rest.length} more`, () => h("ul", {}, rest.map(line))),
  );
}

function toolCall(call, changed, wrong, fault = []) {
  const marks = [
    call.writes && term("write", undefined, { class: "tag write" }),
    call.result?.failed && h("span", { class: "tag bad" }, "error"),
    !call.result && h("span", { class: "tag" }, "no result"),
    call.result?.took > 0 && h("small", { title: "How long the tool took" }, duration(call.result.took)),
  ];
  return h(
    "div",
    { class: `call ${call.result?.failed ? "bad" : ""}` },
    h("div", { class: "call-head" }, h("code", { class: "tool" }, call.name), marks),
    call.arguments !== "{}" && h("div", { class: "given" }, fault.length > 0 ? markedArguments(call.arguments, fault) : code(call.arguments)),
    call.result && h("div", { class: "answer" }, call.result.text ? code(call.result.text) : h("i", {}, "(empty)")),
    changed?.length > 0 && changedFields(changed, wrong),
  );
}

/** Its link, when it was said, how long it took, and what it cost, as far as that is known. */
function aside({ index, seconds, took, tokens, cost }, link) {
  const known = [
    seconds > 0 && h("span", { title: "Since the first message" }, `+${duration(seconds)}`),
    took > 0 && h("span", { title: "Since the message before" }, `took ${duration(took)}`),
    tokens > 0 && h("span", { title: "Tokens that the model read and wrote" }, counted(tokens, "token")),
    cost > 0 && money(cost),
  ];
  const place = link ? h("a", { class: "anchor", href: link(index), "aria-label": `Link to message ${index}` }, `#${index}`) : `#${index}`;
  return h("small", {}, place, known.filter(Boolean).map((part) => [" · ", part]));
}

/** What somebody said; what is long is cut until the reader asks for all of it. */
function spokenText(text) {
  const long = text.length > LONG_TALK || text.split("\n", LONG_TALK_LINES + 1).length > LONG_TALK_LINES;
  if (!long) return markdown(text);
  const block = h("div", { class: "long cut" }, markdown(text));
  const more = h("button", { type: "button", class: "unfold", "aria-expanded": "false" }, `Show all: ${counted(text.length, "character")}`);
  more.addEventListener("click", () => {
    const cut = block.classList.toggle("cut");
    more.setAttribute("aria-expanded", String(!cut));
    more.textContent = cut ? `Show all: ${counted(text.length, "character")}` : "Show less";
  });
  return h("div", {}, block, more);
}

function words({ who, text }) {
  if (!text) return null;
  return who === "tool" ? code(text) : spokenText(text);
}

// What is said of a call beside the request.
const USED = ["Calls", "Took", "From a cache"];

/** What is recorded of the request that the message answers; `turn` is which of its side's it was, of how many. */
function modelCall({ model, text, calls = [], tokens, cost }, turn) {
  if (!model) return null;
  const known = new Map(model);
  const list = (names) => pairs(names, (value) => code(value));
  const used = [...USED.map((name) => [name, known.get(name)]), ["Tokens", tokens && String(tokens)], ["Cost", cost && money(cost)]].filter(([, value]) => value);
  const parts = [
    ["Request", () => list(model.filter(([name]) => name !== "Raw" && !USED.includes(name)))],
    ["Answer", () => [text && prose(text), calls.map((call) => [h("code", { class: "tool" }, call.name), code(call.arguments)])]],
    ["Usage", () => (used.length ? list(used) : "Nothing was recorded.")],
    ["Raw", () => code(known.get("Raw") ?? "")],
  ];
  const title = [h("span", {}, "Model call"), h("small", {}, model[0][1], turn && ` · turn ${turn[0]} of ${turn[1]}`)];
  return h("div", { class: "model-call" }, folded(title, () => tabs("Model call", parts)));
}

/** Which turn of its side a message with a model call is, and of how many. */
function turnsOf(messages) {
  const sides = new Map();
  for (const { who, index, model } of messages) if (model) sides.set(who, [...(sides.get(who) ?? []), index]);
  return new Map([...sides.values()].flatMap((all) => all.map((index, at) => [index, [at + 1, all.length]])));
}

/**
 * One message; `link` gives the address of a message by its number. `moment` is the world after it,
 * `wrong` the fields that are wrong in the end, `lost` why the verdict was decided here, `gone` why nothing
 * could put it right after it, `event` whether it is either, `fault` what is
 * wrong with it, `travel` shows the databases after it, `turn` is its number and that of all, and `lane` are the classes of its agent in a team.
 */
export function drawMessage(said, link, { moment, wrong = new Set(), lost, gone, event, fault, travel, turn, lane = "" } = {}) {
  const happened = event || said.failed || said.calls?.some(({ writes, result }) => writes || result?.failed);
  return h(
    "li",
    { class: `message ${SPEAKERS[said.who] ? said.who : "other"} ${lost ? "lost-here" : ""} ${happened ? "event" : ""} ${lane}`, id: link && decodeURIComponent(link(said.index).split("#")[1]), "data-message": String(said.index), tabindex: "-1" },
    lost && h("p", { class: "lost-mark" }, lost),
    gone && h("p", { class: "gone-mark" }, gone),
    fault?.table,
    h(
      "div",
      { class: "message-head" },
      h("strong", {}, speaker(said)),
      aside(said, link),
      link && copyButton(said),
      moment && travel && h("button", { type: "button", class: "travel-to", "data-hint": "The databases after this message", "aria-label": `state of the databases after message ${said.index}`, click: () => travel(said.index) }, "state"),
    ),
    said.thought && h("div", { class: "thought" }, folded(["Reasoning", h("small", {}, counted(said.thought.length, "character"))], () => prose(said.thought))),
    words(said),
    (said.calls ?? []).map((call, place) => toolCall(call, moment?.calls[place]?.changed, wrong, fault?.byCall[place])),
    said.failed && h("span", { class: "tag bad" }, "error"),
    !said.text && !said.calls && h("i", {}, "(empty message)"),
    modelCall(said, turn),
  );
}

/** Scrolls to a message. A tool's answer stands in the message that called it. */
export function showMessage(inside, number) {
  const all = [...inside.querySelectorAll("[data-message]")];
  const target = all.findLast((each) => Number(each.dataset.message) <= number);
  for (const each of all) each.classList.toggle("marked", each === target);
  target?.scrollIntoView({ block: "center" });
  target?.focus({ preventScroll: true });
}

export function toMessage(number) {
  const jump = ({ target: button }) => showMessage(button.closest(".inside"), number);
  return h("button", { type: "button", class: "jump", click: jump }, `message ${number}`);
}

/** The conversation; `lost` and `gone` have the first wrong step and the point of no return, with the reasons. */
export function conversationSection(detail, link, { lost, gone, travel } = {}) {
  const { messages, answer, timeline, explanation } = detail;
  if (!messages) return answer && [h("h4", {}, "Final answer"), markdown(answer)];
  const moments = new Map((timeline?.messages ?? []).map((moment) => [moment.index, moment]));
  const wrong = new Set((explanation?.fields ?? []).map(({ place }) => place));
  const [decided, past] = [lost, gone].map((found) => found && messages.findLast(({ index }) => index <= found.message));
  const marks = new Map([[past?.index, "Point of no return"], [decided?.index, "First wrong step"]]);
  const lanes = lanesOf(messages);
  const turns = turnsOf(messages);
  const here = (said) => ({ event: marks.has(said.index), gone: said === past && gone.words, ...(said === decided && { lost: lost.words, fault: faultAt(said, detail) }) });
  const draw = (said) => [said.aside && amongAgents(said.aside, lanes), drawMessage(said, link, { moment: moments.get(said.index), wrong, travel, turn: turns.get(said.index), lane: lanes.get(said.speaker), ...here(said) })];
  const talk = h("div", { class: "talk" }, h("ol", { class: "conversation" }, messages.map(draw)), outline(messages, marks, link));
  return [talkTools(messages, rawSwitch()), talk];
}
