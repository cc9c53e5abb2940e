// Notes on a simulation, and disagreement with one of its findings: shown where there are any, and written
// where the viewer was started with leave to write.

import { named, nameOf, taskOf } from "../data.js";
import { add, h } from "../dom.js";
import { term } from "../terms.js";
import { minute } from "./frame.js";
import { ask, pathTo, tell } from "./server.js";

const NOTES = "/api/notes";

/** The reader's name, as it was given last. */
function rememberedName(name) {
  try {
    if (name != null) localStorage.setItem("maseval-name", name);
    return localStorage.getItem("maseval-name") ?? "";
  } catch {
    return name ?? "";
  }
}

function noteItem({ by, at, about, disagrees, text }) {
  const head = [h("b", {}, by), h("small", {}, ` ${minute(at)}`), disagrees && h("span", { class: "tag bad" }, `disagrees${about ? `: ${about}` : ""}`)];
  return h("li", {}, h("div", { class: "note-head" }, head), text && h("p", { class: "note-text", dir: "auto" }, text));
}

function noteForm(simulation, send, judgeLink) {
  const name = h("input", { name: "by", required: "", maxlength: "60", placeholder: "Your name", "aria-label": "Your name" });
  name.value = rememberedName();
  const about = h("select", { name: "about", "aria-label": "About" }, h("option", { value: "" }, "this simulation"));
  // Labels may be found while somebody reads; a choice that was made stays.
  const offer = () => {
    const offered = new Set([...about.options].map(({ value }) => value));
    const fresh = named.get(nameOf(simulation))?.labels.filter((label) => !offered.has(label)) ?? [];
    add(about, fresh.map((label) => h("option", { value: label }, label)));
  };
  offer();
  about.addEventListener("focus", offer);
  const disagrees = h("input", { type: "checkbox", name: "disagrees" });
  const text = h("textarea", { name: "text", rows: "2", maxlength: "4000", "aria-label": "Note", placeholder: "Note" });
  const failed = h("p", { class: "error", role: "alert", hidden: true });
  const submit = async (event) => {
    event.preventDefault();
    rememberedName(name.value);
    try {
      await send({ by: name.value, about: about.value, disagrees: disagrees.checked, text: text.value });
    } catch (error) {
      failed.hidden = false;
      failed.textContent = error.message;
    }
  };
  return h("form", { class: "note-form", submit }, h("div", {}, name, " ", about, " ", h("label", {}, disagrees, " I disagree")), text, h("div", {}, h("button", { type: "submit" }, "Keep")), failed, judgeLink);
}

/** What stands below a simulation of this run: its notes, which arrive later. */
export function notesOf(run) {
  return (simulation) => {
    const { domain, id } = taskOf(simulation);
    const isMine = (note) => note.simulation.domain === domain && note.simulation.task_id === id && String(note.simulation.trial) === simulation.trial;
    const section = h("section", { class: "part notes-on", hidden: true });
    const draw = ({ notes, writes }) => {
      const mine = notes.filter(isMine);
      const send = async (body) => draw(await tell(NOTES, { run }, { domain, task_id: id, trial: simulation.trial, ...body }));
      section.hidden = !writes && !mine.length;
      section.replaceChildren();
      add(section, [h("h3", {}, term("Notes")), mine.length > 0 && h("ul", {}, mine.map(noteItem)), writes && noteForm(simulation, send, h("a", { href: pathTo(run).replace("/run/", "/label/") }, "Label conversations of this run for its judge"))]);
    };
    ask(NOTES, { run }).then(draw, () => {}); // a site has none
    return section;
  };
}
