// A run while it goes on: how far it is, and what each simulation in flight is doing right now.

import { simulationName } from "../data.js";
import { h } from "../dom.js";
import { term } from "../terms.js";
import { count, counted, duration, money } from "../text.js";
import { since, stateChip } from "./frame.js";

const MOST_IN_FLIGHT = 24;
const LONGEST = 240;
const SPOKEN_BY = { assistant: "Agent", user: "User", tool: "Tool", system: "System" };

function progress({ state, done, failed, planned, cost, tokens, elapsed, left }) {
  const facts = [
    `${count.format(done)} of ${counted(planned, "simulation")}`,
    failed > 0 && `${count.format(failed)} with an error`,
    tokens > 0 && counted(tokens, "token"),
    cost > 0 && `${money(cost)} so far`,
    elapsed != null && `elapsed time ${duration(elapsed)}`,
    left != null && `about ${duration(left)} left`,
  ];
  return [
    h("p", { class: "outcome" }, stateChip(state), facts.filter(Boolean).join(" · ")),
    state !== "damaged" && h("progress", { max: planned || 1, value: done, "aria-label": "Simulations done" }),
  ];
}

function flightName({ domain, task, trial }) {
  return simulationName(domain ?? "", task, String(trial));
}

function inFlight(flight) {
  const { since: began, step, last } = flight;
  const words = last?.text ?? "";
  return h(
    "li",
    {},
    h("div", {}, h("span", { class: "id" }, flightName(flight)), h("small", {}, ` ${[began && duration(since(began)), step != null && counted(step, "step")].filter(Boolean).join(" · ")}`)),
    last && h("p", { class: "last", dir: "auto" }, h("b", {}, `${SPOKEN_BY[last.role] ?? last.role}: `), words.slice(0, LONGEST), words.length > LONGEST && "…"),
  );
}

function flights(list = []) {
  if (!list.length) return null;
  const rest = list.length - MOST_IN_FLIGHT;
  return [
    h("h2", {}, term("In flight"), `: ${count.format(list.length)}`),
    h("ul", { class: "flights" }, list.slice(0, MOST_IN_FLIGHT).map(inFlight)),
    rest > 0 && h("p", { class: "totals" }, `and ${counted(rest, "simulation")} more`),
  ];
}

/** The strip above a run: `show` draws what the server says of it. */
export function liveStrip() {
  const strip = h("section", { class: "card live", "aria-label": "Progress", hidden: true });
  const show = (live) => {
    strip.hidden = live.state !== "running" && live.done >= live.planned;
    const inside = h("div", {}, progress(live), live.state === "running" && flights(live.in_flight)); // the numbers are those of the results below
    const focused = strip.contains(document.activeElement); // its one term with a hint
    strip.replaceChildren(...inside.childNodes);
    if (focused) strip.querySelector("[tabindex]")?.focus({ preventScroll: true });
  };
  return { strip, show };
}
