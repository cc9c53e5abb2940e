// Tags and notes: what people wrote about a run. They can be changed in the page if the viewer was
// started for it.

import { h } from "../dom.js";
import { tell } from "./server.js";

/** A field in the place of a cell's content; `save` sends what was written. */
function writing(cell, label, text, save, back) {
  const field = h("input", { type: "text", "aria-label": label });
  field.value = text;
  const problem = h("small", { class: "problem", role: "alert" });
  const submit = async (event) => {
    event.preventDefault();
    try {
      await save(field.value);
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const cancel = (event) => {
    if (event.key === "Escape") back();
    event.stopPropagation(); // letters are no commands here
  };
  cell.replaceChildren(h("form", { submit, keydown: cancel }, field, h("button", { type: "submit" }, "Save"), h("button", { type: "button", click: back }, "Cancel"), problem));
  field.focus();
}

function editable(shown, label, text, run, remarks, send) {
  const cell = h("div", { class: "annotation" });
  const back = () => {
    const edit = h("button", { type: "button", class: "edit", "aria-label": label, click: begin }, "✎");
    cell.replaceChildren(h("span", {}, shown(run)), ...(remarks.edit ? [edit] : []));
  };
  const save = async (written) => {
    const changed = await send(written);
    back();
    remarks.changed({ ...run, ...changed });
  };
  const begin = () => writing(cell, label, text, save, back);
  back();
  return cell;
}

export function tagsCell(run, remarks) {
  const shown = ({ tags }) => (tags.length ? tags.map((tag) => h("span", { class: "tag" }, tag)) : "");
  const send = async (written) => {
    const tags = [...new Set(written.split(",").map((tag) => tag.trim()))].filter(Boolean);
    const answer = await tell("/api/run/tags", { run: run.name, tags, was: run.tags });
    return { tags: answer.tags ?? tags };
  };
  return editable(shown, `Tags of ${run.name}`, run.tags.join(", "), run, remarks, send);
}

export function noteCell(run, remarks) {
  const send = async (text) => {
    const { note } = await tell("/api/run/note", { run: run.name, text, was: run.note });
    return { note };
  };
  return editable(({ note }) => note ?? "", `Note on ${run.name}`, run.note ?? "", run, remarks, send);
}
