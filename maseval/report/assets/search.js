// Search in the conversations. Every packet is unpacked for it and let go again, so that a large
// run does not fill the memory.

function* spoken({ messages = [], answer, wish }) {
  if (wish) yield wish;
  if (answer) yield answer;
  for (const { text, calls = [] } of messages) {
    if (text) yield text;
    for (const { name, arguments: given, result } of calls) yield* [name, given, result?.text ?? ""];
  }
}

function says(detail, words) {
  for (const text of spoken(detail)) if (text.toLowerCase().includes(words)) return true;
  return false;
}

/** The simulations in which the words are said; `progress` gets how many tasks are done. */
async function searchConversations(words, progress, wanted = () => true) {
  const found = new Set();
  const trials = simulationsByTask();
  for (let task = 0; task < trials.length && wanted(); task += 1) {
    const { common, trials: details } = await unpack(packets[task]);
    trials[task].forEach((simulation, place) => says({ ...common, ...details[place] }, words) && found.add(simulation));
    progress(task + 1, trials.length);
  }
  return found;
}
