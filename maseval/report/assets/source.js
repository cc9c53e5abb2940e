// Where the data comes from. A source gives the index of all simulations, which is read at once, and
// a task's packet of details, which is read when one of its simulations is opened:
// `{ index(): Promise, packet(place, task, trial): Promise }`, where `place` is the task's in the index.
// One whose packets hold nothing but the trial asked for says so with `byTrial`; one that can search
// has `search(words, say)`. What a source throws is shown to the reader.

/** A value that was written as JSON, gzip and base64. */
export async function unpack(text) {
  if (!("DecompressionStream" in window)) throw new Error("This browser is too old to unpack the conversation.");
  try {
    const bytes = Uint8Array.fromBase64?.(text) ?? Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return await new Response(stream).json();
  } catch (error) {
    throw new Error(`This part of the file is damaged: ${error}`);
  }
}

/** The data that this file brings along. */
export function embedded() {
  const packets = document.getElementsByClassName("packet");
  return {
    index: async () => JSON.parse(document.getElementById("index").textContent),
    packet: (task) => unpack(packets[task].textContent),
  };
}
