// A run while it goes on: how far it is, and what each simulation in flight is doing right now.

import { hashOf, named, simulationName } from "../data.js";
import { drawMessage } from "../conversation.js";
import { folded, h } from "../dom.js";
import { term } from "../terms.js";
import { count, counted, duration, money } from "../text.js";
import { since, stateChip } from "./frame.js";
import { ask } from "./server.js";

const MOST_IN_FLIGHT = 24;
const LONGEST = 240;
const END_WITHIN = 24;
const SPOKEN_BY = { assistant: "Agent", user: "User", tool: "Tool", system: "System" };

function progress({ state, done, failed, planned, cost, tokens, rate_limits, elapsed, left }) {
  const facts = [
    `${count.format(done)} of ${counted(planned, "simulation")}`,
    failed > 0 && `${count.format(failed)} with an error`,
    tokens > 0 && counted(tokens, "token"),
    cost > 0 && `${money(cost)} so far`,
    rate_limits != null && counted(rate_limits, "rate limit"),
    elapsed != null && `${duration(elapsed)} elapsed`,
    left != null && `about ${duration(left)} left`,
  ];
  return [
    h("p", { class: "outcome" }, stateChip(state), facts.filter(Boolean).join(" · ")),
    state !== "damaged" && h("progress", { max: planned || 1, value: done, "aria-label": "Simulations done" }),
  ];
}

// The conversations that a reader has unfolded, by their names; they grow as the run does.
const followed = new Map();

/** A conversation that is going on: what is new in it is asked for when the run says that there is. */
function growingTalk(run, { domain, task, trial }) {
  const list = h("ol", { class: "conversation" });
  let drawn = [];
  let drawnSteps;
  let asking = false;
  const grow = async (step) => {
    if (asking || step === drawnSteps || !talk.open) return;
    asking = true;
    try {
      const { messages, steps } = await ask("/api/run/talk", { run, domain: domain ?? "", task, trial });
      // A tool's answer comes into the message that called it; and another attempt begins anew.
      const now = messages.map((said) => JSON.stringify(said));
      const changed = drawn.findIndex((said, at) => said !== now[at]);
      const kept = changed < 0 ? drawn.length : changed;
      const atEnd = list.scrollHeight - list.scrollTop - list.clientHeight < END_WITHIN;
      [...list.children].slice(kept).forEach((each) => each.remove());
      for (const said of messages.slice(kept)) {
        const message = drawMessage(said);
        message.removeAttribute("id");
        list.append(message);
      }
      if (atEnd) list.scrollTop = list.scrollHeight; // who reads the latest goes on to do so
      drawn = now;
      drawnSteps = steps; // those of another process may come later than the number of steps
    } catch {
      drawnSteps = undefined; // a lost connection is said so elsewhere
    } finally {
      asking = false;
    }
  };
  const talk = folded("Follow the conversation", () => list);
  return { talk, grow, list };
}

function flightName({ domain, task, trial }) {
  return simulationName(domain ?? "", task, String(trial));
}

function talkOf(run, flight) {
  const name = flightName(flight);
  if (!followed.has(name)) followed.set(name, growingTalk(run, flight));
  return followed.get(name);
}

function inFlight(run, flight) {
  const { since: began, step, last } = flight;
  const words = last?.text ?? "";
  const { talk, grow } = talkOf(run, flight);
  talk.ontoggle = () => {
    talk.closest("li")?.classList.toggle("open", talk.open);
    grow(step);
  };
  grow(step);
  return h(
    "li",
    { class: talk.open ? "open" : "" },
    h("div", {}, h("span", { class: "id" }, flightName(flight)), h("small", {}, ` ${[began && duration(since(began)), step != null && counted(step, "step")].filter(Boolean).join(" · ")}`)),
    last && h("p", { class: "last", dir: "auto" }, h("b", {}, `${SPOKEN_BY[last.role] ?? last.role}: `), words.slice(0, LONGEST), words.length > LONGEST && "…"),
    step != null && talk,
  );
}

/** A conversation that has ended while somebody followed it; it stays until it is folded. */
function ended(name, { talk }) {
  return h("li", { class: "open" }, h("div", {}, h("span", { class: "id" }, name), h("small", {}, " has ended", named.has(name) && [": ", h("a", { href: hashOf(name) }, "its result")])), talk);
}

function flights(run, list = []) {
  const names = new Set(list.map(flightName));
  const over = [...followed].filter(([name, { talk }]) => talk.open && !names.has(name));
  if (!list.length && !over.length) return null;
  const drawn = list.filter((each, at) => at < MOST_IN_FLIGHT || followed.get(flightName(each))?.talk.open);
  const rest = list.length - drawn.length;
  return [
    h("h2", {}, term("In flight"), `: ${count.format(list.length)}`),
    h("ul", { class: "flights" }, over.map((each) => ended(...each)), drawn.map((each) => inFlight(run, each))),
    rest > 0 && h("p", { class: "totals" }, `and ${counted(rest, "simulation")} more`),
  ];
}

const STOPS = "[tabindex], summary";

/** The strip above a run: `show` draws what the server says of it, `follow` unfolds a conversation. */
export function liveStrip(run) {
  const strip = h("section", { class: "card live", "aria-label": "Progress", hidden: true });
  let latest;
  const show = (live) => {
    latest = live;
    const focused = [...strip.querySelectorAll(STOPS)].indexOf(document.activeElement);
    const places = [...followed.values()].map(({ list }) => [list, list.scrollTop]); // moving it resets it
    const complete = live.state !== "running" && live.done >= live.planned;
    const talks = (complete || live.state === "running") && flights(run, live.in_flight);
    strip.hidden = complete && !talks;
    const inside = h("div", {}, progress(live), talks); // the numbers are those of the results below
    strip.replaceChildren(...inside.childNodes);
    for (const [list, top] of places) list.scrollTop = top;
    if (focused >= 0) strip.querySelectorAll(STOPS)[focused]?.focus({ preventScroll: true });
  };
  const follow = (name) => {
    const flight = latest?.in_flight.find((each) => flightName(each) === name);
    if (!flight) return; // it has just ended, and its own cell comes
    const { talk } = talkOf(run, flight);
    talk.open = true;
    show(latest);
    (talk.closest("li") ?? strip).scrollIntoView({ block: "nearest" });
  };
  return { strip, show, follow };
}
