// Remarks: what readers wrote about a simulation or one of its messages, and whether they agree with
// its verdict. They are only shown, unless the page was given a keeper of remarks.

import { index, nameOf, OUTCOMES, simulationName, taskOf } from "./data.js";
import { add, h, prose } from "./dom.js";

const OPINIONS = { agree: "The verdict is right", disagree: "The verdict is wrong" };

// `read()` and `keep(remark)` answer with all remarks of the run as they are now, and `read` with
// whether the reader may `edit` them.
let keeper;
let mayRemark = false;
let remarksKnown = { all: undefined };
let readersLine;

/** Has remarks read anew when a simulation is opened, and kept. */
export function useRemarks(given) {
  keeper = given;
}

function takeRemarks({ remarks, reading, edit = mayRemark }) {
  mayRemark = edit;
  Object.assign(index, { remarks, reading });
  if (readersLine) [readersLine.textContent, readersLine.hidden] = [reading ?? "", !reading];
}

/** Reads what others wrote since; without a connection, what is known is shown. */
export async function refreshRemarks() {
  await keeper?.read().then(takeRemarks, () => {});
}

function remarksOn(simulation) {
  const all = index.remarks;
  if (remarksKnown.all !== all) {
    remarksKnown = { all, bySimulation: new Map() };
    for (const each of all) {
      const name = simulationName(each.domain, each.task_id, each.trial);
      remarksKnown.bySimulation.set(name, [...(remarksKnown.bySimulation.get(name) ?? []), each]);
    }
  }
  return remarksKnown.bySimulation.get(nameOf(simulation)) ?? [];
}

/** What the filter by remarks knows of a simulation. */
export function remarkKinds(simulation) {
  const own = remarksOn(simulation);
  const read = own.find(({ opinion, outcome }) => opinion && outcome === simulation.outcome);
  return [read ? OPINIONS[read.opinion] : "Verdict not read", own.length > 0 && "Any remark"].filter(Boolean);
}

/** How many verdicts readers disagree with, as a line of the notes. */
export function readersNote() {
  readersLine = h("li", { hidden: !index.reading }, index.reading ?? "");
  return readersLine;
}

/** A form in the place of a remark; `done` is called when it was kept, `back` if it was not. */
function remarkForm(simulation, draft, done, back) {
  const { domain, id: task } = taskOf(simulation);
  const area = h("textarea", { rows: "3", maxlength: "20000", "aria-label": draft.opinion ? "Why" : "Remark", placeholder: draft.opinion ? "Why? (optional)" : "" });
  area.value = draft.text;
  const radio = (value, words) => h("label", {}, h("input", { type: "radio", name: "opinion", value, checked: value === draft.opinion }), ` ${words}`);
  const opinions = draft.opinion && h("div", { class: "opinions", role: "radiogroup", "aria-label": "Is this verdict right?" }, Object.entries(OPINIONS).map(([value, words]) => radio(value, words)));
  const problem = h("p", { class: "problem", role: "alert" });
  const keep = async (event, remark) => {
    event.preventDefault();
    problem.textContent = "";
    try {
      takeRemarks(await keeper.keep({ ...draft, domain, task, trial: simulation.trial, ...remark }));
      done();
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const submit = (event) => keep(event, { text: area.value, ...(draft.opinion && { opinion: form.elements.opinion.value, outcome: simulation.outcome }) });
  const remove = draft.id && h("button", { type: "button", click: (event) => keep(event, { text: "", opinion: null }) }, "Remove");
  const keydown = (event) => {
    if (event.key === "Escape") back();
    event.stopPropagation(); // letters are no commands here
  };
  const form = h("form", { class: "remark-form", submit, keydown }, opinions, area, problem, h("div", {}, h("button", { type: "submit" }, "Save"), remove, h("button", { type: "button", click: back }, "Cancel")));
  return { form, focus: () => area.focus() };
}

function remarkItem(simulation, remark, edit) {
  const { opinion, outcome, text, written } = remark;
  const earlier = opinion && outcome !== simulation.outcome && ` (when it was: ${OUTCOMES[outcome]?.word ?? outcome})`;
  const when = h("small", {}, written.slice(0, 16).replace("T", " "));
  const button = mayRemark && h("button", { type: "button", class: "jump", click: edit, "aria-label": `Edit: ${opinion ? OPINIONS[opinion] : text.slice(0, 60)}` }, "Edit");
  return h("li", { class: `remark ${opinion ?? ""}` }, opinion && h("strong", {}, OPINIONS[opinion], earlier), text && prose(text), h("div", {}, when, button));
}

/** The remarks of one place, with a way to add one: a message, or the simulation as a whole. */
function remarkBlock(simulation, message = null) {
  const block = h("div", { class: "remarks" });
  const begin = (place, draft) => {
    const { form, focus } = remarkForm(simulation, draft, () => draw(true), () => draw(true));
    place.replaceChildren(form);
    focus();
  };
  const blank = { text: "", message, opinion: null };
  const judge = async (opinion, problem) => {
    const { domain, id: task } = taskOf(simulation);
    try {
      takeRemarks(await keeper.keep({ ...blank, domain, task, trial: simulation.trial, opinion, outcome: simulation.outcome }));
      draw(true);
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const question = () => {
    const problem = h("p", { class: "problem", role: "alert" });
    const agree = h("button", { type: "button", click: () => judge("agree", problem) }, "Agree");
    // Who disagrees is asked why before anything is saved.
    const disagree = h("button", { type: "button", click: () => begin(box, { ...blank, opinion: "disagree" }) }, "Disagree");
    const box = h("div", { class: "opinions", role: "group", "aria-label": "Is this verdict right?" }, "Is this verdict right?", agree, disagree, problem);
    return box;
  };
  const draw = (focused = false) => {
    const own = remarksOn(simulation).filter((each) => each.message === message);
    const items = own.map((remark) => {
      const item = remarkItem(simulation, remark, () => begin(item, remark));
      return item;
    });
    const open = mayRemark && message === null && ["pass", "fail"].includes(simulation.outcome) && !own.some(({ opinion }) => opinion);
    const place = h("div", {});
    const more = mayRemark && h("button", { type: "button", class: "jump add-remark", click: () => begin(place, blank), "aria-label": message === null ? "Add a remark on this simulation" : `Add a remark on message ${message}` }, "Add a remark");
    block.replaceChildren();
    add(block, [open && question(), items.length > 0 && h("ul", {}, items), add(place, [more])]);
    if (focused) (block.querySelector("li:last-child button") ?? block.querySelector("button"))?.focus();
  };
  draw();
  return block;
}

/** Adds the remarks to a simulation that is drawn: at its messages, and after its verdict. */
export function drawRemarks(inside, simulation) {
  const own = remarksOn(simulation);
  const messages = new Map([...inside.querySelectorAll("[data-message]")].map((each) => [Number(each.dataset.message), each]));
  for (const [number, message] of messages) if (mayRemark || own.some((each) => each.message === number)) message.append(remarkBlock(simulation, number));
  if (!own.length && !mayRemark) return;
  const section = h("section", { class: "part reader" }, h("h3", {}, "Remarks"), remarkBlock(simulation));
  const verdict = inside.querySelector(".part.verdict");
  if (verdict) verdict.after(section);
  else inside.append(section);
}
