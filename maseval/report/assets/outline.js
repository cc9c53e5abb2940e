// The way through a long conversation: an outline at its side, the next and the previous event, kinds of
// events to hide, all to fold or unfold, and the transcript as text.
//
// An event is a message at which something happened beyond talk: a write, an error, the first wrong
// step, or the point of no return.

import { h, onKeys, toolButton } from "./dom.js";
import { count } from "./text.js";

const LONG = 8;
const SHOWN_KINDS = [["user", "User"], ["assistant", "Agent"], ["call", "Calls"], ["thought", "Reasoning"]];
const SIDES = { __proto__: null, assistant: "Agent", user: "User", tool: "Tool", system: "System" };

// What the reader hid stays hidden when another simulation is opened.
const hidden = new Set();

function copied(text, button) {
  const said = button.textContent;
  const say = (words) => {
    button.textContent = words;
    setTimeout(() => (button.textContent = said), 1500);
  };
  if (!navigator.clipboard) return say("not possible here");
  return navigator.clipboard.writeText(text).then(() => say("copied"), () => say("not allowed"));
}

/** A message as text: who speaks, what is said, and each call with its result. */
function transcriptOf({ index, who, speaker, text, calls = [] }) {
  const head = `#${index} ${SIDES[who] ?? who}${speaker ? ` (${speaker})` : ""}`;
  const lines = calls.flatMap(({ name, arguments: given, result }) => [`→ ${name} ${given}`, result && `← ${result.text}`]);
  return [head, text, ...lines].filter(Boolean).join("\n");
}

export function copyButton(said) {
  const click = ({ currentTarget }) => copied(transcriptOf(said), currentTarget);
  return h("button", { type: "button", class: "copy", "aria-label": `Copy message ${said.index}`, click }, "copy");
}

const isEvent = ({ calls = [], failed }, mark) => Boolean(mark) || failed || calls.some(({ writes, result }) => writes || result?.failed);

function signOf({ calls = [], failed }, mark) {
  if (mark) return "✗";
  if (failed || calls.some(({ result }) => result?.failed)) return "!";
  return calls.some(({ writes }) => writes) ? "✎" : "";
}

function outlineLine(said, mark, link) {
  const what = said.calls?.map(({ name }) => name).join(", ") || (said.text ?? "").replace(/\s+/g, " ").slice(0, 60);
  const kind = `${isEvent(said, mark) ? "event" : ""} ${mark ? "fault-line" : ""}`;
  return h("li", { class: kind }, h("a", { href: link(said.index), title: mark || null }, h("small", {}, `#${said.index}`), ` ${signOf(said, mark)} ${SIDES[said.who] ?? said.who}: `, h("span", {}, what)));
}

/** The outline of a long conversation; `marks` has what is said of some messages, by their numbers. */
export function outline(messages, marks, link) {
  if (messages.length < LONG || !link) return null;
  return h("nav", { class: "outline", "aria-label": "Outline" }, h("ol", {}, messages.map((said) => outlineLine(said, marks.get(said.index), link))));
}

/** Goes to the next event below the middle of the window, or to the one above it. */
function goToEvent(by) {
  const all = [...(document.querySelector(".part.conversation")?.querySelectorAll(".message.event") ?? [])];
  const middle = innerHeight / 2;
  const place = (each) => each.getBoundingClientRect();
  const next = by > 0 ? all.find((each) => place(each).top > middle + 2) : all.findLast((each) => place(each).bottom < middle - 2);
  next?.scrollIntoView({ block: "center", behavior: "instant" });
  next?.focus({ preventScroll: true });
}

export function watchEventKeys() {
  onKeys({ "]": () => goToEvent(1), "[": () => goToEvent(-1) });
}

function hideKinds(section) {
  for (const [kind] of SHOWN_KINDS) section.classList.toggle(`without-${kind}`, hidden.has(kind));
}

function kindButton([kind, name]) {
  const turn = ({ currentTarget: button }) => {
    if (!hidden.delete(kind)) hidden.add(kind);
    button.setAttribute("aria-pressed", String(!hidden.has(kind)));
    hideKinds(button.closest(".part"));
  };
  return h("button", { type: "button", "aria-pressed": String(!hidden.has(kind)), title: `Show or hide: ${name}`, click: turn }, name);
}

/** Folds everything in the conversation that can be folded, or unfolds it. */
function foldAll({ currentTarget: button }, open) {
  const part = button.closest(".part");
  for (const each of part.querySelectorAll(".message details")) each.open = open;
  for (const each of part.querySelectorAll(`.unfold[aria-expanded="${!open}"]`)) each.click();
}

/** The tools above a conversation; `more` are others. */
export function talkTools(messages, more) {
  const present = { user: messages.some(({ who }) => who === "user"), assistant: true, call: messages.some(({ calls }) => calls), thought: messages.some(({ thought }) => thought) };
  const events = messages.length >= LONG && [toolButton("↑ event", "Previous write, error or fault ( [ )", () => goToEvent(-1)), toolButton("↓ event", "Next write, error or fault ( ] )", () => goToEvent(1))];
  const tools = h(
    "div",
    { class: "talk-tools" },
    h("small", {}, `${count.format(messages.length)} messages`),
    events,
    h("div", { class: "kinds", role: "group", "aria-label": "Shown" }, SHOWN_KINDS.filter(([kind]) => present[kind]).map(kindButton)),
    toolButton("Expand all", "Unfold every result and text", (event) => foldAll(event, true)),
    toolButton("Collapse all", "Fold every result and text", (event) => foldAll(event, false)),
    toolButton("Copy", "Copy the conversation as text", ({ currentTarget }) => copied(messages.map(transcriptOf).join("\n\n"), currentTarget)),
    more,
  );
  // The section is there only when the tools are in it.
  queueMicrotask(() => tools.parentElement && hideKinds(tools.parentElement));
  return tools;
}
