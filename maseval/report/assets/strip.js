// Every trial in one picture: a column of squares for each task, those first that fail most, coloured by
// why they failed. A path for each colour draws thousands as fast as one.

import { OUTCOMES, simulations, taskOf, trialsOf } from "./data.js";
import { h, svg } from "./dom.js";
import { count, counted, visible } from "./text.js";
import { go } from "./view.js";

const WIDTH = 720;
const TALLEST = 200;
const LARGEST = 15;
const SMALLEST = 1.5;
const COLOURS = 6;

const failed = ({ outcome }) => outcome === "fail" || outcome === "error";

/** The class of a reason by its place among all reasons; those behind the first few share one. */
export function reasonClass(place) {
  return place >= 0 && place < COLOURS ? `reason-${place}` : "reason-other";
}

function kindOf(simulation, places, reasonOf) {
  if (!failed(simulation)) return simulation.outcome;
  const place = places.get(reasonOf(simulation));
  return place == null && simulation.outcome === "error" ? "error" : reasonClass(place ?? -1);
}

function worstFirst(one, other) {
  const share = (trials) => trials.filter(failed).length / trials.length;
  return share(other) - share(one);
}

/** The largest square with which all columns fit below each other. */
function layout(columns, rows) {
  for (let size = LARGEST; size > SMALLEST; size -= 0.5) {
    const lines = Math.ceil(columns / Math.floor(WIDTH / size));
    const height = lines * (rows + 0.6) * size;
    // Lines of equal length, as a short last one looks like another group of tasks.
    if (height <= TALLEST) return { size, across: Math.ceil(columns / lines), height };
  }
  const across = Math.floor(WIDTH / SMALLEST);
  return { size: SMALLEST, across, height: Math.ceil(columns / across) * (rows + 0.6) * SMALLEST };
}

/** The strip; `reasons` are counted and in order, `reasonOf` says which one a failure has. */
export function trialStrip(reasons, reasonOf) {
  const places = new Map([...reasons.keys()].map((name, place) => [name, place]));
  const tasks = trialsOf.filter((trials) => trials.length).map((trials) => [...trials].sort((a, b) => failed(b) - failed(a))).sort(worstFirst);
  if (!tasks.length) return null;
  const rows = Math.max(...tasks.map((trials) => trials.length));
  const { size, across, height } = layout(tasks.length, rows);
  const gap = size > 4 ? 1 : 0.4;
  const squares = new Map();
  tasks.forEach((trials, column) => {
    const [x, y] = [(column % across) * size, Math.floor(column / across) * (rows + 0.6) * size];
    trials.forEach((simulation, row) => {
      const kind = kindOf(simulation, places, reasonOf);
      squares.set(kind, `${squares.get(kind) ?? ""}M${x} ${y + row * size}h${size - gap}v${size - gap}h${gap - size}z`);
    });
  });
  const at = ({ offsetX, offsetY, currentTarget }) => {
    const scale = WIDTH / currentTarget.getBoundingClientRect().width;
    const line = Math.floor((offsetY * scale) / ((rows + 0.6) * size));
    const column = line * across + Math.floor((offsetX * scale) / size);
    return tasks[column]?.[Math.floor((offsetY * scale - line * (rows + 0.6) * size) / size)];
  };
  const title = svg("title", {});
  const name = (simulation) => `${taskOf(simulation).domain} ${taskOf(simulation).id}, trial ${simulation.trial}: ${reasonOf(simulation) ?? OUTCOMES[simulation.outcome].word}`.trim();
  const hint = (event) => {
    const simulation = at(event);
    title.textContent = simulation ? visible(name(simulation)) : "";
    event.currentTarget.classList.toggle("pointing", Boolean(simulation));
  };
  const number = simulations.filter(failed).length;
  const label = `${counted(simulations.length, "trial")} of ${counted(tasks.length, "task")}, ${count.format(number)} failed; the table below has each`;
  const paths = [...squares].map(([kind, d]) => svg("path", { class: kind, d }));
  const drawing = svg("svg", { class: "strip", viewBox: `0 0 ${WIDTH} ${Math.ceil(height)}`, role: "img", "aria-label": label, mousemove: hint, click: (event) => go(at(event)) }, title, paths);
  const caption = `${rows > 1 ? "A column for each task, a square for each trial" : "A square for each task"}, those that fail most first`;
  return h("figure", { class: "trials" }, drawing, h("figcaption", {}, caption));
}
