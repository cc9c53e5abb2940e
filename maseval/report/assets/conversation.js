// What was said and done, message by message, with each tool's answer beside its call.

import { code, folded, h, prose } from "./dom.js";
import { counted, duration, money } from "./text.js";

const SPEAKERS = { assistant: "Agent", user: "User", tool: "Tool", system: "System" };

function speaker(message) {
  const who = SPEAKERS[message.who] ?? message.who;
  return message.speaker ? `${who} (${message.speaker})` : who;
}

function toolCall(call) {
  const marks = [
    call.writes && h("span", { class: "tag write", title: "A tool that writes to the database" }, "write"),
    call.result?.failed && h("span", { class: "tag bad" }, "error"),
    !call.result && h("span", { class: "tag" }, "no result"),
    call.result?.took > 0 && h("small", { title: "How long the tool took" }, duration(call.result.took)),
  ];
  return h(
    "div",
    { class: `call ${call.result?.failed ? "bad" : ""}` },
    h("div", { class: "call-head" }, h("code", { class: "tool" }, call.name), marks),
    call.arguments !== "{}" && h("div", { class: "given" }, code(call.arguments)),
    call.result && h("div", { class: "answer" }, call.result.text ? code(call.result.text) : h("i", {}, "(empty)")),
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

/** One message; `link` gives the address of a message by its number. */
export function drawMessage(said, link) {
  const words = said.text && (said.who === "system" || said.who === "tool" ? code(said.text) : prose(said.text));
  return h(
    "li",
    { class: `message ${SPEAKERS[said.who] ? said.who : "other"}`, id: `message-${said.index}`, "data-message": String(said.index), tabindex: "-1" },
    h("div", { class: "message-head" }, h("strong", {}, speaker(said)), aside(said, link)),
    said.thought && folded(["Reasoning", h("small", {}, counted(said.thought.length, "character"))], () => prose(said.thought)),
    words,
    (said.calls ?? []).map(toolCall),
    said.failed && h("span", { class: "tag bad" }, "error"),
    !said.text && !said.calls && h("i", {}, "(empty message)"),
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

export function conversationSection({ messages, answer }, link) {
  if (messages) return h("ol", { class: "conversation" }, messages.map((said) => drawMessage(said, link)));
  return answer && [h("h4", {}, "Final answer"), prose(answer)];
}
