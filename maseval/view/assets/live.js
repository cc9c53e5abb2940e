// A run while it goes on: how far it is, what the numbers are so far, and what each simulation in
// flight is doing right now.

import { intervalBar } from "../charts.js";
import { simulationName } from "../data.js";
import { h } from "../dom.js";
import { between, count, counted, duration, money, percent, shortfall } from "../text.js";
import { since, stateChip } from "./frame.js";

const MOST_IN_FLIGHT = 24;
const LONGEST = 240;
const SPOKEN_BY = { assistant: "Agent", user: "User", tool: "Tool", system: "System" };

function progress({ state, done, failed, planned, cost, tokens, rate_limits }) {
  const facts = [
    `${count.format(done)} of ${counted(planned, "simulation")}`,
    failed > 0 && `${count.format(failed)} with an error`,
    tokens > 0 && counted(tokens, "token"),
    cost > 0 && `${money(cost)} so far`,
    rate_limits != null && counted(rate_limits, "rate limit"),
  ];
  return [
    h("p", { class: "outcome" }, stateChip(state), facts.filter(Boolean).join(" · ")),
    h("progress", { max: planned || 1, value: done, "aria-label": "Simulations done" }),
  ];
}

function measures(found) {
  const boxes = Object.entries(found ?? {}).filter(([, measure]) => measure?.value != null);
  const range = (measure) => between(measure) && h("small", {}, ` ${between(measure)}`);
  const box = ([k, measure]) => h("div", {}, h("dt", {}, `pass^${k.replace(/\D/g, "")}`), h("dd", {}, h("b", {}, percent(measure.value)), range(measure), intervalBar(measure), shortfall(measure) && h("div", {}, h("small", {}, shortfall(measure)))));
  return boxes.length > 0 && h("dl", { class: "live-measures" }, boxes.map(box));
}

function inFlight({ domain, task, trial, since: began, step, last }) {
  const words = last?.text ?? "";
  return h(
    "li",
    {},
    h("div", {}, h("span", { class: "id" }, simulationName(domain ?? "", task, String(trial))), h("small", {}, ` ${[began && duration(since(began)), step != null && counted(step, "step")].filter(Boolean).join(" · ")}`)),
    last && h("p", { class: "last", dir: "auto" }, h("b", {}, `${SPOKEN_BY[last.role] ?? last.role}: `), words.slice(0, LONGEST), words.length > LONGEST && "…"),
  );
}

function flights(list = []) {
  if (!list.length) return null;
  const rest = list.length - MOST_IN_FLIGHT;
  return [
    h("h3", {}, `In flight: ${count.format(list.length)}`),
    h("ul", { class: "flights" }, list.slice(0, MOST_IN_FLIGHT).map(inFlight)),
    rest > 0 && h("p", { class: "totals" }, `and ${counted(rest, "simulation")} more`),
  ];
}

/** The strip above a run; `show` draws what the server says of it. */
export function liveStrip() {
  const strip = h("section", { class: "card live", "aria-label": "Progress", hidden: true });
  const show = (live) => {
    strip.hidden = live.state !== "running" && live.done >= live.planned;
    const inside = h("div", {}, progress(live), measures(live.pass_k), live.estimate && h("p", { class: "totals" }, live.estimate), live.state === "running" && flights(live.in_flight));
    strip.replaceChildren(...inside.childNodes);
  };
  return { strip, show };
}
