// Time travel: a slider over the conversation, and beside the message what the databases were like
// after it: what it changed, what differs from the start, and from the gold end state.

import { drawMessage } from "./conversation.js";
import { add, code, dataTable, folded, h, svg, toolButton } from "./dom.js";
import { counted } from "./text.js";
import { reading, writeAddress } from "./view.js";

// What stays as the reader left it when another simulation is opened.
let unfolded = false;
// Moves the slider that is open to the message of the address.
let followAddress;

// The page reads the new address first.
addEventListener("hashchange", () => setTimeout(() => followAddress?.()));

const shownValue = (value) => (value === undefined ? h("i", {}, "(none)") : code(typeof value === "string" ? value : JSON.stringify(value)));

function differenceTable(title, differences, before) {
  const lines = differences.map(({ side, place, was, is }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("span", { class: "id" }, place), side === "customer" && h("small", {}, " customer's")),
      h("td", { "data-name": before }, shownValue(was)),
      h("td", { "data-name": "Now" }, shownValue(is)),
    ),
  );
  return dataTable(title, ["Field", before, "Now"], lines, "fields");
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

function drawTravel({ timeline, messages = [] }, link) {
  const moments = timeline.messages;
  let here = 0;
  const slider = h("input", { type: "range", min: 0, max: moments.length - 1, step: 1, "aria-label": "Message" });
  const where = h("output", { class: "status" });
  const said = h("ol", { class: "conversation" });
  const world = h("div", { class: "worlds" });
  const section = h("div", { class: "travel" });

  const moveTo = (position, { address = true } = {}) => {
    here = Math.min(Math.max(position, 0), moments.length - 1);
    const moment = moments[here];
    slider.value = here;
    where.textContent = `Message ${moment.index} of ${moments.at(-1).last}: ${spokenBy(moment)}`;
    slider.setAttribute("aria-valuetext", where.textContent);
    const words = messages.find(({ index }) => index === moment.index);
    const drawn = words && drawMessage(words, link);
    drawn?.removeAttribute("id"); // it stands in the conversation too
    drawn?.removeAttribute("data-message");
    said.replaceChildren(...[drawn].filter(Boolean));
    world.replaceChildren();
    add(world, [worldAfter(timeline, moment)]);
    const inside = section.closest(".inside");
    inside?.querySelectorAll(".message.now").forEach((each) => each.classList.remove("now"));
    inside?.querySelector(`[data-message="${moment.index}"]`)?.classList.add("now");
    if (!address) return;
    reading.message = moment.index;
    writeAddress();
  };
  slider.addEventListener("input", () => moveTo(Number(slider.value)));
  const step = (label, title, by) => toolButton(label, title, () => moveTo(here + by));
  const bar = h("div", { class: "travel-bar" }, step("◀", "Message before", -1), h("div", { class: "travel-slider" }, slider, changeMarks(timeline)), step("▶", "Message after", 1), where);
  add(section, [bar, h("div", { class: "travel-columns" }, said, world)]);
  const placeOf = (message) => moments.findIndex(({ index, last }) => message != null && index <= message && message <= last);
  followAddress = () => {
    const wanted = section.isConnected ? placeOf(reading.message) : -1;
    if (wanted >= 0 && wanted !== here) moveTo(wanted, { address: false });
  };
  const first = placeOf(reading.message);
  moveTo(first < 0 ? moments.length - 1 : first, { address: false });
  return { section, to: (message) => moveTo(Math.max(0, placeOf(message))) };
}

/** The section of a simulation; `onTravel` gets what opens it at a message. */
export function timelineSection(detail, link, { onTravel } = {}) {
  if (!detail.timeline?.messages.length) return null;
  let travelled;
  const inside = () => {
    travelled = drawTravel(detail, link);
    return travelled.section;
  };
  const details = folded("Step through the conversation with the databases as they were", inside, unfolded);
  details.addEventListener("toggle", () => (unfolded = details.open));
  onTravel?.((message) => {
    details.open = true;
    if (!travelled) details.append(inside());
    travelled.to(message);
    details.scrollIntoView({ block: "start" });
    details.querySelector("input").focus({ preventScroll: true });
  });
  return details;
}
