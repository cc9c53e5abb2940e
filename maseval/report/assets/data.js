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
  kept = new Map();
  index = await source.index();
  simulations = index.simulations;
  named = new Map(simulations.map((simulation) => [nameOf(simulation), simulation]));
  trialsOf = index.tasks.map(() => []);
  for (const simulation of simulations) trialsOf[simulation.task].push(simulation);
}

export function taskOf(simulation) {
  return index.tasks[simulation.task];
}

/** The name that stands after the # of the address. */
export function nameOf(simulation) {
  const { domain, id } = taskOf(simulation);
  return [domain, id, simulation.trial].filter((part) => part !== "").map(visible).join("/");
}

export function linkTo(simulation) {
  return `#${encodeURIComponent(nameOf(simulation)).replaceAll("%2F", "/")}`;
}

/** What is shown of each of a task's simulations; nothing of it is kept. */
export async function detailsOf(task) {
  const { common, trials } = await source.packet(task);
  return trials.map((own) => ({ ...common, ...own }));
}

/** What is shown when a simulation is opened. */
export async function detailOf(simulation) {
  const { task } = simulation;
  if (!kept.has(task)) kept.set(task, detailsOf(task));
  return (await kept.get(task))[trialsOf[task].indexOf(simulation)];
}

/** How many simulations there are of each kind, the most frequent first. */
export function tally(select) {
  const found = new Map();
  for (const simulation of simulations) {
    for (const key of [select(simulation)].flat()) if (key != null) found.set(key, (found.get(key) ?? 0) + 1);
  }
  return new Map([...found].sort((a, b) => b[1] - a[1]));
}
