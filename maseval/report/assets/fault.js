// The fault at the message that decided a verdict: what the reference solution expected there beside what
// was found. These are arguments of a call, fields of the end state, and what was never said.

import { dataTable, folded, h, prose } from "./dom.js";
import { indented } from "./text.js";

const MOST_FAULTS = 8;

/** The values inside of a JSON value by their paths, such as `flights[0].date`. */
function* leaves(value, path = "") {
  const inside = value !== null && typeof value === "object" ? Object.entries(value) : [];
  if (!inside.length) yield [path, JSON.stringify(value)];
  for (const [key, each] of inside) yield* leaves(each, Array.isArray(value) ? `${path}[${key}]` : [path, key].filter(Boolean).join("."));
}

function parsed(text) {
  try {
    return new Map(leaves(JSON.parse(text)));
  } catch {
    return new Map();
  }
}

/** How a call differs from the closest one of the reference that nobody made; nothing if there is none. */
function wrongArguments({ name, by, arguments: given }, checks) {
  const found = parsed(given);
  const missed = checks.filter(({ kind, met, name: action }) => kind === "ACTION" && !met && action === `${by}: ${name}`);
  const differences = missed.map(({ arguments: wanted }) => {
    const expected = parsed(wanted);
    const places = new Set([...expected.keys(), ...found.keys()]);
    return [...places].filter((place) => expected.get(place) !== found.get(place)).map((place) => ({ place, expected: expected.get(place), found: found.get(place) }));
  });
  return differences.sort((a, b) => a.length - b.length)[0] ?? [];
}

/** The arguments of a call as JSON, with the lines marked whose values are wrong. */
export function markedArguments(text, wrong) {
  const marked = new Set(wrong.map(({ place, found }) => (place.endsWith("]") ? found : `"${place.split(".").at(-1)}": ${found}`)));
  const line = (words) => (marked.has(words.trim().replace(/,$/, "")) ? [/^ */.exec(words)[0], h("mark", {}, words.trim())] : words);
  return h("div", { class: "prose code", dir: "auto" }, indented(text).split("\n").map((words) => [line(words), "\n"]));
}

function expectedAndFound(rows) {
  const line = ({ place, expected, found }) =>
    h("tr", {}, h("th", { scope: "row" }, h("code", {}, place)), h("td", { "data-name": "expected" }, prose(expected ?? "(absent)", { class: "code" })), h("td", { "data-name": "found" }, h("mark", {}, found ?? "(absent)")));
  return dataTable("Expected and found", ["", "expected", "found"], rows.map(line), "fields");
}

/** What is wrong at a message: a table, and the wrong arguments of each of its calls. */
export function faultAt({ calls = [], index }, { explanation, verdicts = [] }) {
  const checks = verdicts.flatMap((each) => each.checks ?? []);
  const byCall = calls.map((call) => wrongArguments(call, checks));
  const fields = explanation?.fields ?? [];
  const own = fields.filter(({ message }) => message === index);
  const unmet = checks.filter(({ kind, counts, met }) => counts && !met && kind !== "DB" && kind !== "ACTION");
  const shown = own.length || byCall.flat().length ? own : fields;
  const missing = new Set(shown.map(({ remedy }) => remedy).filter(Boolean));
  const rows = [
    ...byCall.flat(),
    ...[...missing].map((remedy) => ({ place: "call", expected: remedy, found: "(not made)" })),
    ...shown,
    ...unmet.map(({ kind, name }) => ({ place: kind, expected: name, found: "(not met)" })),
  ];
  const rest = rows.slice(MOST_FAULTS);
  return { byCall, table: rows.length > 0 && h("div", { class: "fault" }, expectedAndFound(rows.slice(0, MOST_FAULTS)), rest.length > 0 && folded(`${rest.length} more`, () => expectedAndFound(rest))) };
}
