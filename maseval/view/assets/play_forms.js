// Tools as forms: an input for each parameter. What is written is read and checked by the server.

import { h, prose } from "../dom.js";

const LABELS = { integer: "whole number", number: "number", boolean: "yes or no", list: "separated by commas", json: "JSON" };

function optionsOf({ kind, choices, required }) {
  const values = kind === "boolean" ? ["yes", "no"] : choices;
  const options = values.map((value) => h("option", { value }, value));
  options.forEach((option, at) => (option.value = values[at]));
  return [h("option", { value: "" }, required ? "choose …" : "–"), options];
}

function inputOf(field) {
  if (field.kind === "choice" || field.kind === "boolean") return h("select", {}, optionsOf(field));
  if (field.kind !== "json") return h("input", { type: "text", autocomplete: "off", inputmode: field.kind === "integer" ? "numeric" : undefined });
  const area = h("textarea", { rows: "3", spellcheck: "false" });
  area.placeholder = field.example;
  return area;
}

function fieldOf(field) {
  const input = inputOf(field);
  const words = [LABELS[field.kind], !field.required && "optional", field.default != null && `else ${JSON.stringify(field.default)}`].filter(Boolean);
  const label = h("label", {}, h("span", {}, h("code", {}, field.name), words.length > 0 && h("small", {}, ` ${words.join(", ")}`)), input, field.help && h("small", {}, field.help));
  return { name: field.name, input, label };
}

/** A folded form; `call` gets the tool's name and what was written, and fails with what is wrong. */
export function toolForm({ name, description, fields }, call) {
  const inputs = fields.map(fieldOf);
  const problem = h("p", { class: "problem", role: "alert" });
  const button = h("button", { type: "submit" }, "Call");
  const submit = async (event) => {
    event.preventDefault();
    problem.textContent = "";
    const written = Object.fromEntries(inputs.map(({ name: key, input }) => [key, input.value]).filter(([, value]) => value !== ""));
    try {
      await call(name, written);
      details.open = false;
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const form = h("form", { submit }, prose(description), inputs.map(({ label }) => label), problem, h("div", {}, button));
  const details = h("details", { class: "tool-form", "data-tool": name }, h("summary", {}, h("code", {}, name), " ", h("small", {}, description.split("\n")[0])), form);
  details.enable = (on) => (button.disabled = !on);
  return details;
}
