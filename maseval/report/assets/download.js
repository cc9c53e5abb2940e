// The simulations that the filters leave, as a file for a spreadsheet or a program.

import { index, taskOf } from "./data.js";
import { h, toolButton } from "./dom.js";

const COLUMNS = ["domain", "task", "trial", "outcome", "reward", "ended", "labels", "cost", "tokens", "seconds"];

function plainRow(simulation) {
  const { domain, id } = taskOf(simulation);
  return { ...simulation, domain, task: id, labels: simulation.labels };
}

/** A cell of a CSV file; one that a spreadsheet would take for a formula is marked as text. */
function csvCell(value) {
  const text = value == null ? "" : Array.isArray(value) ? value.join("; ") : String(value);
  const inert = typeof value !== "number" && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\n\r]/.test(inert) ? `"${inert.replaceAll('"', '""')}"` : inert;
}

function asCSV(list) {
  const lines = list.map((simulation) => {
    const row = plainRow(simulation);
    return COLUMNS.map((column) => csvCell(row[column])).join(",");
  });
  return [COLUMNS.join(","), ...lines, ""].join("\r\n");
}

function asJSON(list) {
  const rows = list.map((simulation) => {
    const row = plainRow(simulation);
    return Object.fromEntries(COLUMNS.map((column) => [column, row[column] ?? null]));
  });
  const { title, facts, results } = index;
  return JSON.stringify({ title, facts, results, simulations: rows }, null, 1);
}

/** Saves all that is known of a simulation. */
export function saveSimulation(name, detail) {
  save(JSON.stringify({ run: index.title, simulation: name, ...detail }, null, 1), "application/json", `${name.replace(/[^\w.-]+/g, "-")}.json`);
}

function save(text, type, name) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  h("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** `shown` gives the simulations to save. */
export function downloads(shown) {
  const name = index.title.replace(/[^\w.-]+/g, "-").slice(0, 80) || "report";
  return [
    toolButton("CSV", "The simulations below as a CSV file", () => save(asCSV(shown()), "text/csv", `${name}.csv`)),
    toolButton("JSON", "The simulations below as a JSON file", () => save(asJSON(shown()), "application/json", `${name}.json`)),
  ];
}
