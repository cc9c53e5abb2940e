// Where the data comes from. A source gives the index of all simulations, which is read at once, and
// a task's packet of details, which is read when one of its simulations is opened:
// `{ index(): Promise, packet(place, task, trial): Promise }`, where `place` is the task's in the index.
// One whose packets hold nothing but the trial asked for says so with `byTrial`; one that can search
// has `search(words)`. What a source throws is shown to the reader.

async function unpack(text) {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** The data that this file brings along. */
export function embedded() {
  const packets = document.getElementsByClassName("packet");
  return {
    index: async () => JSON.parse(document.getElementById("index").textContent),
    packet: async (task) => {
      if (!("DecompressionStream" in window)) throw new Error("This browser is too old to unpack the conversation.");
      try {
        return await unpack(packets[task].textContent);
      } catch (error) {
        throw new Error(`This part of the file is damaged: ${error}`);
      }
    },
  };
}
