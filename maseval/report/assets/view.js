// What the reader looks at: the simulations that are open, and the filters. All of it stands in the
// address after the #, so that a link leads to the same view: first the name of what is open and the
// message in it, then ? and the filters.
// `#retail/0/1/m4?outcome=fail&label=agent%3A+missing+write&beside=retail%2F0%2F0`

import { linkTo, named, nameOf, OUTCOMES } from "./data.js";

const PLAIN_FILTERS = ["words", "text", "where", "domain", "ended", "label", "view", "sort"];

/** What is shown: `view` is "list" for the flat list, which is sorted by `sort`, downwards with a - before it. */
export const filters = { ...Object.fromEntries(PLAIN_FILTERS.map((name) => [name, ""])), outcomes: new Set() };
/** The simulation that is open, the one beside it, and the number of the message to look at. */
export const reading = { one: undefined, other: undefined, message: undefined };

const listeners = [];

/** Calls `listener` whenever a filter was set. */
export function onFilters(listener) {
  listeners.push(listener);
}

export function filtersChanged() {
  for (const listener of listeners) listener();
}

/** Sets a filter. */
export function setFilter(name, value) {
  filters[name] = value;
  filtersChanged();
}

export function toggleOutcome(outcome) {
  if (!filters.outcomes.delete(outcome)) filters.outcomes.add(outcome);
  filtersChanged();
}

/** Sets a filter, or takes it back if it is set already; for everything that can be clicked. */
export function choose(name, value) {
  if (name === "outcome") toggleOutcome(value);
  else setFilter(name, filters[name] === value ? "" : value);
  document.getElementById("tasks").scrollIntoView({ block: "start" });
}

/** The two halves of the address; what cannot be decoded names nothing. */
function address() {
  const [name, query = ""] = location.hash.slice(1).split(/\?(.*)/s);
  try {
    return { name: decodeURIComponent(name), query: new URLSearchParams(query) };
  } catch {
    return { name: "", query: new URLSearchParams() }; // a lone % cannot be decoded
  }
}

/** Sets the filters to those of the address; whether it has any. */
export function readFilters() {
  const { query } = address();
  for (const name of PLAIN_FILTERS) filters[name] = query.get(name) ?? "";
  const outcomes = query.getAll("outcome").filter((outcome) => Object.hasOwn(OUTCOMES, outcome));
  filters.outcomes = new Set(outcomes);
  return [...query.keys()].some((key) => key !== "beside");
}

/** Whether the address says anything but what is open. */
export function hasQuery() {
  return address().query.size > 0;
}

/** The name in the address that nothing here has; empty if there is none. */
export function absentName() {
  return reading.one ? "" : address().name;
}

// The part of the address behind the # that was read last.
let handled = location.hash;

/** Opens what the address names. */
export function readReading() {
  handled = location.hash;
  const { name, query } = address();
  const [, simulation, message] = named.has(name) ? [name, name] : (/^(.*)\/m(\d+)$/s.exec(name) ?? []);
  reading.one = named.get(simulation);
  reading.message = reading.one && message && Number(message);
  reading.other = reading.one && named.get(query.get("beside"));
}

function filterQuery() {
  const query = new URLSearchParams();
  for (const name of PLAIN_FILTERS) if (filters[name]) query.set(name, filters[name]);
  for (const outcome of filters.outcomes) query.append("outcome", outcome);
  return query;
}

/** The address of a simulation, or of none, under the filters as they are. */
function addressOf(simulation, beside, message) {
  const query = filterQuery();
  if (beside) query.set("beside", nameOf(beside));
  const name = simulation ? linkTo(simulation, message) : "#";
  return query.size ? `${name}?${query}` : name;
}

/**
 * Makes the address agree with what is shown, without a new step in the history. Not while somebody
 * goes elsewhere: the event that says so is on its way, and would find the old address.
 */
export function writeAddress() {
  if (location.hash !== handled) return;
  const wanted = addressOf(reading.one, reading.other, reading.message);
  const whole = location.pathname + location.search + (wanted === "#" ? "" : wanted);
  history.replaceState(null, "", whole);
  handled = location.hash;
}

/** Opens a simulation, or two side by side. */
export function go(simulation, beside) {
  if (simulation) location.hash = addressOf(simulation, beside);
}
