// Search in the conversations. Unless the source has an index of its own, every packet is unpacked
// for it and let go again, so that a large run does not fill the memory.

import { detailsOf, named, searchSource, trialsOf } from "./data.js";

function* spoken({ messages = [], answer, wish }) {
  if (wish) yield wish;
  if (answer) yield answer;
  for (const { text, calls = [] } of messages) {
    if (text) yield text;
    for (const { name, arguments: given, result } of calls) yield* [name, given, result?.text ?? ""];
  }
}

function says(detail = {}, words) {
  for (const text of spoken(detail)) if (text.toLowerCase().includes(words)) return true;
  return false;
}

/** The simulations in which the words are said; `progress` gets how many tasks are done. */
export async function searchConversations(words, progress, wanted = () => true) {
  const names = await searchSource(words)?.catch(() => undefined);
  if (names) return new Set(names.map((name) => named.get(name)));
  const found = new Set();
  for (let task = 0; task < trialsOf.length && wanted(); task += 1) {
    const details = trialsOf[task].length ? await detailsOf(task) : new Map();
    for (const simulation of trialsOf[task]) if (says(details.get(simulation.trial), words)) found.add(simulation);
    progress(task + 1, trialsOf.length);
  }
  return found;
}
