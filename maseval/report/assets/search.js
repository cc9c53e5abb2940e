// Search in the conversations. Unless the source has an index of its own, every packet is unpacked
// for it and let go again, so that a large run does not fill the memory.

import { detailsOf, named, searchSource, trialsOf } from "./data.js";
import { count, counted } from "./text.js";

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

/** The simulations in which the words are said; `say` hears how far it is, as long as that is `wanted`. */
export async function searchConversations(words, say, wanted = () => true) {
  const names = await searchSource(words, say);
  if (names) return new Set(names.map((name) => named.get(name)));
  const found = new Set();
  for (let task = 0; task < trialsOf.length && wanted(); task += 1) {
    const details = trialsOf[task].length ? await detailsOf(task) : new Map();
    for (const simulation of trialsOf[task]) if (says(details.get(simulation.trial), words)) found.add(simulation);
    say(`Searching: ${count.format(task + 1)} of ${counted(trialsOf.length, "task")}`);
  }
  return found;
}
