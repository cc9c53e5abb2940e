// The filters above the table: which simulations they leave, and their controls.

import { index, OUTCOMES, tally, taskOf } from "./data.js";
import { h } from "./dom.js";
import { FIELD_NAMES, parseExpression } from "./expression.js";
import { searchConversations } from "./search.js";
import { meaningOf, term } from "./terms.js";
import { count } from "./text.js";
import { filters, setFilter, toggleOutcome } from "./view.js";

// The simulations in which filters.text was found; null while nothing is searched for.
let saying = null;
// What the expression says of a simulation, and why it could not be understood.
let holds = () => true;
let parsedText = "";
/** Why the expression was not understood; empty if it was. */
export let misread = "";

function readExpression() {
  if (filters.where === parsedText) return;
  parsedText = filters.where;
  misread = "";
  try {
    holds = parseExpression(parsedText);
  } catch ({ message }) {
    [holds, misread] = [() => true, message];
  }
}
let searched = "";
// What shows a filter's value, by its name.
const controls = new Map();

function matchesTask({ domain, id, note }) {
  const { words } = filters;
  return (!filters.domain || domain === filters.domain) && (!words || `${id}\n${note}`.toLowerCase().includes(words.toLowerCase()));
}

/** Whether the filters leave a task of which nothing is known but its plan. */
export function matchesPlan(task) {
  return matchesTask(task) && !filters.ended && !filters.label && !filters.outcomes.size && !filters.where && !saying;
}

/** Whether the filters leave a simulation. */
export function matches(simulation) {
  readExpression();
  return (
    holds(simulation) &&
    matchesTask(taskOf(simulation)) &&
    (!filters.ended || simulation.ended === filters.ended) &&
    (!filters.label || simulation.labels.includes(filters.label)) &&
    (!filters.outcomes.size || filters.outcomes.has(simulation.outcome)) &&
    (!saying || saying.has(simulation))
  );
}

/** Finds out in which conversations filters.text is said, unless that is known; returns what kept it from that. */
export async function search(status) {
  const { text } = filters;
  if (text === searched) return "";
  searched = text;
  if (!text) saying = null;
  else {
    const wanted = () => searched === text;
    const say = (progress) => wanted() && (status.textContent = progress);
    try {
      const found = await searchConversations(text.toLowerCase(), say, wanted);
      if (wanted()) saying = found;
    } catch (error) {
      if (wanted()) {
        searched = saying = null; // the next change of a filter searches again
        return error.message;
      }
    }
  }
  return "";
}

/** Shows the filters as they are, wherever they were set. */
export function showFilters() {
  for (const [name, set] of controls) set(filters[name] ?? "");
}

/** A list to choose from; the first entry, if there is one, stands for all. */
export function choice(label, values, changed, all) {
  const options = values.map((value) => h("option", { value }, value));
  // An option's value is compared with data, so it must be the data and not its visible form.
  options.forEach((option, position) => (option.value = values[position]));
  const select = h("select", { change: () => changed(select.value) }, all && h("option", { value: "" }, all), options);
  return { select, field: h("label", {}, term(label), select) };
}

function filterBy(name, label, values) {
  const { select, field } = choice(label, values, (value) => setFilter(name, value), "all");
  controls.set(name, (value) => (select.value = value));
  return field;
}

function outcomeButtons() {
  const found = tally((simulation) => simulation.outcome);
  const buttons = Object.entries(OUTCOMES)
    .filter(([outcome]) => found.has(outcome))
    .map(([outcome, { mark, word }]) => {
      const pressed = { type: "button", class: `chip ${outcome}`, "aria-pressed": "false", "data-hint": meaningOf(word), click: () => toggleOutcome(outcome) };
      const button = h("button", pressed, h("b", {}, mark), ` ${word} `, h("small", {}, count.format(found.get(outcome))));
      controls.set(`outcome ${outcome}`, () => button.setAttribute("aria-pressed", String(filters.outcomes.has(outcome))));
      return button;
    });
  return h("div", { class: "chips", role: "group", "aria-label": "Outcome" }, buttons);
}

const PAUSE = 300;
const SEARCH_IDS = { words: "search", text: "search-text", where: "search-where" };

function searchField(name, label) {
  let waiting;
  const field = h("input", { type: "search", id: SEARCH_IDS[name], title: name === "where" ? `Fields: ${FIELD_NAMES}` : null, placeholder: label, "aria-label": name === "where" ? `Filter, such as ${label}` : label });
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => setFilter(name, field.value), name === "words" ? 0 : PAUSE);
  });
  controls.set(name, (value) => field.value !== value && (field.value = value));
  return field;
}

/** The controls, and beside them whatever else belongs above the table. */
export function filterBar(...beside) {
  controls.clear();
  const domains = [...new Set(index.tasks.map(({ domain }) => domain))].filter(Boolean);
  const labels = [...tally((simulation) => simulation.labels).keys()];
  return h(
    "div",
    { class: "filters", role: "search" },
    searchField("words", "Task id or text ( / )"),
    searchField("text", "Said in a conversation"),
    searchField("where", "steps > 30 and tool = refund"),
    outcomeButtons(),
    domains.length > 1 && filterBy("domain", "Domain", domains),
    filterBy("ended", "Termination", [...tally((simulation) => simulation.ended).keys()]),
    labels.length > 0 && filterBy("label", "Label", labels),
    beside,
  );
}
