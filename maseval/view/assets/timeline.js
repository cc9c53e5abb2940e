// Time travel: a slider over the conversation, and beside the message what the databases were like
// after it: what it changed, what differs from the start, and from the gold end state.

import { drawMessage } from "../conversation.js";
import { detailOf, linkTo, taskOf } from "../data.js";
import { add, code, folded, h, scrollable, svg } from "../dom.js";
import { counted } from "../text.js";
import { reading, writeAddress } from "../view.js";
import { ask } from "./server.js";

// What stays as the reader left it when another simulation is opened.
let unfolded = false;
// Moves the slider that is open to the message of the address.
let followAddress;

// The page reads the new address first.
addEventListener("hashchange", () => setTimeout(() => followAddress?.()));

const shownValue = (value) => (value === undefined ? h("i", {}, "(none)") : code(typeof value === "string" ? value : JSON.stringify(value)));

function differenceTable(title, differences, before) {
  const head = ["Field", before, "Now"].map((name) => h("th", { scope: "col" }, name));
  const lines = differences.map(({ side, place, was, is }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("span", { class: "id" }, place), side === "customer" && h("small", {}, " customer's")),
      h("td", { "data-name": before }, shownValue(was)),
      h("td", { "data-name": "Now" }, shownValue(is)),
    ),
  );
  return scrollable(title, h("table", { class: "fields" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, lines)));
}

function differenceBlock(title, differences, before, nothing) {
  const inside = differences.length ? differenceTable(title, differences, before) : h("p", { class: "status" }, nothing);
  const many = differences.length ? ` (${counted(differences.length, "field")})` : "";
  return h("div", { class: "world" }, h("h4", {}, title, many), inside);
}

function mismatchNote({ error, expected, found }) {
  if (error) return h("p", { class: "problem" }, "Cannot be replayed: ", error);
  const parts = [h("p", {}, "Replayed, the tool answers otherwise than recorded. Recorded:"), code(expected ?? "(nothing)"), h("p", {}, "Replayed:"), code(found ?? "(nothing)")];
  return h("div", { class: "problem" }, parts);
}

/** All three comparisons of the world after a message, and what did not come out as recorded. */
function worldAfter(timeline, moment) {
  const { from_start, from_gold } = timeline.states[moment.state];
  const changed = moment.calls.flatMap((call) => call.changed);
  const problems = [...moment.calls.map(({ mismatch }) => mismatch), moment.problem].filter(Boolean);
  const gold = timeline.gold_counts ? "Differs from the gold end state" : "Differs from the gold end state (not scored)";
  return [
    problems.map(mismatchNote),
    differenceBlock("This message changed", changed, "Before", "Nothing."),
    from_gold && differenceBlock(gold, from_gold, "Gold", "Nothing: this is the gold end state."),
    differenceBlock("Differs from the start", from_start, "Start", "Nothing: as at the start."),
  ];
}

/** A line under the slider: where the databases changed, and where replay and record differ. */
function changeMarks({ messages }) {
  const last = Math.max(1, messages.length - 1);
  const tick = (position, kind) => svg("rect", { x: (position / last) * 1000 - 2, y: 0, width: 4, height: 8, class: kind });
  const ticks = messages.map(({ calls, problem }, position) => {
    if (problem || calls.some(({ mismatch }) => mismatch)) return tick(position, "mismatch");
    return calls.some(({ changed }) => changed.length) && tick(position, "changed");
  });
  return svg("svg", { class: "change-marks", viewBox: "0 0 1000 8", preserveAspectRatio: "none", "aria-hidden": "true" }, ticks);
}

function spokenBy({ role, calls }) {
  const who = role === "assistant" ? "agent" : role;
  return calls.length ? `${who} calls ${calls.map(({ name }) => name).join(", ")}` : who;
}

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

function branchPart(command, messageNow) {
  const line = h("code", { class: "command" });
  const copied = h("output", { class: "status" });
  const copy = async () => {
    await navigator.clipboard?.writeText(line.textContent);
    copied.textContent = "Copied.";
  };
  const show = () => {
    line.textContent = `${command} --at ${messageNow()} --repeats 20`;
    copied.textContent = "";
  };
  const words = "The beginning up to this message is replayed; the rest is live. Add --agent, --agent-model or --user-model to continue with another one.";
  const part = folded("Branch from here", () => h("div", { class: "branch" }, line, h("button", { type: "button", click: copy }, "Copy"), copied, h("p", { class: "status" }, words)));
  return { part, show };
}

function travel({ timeline, branch }, simulation, details, asked) {
  const moments = timeline.messages;
  let here = 0;
  const messageNow = () => moments[here].index;
  const slider = h("input", { type: "range", min: 0, max: moments.length - 1, step: 1, "aria-label": "Message" });
  const where = h("output", { class: "status" });
  const said = h("ol", { class: "conversation" });
  const world = h("div", { class: "worlds" });
  const records = recordSearch(asked, messageNow);
  const command = branchPart(branch, messageNow);
  const section = h("div", { class: "travel" });

  const moveTo = (position, { address = true } = {}) => {
    here = Math.min(Math.max(position, 0), moments.length - 1);
    const moment = moments[here];
    slider.value = here;
    where.textContent = `Message ${moment.index} of ${moments.at(-1).last}: ${spokenBy(moment)}`;
    slider.setAttribute("aria-valuetext", where.textContent);
    const words = details.messages?.find(({ index }) => index === moment.index);
    const drawn = words && drawMessage(words, (message) => linkTo(simulation, message));
    drawn?.removeAttribute("id"); // it stands in the conversation too
    drawn?.removeAttribute("data-message");
    said.replaceChildren(...[drawn].filter(Boolean));
    world.replaceChildren();
    add(world, [worldAfter(timeline, moment)]);
    command.show();
    records.find();
    const inside = section.closest(".inside");
    inside?.querySelectorAll(".message.now").forEach((each) => each.classList.remove("now"));
    inside?.querySelector(`[data-message="${moment.index}"]`)?.classList.add("now");
    if (!address) return;
    reading.message = moment.index;
    writeAddress();
  };
  slider.addEventListener("input", () => moveTo(Number(slider.value)));
  const step = (label, title, by) => h("button", { type: "button", title, "aria-label": title, click: () => moveTo(here + by) }, label);
  const bar = h("div", { class: "travel-bar" }, step("◀", "Message before", -1), h("div", { class: "travel-slider" }, slider, changeMarks(timeline)), step("▶", "Message after", 1), where);
  add(section, [bar, h("div", { class: "travel-columns" }, said, world), records.part, command.part]);
  const named = () => moments.findIndex(({ index, last }) => reading.message != null && index <= reading.message && reading.message <= last);
  followAddress = () => {
    const wanted = section.isConnected ? named() : -1;
    if (wanted >= 0 && wanted !== here) moveTo(wanted, { address: false });
  };
  const first = named();
  moveTo(first < 0 ? moments.length - 1 : first, { address: false });
  return section;
}

/** The section of a simulation; the source names the run. What the server cannot tell it says. */
export function timelineSection(simulation, { run }) {
  const { domain, id } = taskOf(simulation);
  const asked = { run, domain, task: id, trial: simulation.trial };
  const inside = () => {
    const place = h("div", {}, h("p", { class: "status" }, "Replaying …"));
    Promise.all([ask("/api/run/timeline", asked), detailOf(simulation)])
      .then(([found, details]) => place.replaceChildren(found.timeline?.messages.length ? travel(found, simulation, details, asked) : h("p", { class: "status" }, "This simulation has no databases to show.")))
      .catch((error) => place.replaceChildren(h("p", { class: "error" }, error.message)));
    return place;
  };
  const details = folded("Step through the conversation with the databases as they were", inside, unfolded);
  details.addEventListener("toggle", () => (unfolded = details.open));
  return h("section", { class: "part timeline" }, h("h3", {}, "Time travel"), details);
}
