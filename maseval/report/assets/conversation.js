// What was said and done, message by message, with each tool's answer beside its call.

import { code, h, prose } from "./dom.js";
import { duration, money } from "./text.js";

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
  ];
  return h(
    "div",
    { class: `call ${call.result?.failed ? "bad" : ""}` },
    h("div", { class: "call-head" }, h("code", { class: "tool" }, call.name), marks),
    call.arguments !== "{}" && h("div", { class: "given" }, code(call.arguments)),
    call.result && h("div", { class: "answer" }, call.result.text ? code(call.result.text) : h("i", {}, "(empty)")),
  );
}

function message(said) {
  const aside = [`#${said.index}`];
  if (said.seconds) aside.push(`+${duration(said.seconds)}`);
  if (said.cost) aside.push(money(said.cost));
  const words = said.text && (said.who === "system" || said.who === "tool" ? code(said.text) : prose(said.text));
  return h(
    "li",
    { class: `message ${SPEAKERS[said.who] ? said.who : "other"}`, id: `message-${said.index}`, "data-message": String(said.index), tabindex: "-1" },
    h("div", { class: "message-head" }, h("strong", {}, speaker(said)), h("small", {}, aside.join(" · "))),
    words,
    (said.calls ?? []).map(toolCall),
    said.failed && h("span", { class: "tag bad" }, "error"),
    !said.text && !said.calls && h("i", {}, "(empty message)"),
  );
}

export function toMessage(number) {
  const go = ({ target: button }) => {
    const target = button.closest(".inside").querySelector(`[data-message="${number}"]`);
    target?.scrollIntoView({ block: "center" });
    target?.focus({ preventScroll: true });
  };
  return h("button", { type: "button", class: "jump", click: go }, `message ${number}`);
}

export function conversationSection({ messages, answer }) {
  if (messages) return h("ol", { class: "conversation" }, messages.map(message));
  return answer && [h("h4", {}, "Final answer"), prose(answer)];
}
