// The run that is shown: its tasks and simulations, and the details of each as they are asked for.

import { visible } from "./text.js";

export const OUTCOMES = {
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

/** Reads the index anew. A simulation that is known stays the same object, as others hold on to it. */
export async function reload() {
  const known = named;
  index = await source.index();
  kept = new Map();
  simulations = index.simulations.map((row) => Object.assign(known.get(nameOf(row)) ?? row, row));
  named = new Map(simulations.map((simulation) => [nameOf(simulation), simulation]));
  trialsOf = index.tasks.map(() => []);
  for (const simulation of simulations) trialsOf[simulation.task].push(simulation);
}

/** Adds a simulation that just finished, or what is new of a known one; says which task it is of. */
export function take(task, row) {
  const place = index.tasks.findIndex(({ domain, id }) => domain === task.domain && id === task.id);
  const mine = { ...row, task: place < 0 ? index.tasks.push(task) - 1 : place };
  if (place < 0) trialsOf.push([]);
  const known = named.get(nameOf(mine));
  kept.delete(mine.task);
  kept.delete(known);
  if (known) Object.assign(known, mine);
  else {
    named.set(nameOf(mine), mine);
    simulations.push(mine);
    trialsOf[mine.task].push(mine);
    trialsOf[mine.task].sort((a, b) => parseFloat(a.trial) - parseFloat(b.trial));
  }
  return mine.task;
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

/** The simulations whose conversation has these words, if the source can say so itself. */
export function searchSource(words) {
  return source.search?.(words);
}

/** How many simulations there are of each kind, the most frequent first. */
export function tally(select) {
  const found = new Map();
  for (const simulation of simulations) {
    for (const key of [select(simulation)].flat()) if (key != null) found.set(key, (found.get(key) ?? 0) + 1);
  }
  return new Map([...found].sort((a, b) => b[1] - a[1]));
}
