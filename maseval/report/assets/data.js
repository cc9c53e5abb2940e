// The run that is shown: its tasks and simulations, and the details of each as they are asked for.

import { count, visible } from "./text.js";

// Texts from outside are looked up in such tables: without a prototype they find nothing else.
export const OUTCOMES = {
  __proto__: null,
  pass: { mark: "✓", word: "passed" },
  fail: { mark: "✗", word: "failed" },
  error: { mark: "!", word: "error" },
  unjudged: { mark: "·", word: "not judged" },
};

export let index;
export let simulations = [];
/** Each simulation by its name. */
export let named = new Map();
/** The trials of each task, in its order. */
export let trialsOf = [];

let source;
let kept = new Map();

/** Shows the data of a source from now on. */
export async function load(from) {
  source = from;
  named = new Map();
  await reload();
}

/** A row for each simulation, from the columns of an index: see `report/columns.py`. */
export function rowsOf({ length, columns }) {
  const readers = Object.entries(columns).map(([name, { values, places, each }]) => [name, (at) => (each ? each[at] : values[places ? places[at] : 0])]);
  return Array.from({ length }, (_, at) => Object.fromEntries(readers.map(([name, read]) => [name, read(at)])));
}

/** Reads the index anew. A simulation that is known stays the same object, as others hold on to it. */
export async function reload() {
  const known = named;
  index = await source.index();
  kept = new Map();
  simulations = rowsOf(index.simulations).map((row) => Object.assign(known.get(nameOf(row)) ?? row, row));
  named = new Map(simulations.map((simulation) => [nameOf(simulation), simulation]));
  trialsOf = index.tasks.map(() => []);
  for (const simulation of simulations) trialsOf[simulation.task].push(simulation);
}

const naming = new Intl.Collator("en", { numeric: true });

/** The place of a task, which is added in the order of names if it is new. */
function placeOf(task) {
  const place = index.tasks.findIndex(({ domain, id }) => domain === task.domain && id === task.id);
  if (place >= 0) {
    index.tasks[place].note ||= task.note; // a task that was only planned had none yet
    return place;
  }
  const later = ({ domain, id }) => (naming.compare(domain, task.domain) || naming.compare(id, task.id)) > 0;
  const next = index.tasks.findIndex(later);
  const fresh = next < 0 ? index.tasks.length : next;
  index.tasks.splice(fresh, 0, task);
  trialsOf.splice(fresh, 0, []);
  for (const simulation of simulations) if (simulation.task >= fresh) simulation.task += 1;
  return fresh;
}

/** Adds a simulation that just finished, or what is new of a known one. */
export function take(task, trial, row) {
  const mine = { ...row, trial, task: placeOf(task) };
  const known = named.get(nameOf(mine));
  kept.delete(mine.task);
  kept.delete(known);
  if (known) return Object.assign(known, mine);
  named.set(nameOf(mine), mine);
  simulations.push(mine);
  trialsOf[mine.task].push(mine);
  trialsOf[mine.task].sort((a, b) => parseFloat(a.trial) - parseFloat(b.trial));
  return mine;
}

/** Reads the results anew, which are made from all simulations; what is known of each of them stays. */
export async function reloadResults() {
  const { live, ...found } = await source.results();
  Object.assign(index, found);
  Object.assign(index.live, live);
}

/** How far labelling has come, as long as it goes on: until then no number of labels is final. */
export function labelling() {
  const labelled = index.live?.labelled;
  return labelled < simulations.length ? `labelling ${count.format(labelled)} of ${count.format(simulations.length)}` : "";
}

export function taskOf(simulation) {
  return index.tasks[simulation.task];
}

/** The name that stands after the # of the address. */
export function nameOf(simulation) {
  const { domain, id } = taskOf(simulation);
  return simulationName(domain, id, simulation.trial);
}

export function simulationName(domain, id, trial) {
  return [domain, id, trial].filter((part) => part !== "").map(visible).join("/");
}

/** The address of a simulation by its name, or of one of its messages. */
export function hashOf(name, message) {
  const place = message == null ? "" : `/m${message}`;
  return `#${encodeURIComponent(name).replaceAll("%2F", "/")}${place}`;
}

export function linkTo(simulation, message) {
  return hashOf(nameOf(simulation), message);
}

/** What is shown of a task's simulations, by the names of their trials; nothing of it is kept. */
export async function detailsOf(task, trial) {
  const { common, names, trials } = await source.packet(task, index.tasks[task], trial);
  return new Map(trials.map((own, place) => [names[place], { ...common, ...own }]));
}

/** What is shown when a simulation is opened. */
export async function detailOf(simulation) {
  const { task, trial } = simulation;
  const key = source.byTrial ? simulation : task;
  if (!kept.has(key)) {
    const details = detailsOf(task, trial);
    kept.set(key, details);
    // What could not be read may be there at the next try.
    details.catch(() => kept.get(key) === details && kept.delete(key));
  }
  const detail = (await kept.get(key)).get(trial);
  if (!detail) throw new Error(`The record of ${nameOf(simulation)} is not there.`);
  return detail;
}

/** What the source shows below a simulation, such as the notes of readers. */
export function belowSimulation(simulation) {
  return source.below?.(simulation);
}

/** The simulations whose conversation has these words, if the source can say so itself. */
export function searchSource(words, say) {
  return source.search && source.search(words, say);
}

/** How many simulations there are of each kind, the most frequent first. */
export function tally(select) {
  const found = new Map();
  for (const simulation of simulations) {
    for (const key of [select(simulation)].flat()) if (key != null) found.set(key, (found.get(key) ?? 0) + 1);
  }
  return new Map([...found].sort((a, b) => b[1] - a[1]));
}
