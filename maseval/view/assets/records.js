// What time travel has beside in the viewer: a search in the records of the databases as they were at
// a message, and the command that continues from there.

import { taskOf } from "../data.js";
import { code, folded, h } from "../dom.js";
import { counted } from "../text.js";
import { ask } from "./server.js";

function recordItem({ side, table, record, changed, value }) {
  const name = record == null ? table : `${table}[${record}]`;
  const marks = [side === "customer" && h("span", { class: "tag" }, "customer's"), changed && h("span", { class: "tag write" }, "changed")];
  return h("li", {}, folded([h("span", { class: "id" }, name), marks], () => code(JSON.stringify(value))));
}

/** The search in all records at the message that is chosen. */
function recordSearch(asked, messageNow) {
  const field = h("input", { type: "search", placeholder: "Name, id or any value", "aria-label": "Search records" });
  const status = h("output", { class: "status" });
  const list = h("ul", { class: "hits" });
  const find = async () => {
    list.replaceChildren();
    if (!field.value.trim()) return (status.textContent = "");
    try {
      const { total, records } = await ask("/api/run/records", { ...asked, q: field.value, message: messageNow() });
      const some = records.length < total ? `, the first ${records.length} are shown` : "";
      status.textContent = `${counted(total, "record")} after message ${messageNow()}${some}`;
      list.replaceChildren(...records.map(recordItem));
    } catch (error) {
      status.textContent = error.message;
    }
  };
  const submit = (event) => {
    event.preventDefault();
    find();
  };
  const form = h("form", { class: "record-search", role: "search", "aria-label": "Records", submit }, field, h("button", { type: "submit" }, "Search records"), status);
  return { part: h("div", { class: "world" }, form, list), find };
}

function branchPart(asked, messageNow) {
  let command;
  const line = h("code", { class: "command" });
  const copied = h("output", { class: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(line.textContent);
      copied.textContent = "Copied.";
    } catch {
      copied.textContent = "The browser does not allow copying: mark the line and copy it.";
    }
  };
  const show = () => {
    if (command) line.textContent = `${command} --at ${messageNow()} --repeats 20`;
    copied.textContent = "";
  };
  const learn = async () => {
    command = (await ask("/api/run/timeline", asked)).branch;
    show();
  };
  const words = "The beginning up to this message is replayed; the rest is live. Add --agent, --agent-model or --user-model to continue with another one.";
  const part = folded("Branch from here", () => {
    learn().catch((error) => (copied.textContent = error.message));
    return h("div", { class: "branch" }, line, h("button", { type: "button", click: copy }, "Copy"), copied, h("p", { class: "status" }, words));
  });
  return { part, show };
}

/** The parts beside the time travel of a simulation of a run. */
export function recordsBeside(run, simulation, messageNow) {
  const { domain, id } = taskOf(simulation);
  const asked = { run, domain, task: id, trial: simulation.trial };
  const records = recordSearch(asked, messageNow);
  return [{ part: records.part, show: records.find }, branchPart(asked, messageNow)];
}
