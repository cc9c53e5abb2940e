// The index of all simulations is read at once; a task's packet of details when one is opened.

const index = JSON.parse(document.getElementById("index").textContent);
const simulations = index.simulations;
const packets = document.getElementsByClassName("packet");
const unpacked = new Map();

const OUTCOMES = {
  pass: { mark: "✓", word: "passed" },
  fail: { mark: "✗", word: "failed" },
  error: { mark: "!", word: "error" },
  unjudged: { mark: "·", word: "not judged" },
};

// Where each simulation stands in its task's packet.
const places = new Map();
{
  const next = index.tasks.map(() => 0);
  for (const simulation of simulations) places.set(simulation, next[simulation.task]++);
}

function taskOf(simulation) {
  return index.tasks[simulation.task];
}

/** The name that stands after the # of the address. */
function nameOf(simulation) {
  const { domain, id } = taskOf(simulation);
  return [domain, id, simulation.trial].filter((part) => part !== "").map(visible).join("/");
}

function linkTo(simulation) {
  return `#${encodeURIComponent(nameOf(simulation)).replaceAll("%2F", "/")}`;
}

const named = new Map(simulations.map((simulation) => [nameOf(simulation), simulation]));

/** The trials of each task, in its order. */
function simulationsByTask() {
  const trials = index.tasks.map(() => []);
  for (const simulation of simulations) trials[simulation.task].push(simulation);
  return trials;
}

async function unpack(packet) {
  const bytes = Uint8Array.from(atob(packet.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

/** What is shown when a simulation is opened. */
async function detailOf(simulation) {
  const { task } = simulation;
  if (!unpacked.has(task)) unpacked.set(task, unpack(packets[task]));
  const { common, trials } = await unpacked.get(task);
  return { ...common, ...trials[places.get(simulation)] };
}
