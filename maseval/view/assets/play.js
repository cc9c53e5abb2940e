// Play: a person takes one side of a simulation that runs in the server. The key of the simulation
// is kept for this tab, so a reload resumes it.

import { conversationSection, drawMessage } from "../conversation.js";
import { OUTCOMES, hashOf, simulationName } from "../data.js";
import { add, folded, h } from "../dom.js";
import { choice } from "../filters.js";
import { markdown } from "../markdown.js";
import { drawSections } from "../simulation.js";
import { themeButton } from "../theme.js";
import { topBar } from "./frame.js";
import { toolForm } from "./play_forms.js";
import { ask, pageAddress, pathTo, tell } from "./server.js";

const KEPT_KEY = "maseval-play";
const PAUSE_AFTER_LOSS = 1500;
const GUIDES = {
  agent: "You are the agent. Find out what the customer wants, look things up and change them with your tools, and obey the policy. When everything is settled or refused, end the conversation. You pass if the database ends up exactly as it should, and you said what had to be said.",
  user: "You are the customer. Talk to the agent about what your instructions say, and do not invent facts. When your wish is settled or refused, end the conversation. What is judged is the agent.",
};

function titled(text, ...more) {
  return h("header", { class: "top" }, h("div", {}, h("h1", { tabindex: "-1" }, text), more), h("div", { class: "beside" }, themeButton()));
}

function pageOf(container, ...parts) {
  container.replaceChildren();
  add(container, [topBar(h("a", { href: pageAddress("play"), "aria-current": "page" }, "Play")), parts]);
}

// Before: what to play.

async function showChoices(container, words) {
  const offered = await ask("/api/play/choices");
  const wish = { domain: offered.domains.includes(offered.domain) ? offered.domain : offered.domains.includes("library") ? "library" : offered.domains[0], side: offered.side, task: offered.task };
  const problem = h("p", { class: "problem", role: "alert" });
  const others = h("div", {});
  const tasks = h("div", {});
  // A recorded conversation that is taken over from one of its messages.
  const given = Object.fromEntries(new URLSearchParams(location.search));
  const recorded = given.run && { run: given.run, domain: given.domain, task: given.task, trial: Number(given.trial), at: Number(given.at) };
  Object.assign(wish, recorded);

  function listOthers() {
    const { select, field } = choice(wish.side === "agent" ? "Customer" : "Agent", offered.others[wish.side], (value) => (wish.other = value));
    // Who was named on the command line stands last, and is meant.
    wish.other = select.value = offered.others[wish.side].at(offered.named[wish.side] ? -1 : 0);
    others.replaceChildren(field);
  }

  async function listTasks() {
    tasks.replaceChildren(h("small", {}, "…"));
    const { tasks: found } = await ask("/api/play/tasks", { domain: wish.domain });
    const ids = found.map(({ id }) => id);
    const { select, field } = choice("Task", ids, (value) => (wish.task = value));
    wish.task = select.value = ids.includes(wish.task) ? wish.task : ids[0];
    tasks.replaceChildren(field);
  }

  const reported = async (act) => {
    problem.textContent = "";
    await act().catch((error) => (problem.textContent = error.message));
  };
  const domain = choice("Domain", offered.domains, (value) => ((wish.domain = value), reported(listTasks)));
  domain.select.value = wish.domain;
  const side = choice("You play", ["agent", "user"], (value) => ((wish.side = value), listOthers()));
  side.select.value = wish.side;
  const submit = (event) => {
    event.preventDefault();
    reported(async () => {
      const begun = await tell("/api/play/start", wish);
      sessionStorage.setItem(KEPT_KEY, begun.play);
      await showGame(container, begun);
    });
  };
  listOthers();
  pageOf(
    container,
    titled("Play", h("p", { class: "totals" }, "Play one side of a customer service task yourself. The tools and the databases are real, the verdict is that of every run, and the result is a run marked as human.")),
    words && h("p", { class: "card", role: "status" }, words),
    recorded && h("p", { class: "card" }, `You take over ${recorded.domain}, task ${recorded.task}, trial ${recorded.trial} of `, h("a", { href: pathTo(recorded.run) + hashOf(simulationName(recorded.domain, recorded.task, given.trial), recorded.at) }, recorded.run), `, after message ${recorded.at}. Up to there everything is as recorded.`),
    offered.missing.length > 0 && !recorded && h("p", { class: "status" }, `Not fetched yet: ${offered.missing.join(", ")}. `, h("code", {}, "maseval tau2 data fetch"), " fetches them."),
    h("form", { class: "card play-choices", submit }, recorded ? [] : [domain.field, tasks], side.field, others, problem, h("div", {}, h("button", { type: "submit" }, "Begin"))),
  );
  if (!recorded) await reported(listTasks);
}

// During: what is said and done.

/** Messages as the report draws them, each tool's answer beside its call. */
function drawable(messages) {
  const drawn = [];
  for (const { who, text, calls, failed } of messages) {
    const waiting = drawn.at(-1)?.calls?.find(({ result }) => !result);
    if (who === "tool" && waiting) waiting.result = { text: text ?? "", failed };
    else drawn.push({ who, text, index: drawn.length, ...(calls.length ? { calls: calls.map((call) => ({ name: call.name, arguments: JSON.stringify(call.arguments) })) } : {}) });
  }
  return drawn;
}

/** Redraws only what has changed, so that what is unfolded or selected stays so. */
function conversationOf(list) {
  let drawn = [];
  return (messages) => {
    const now = drawable(messages).map((said) => [said, JSON.stringify(said)]);
    now.forEach(([said, key], at) => {
      if (drawn[at] === key) return;
      const message = drawMessage(said);
      if (list.children[at]) list.children[at].replaceWith(message);
      else list.append(message);
    });
    while (list.children.length > now.length) list.lastChild.remove();
    if (now.length !== drawn.length || now.at(-1)?.[1] !== drawn.at(-1)) list.lastElementChild?.scrollIntoView({ block: "nearest" });
    drawn = now.map(([, key]) => key);
  };
}

function composer(send, finish) {
  const field = h("textarea", { rows: "3", "aria-label": "What you say", placeholder: "What you say; Enter sends it, Shift and Enter begin a line" });
  const problem = h("p", { class: "problem", role: "alert" });
  const act = (how) => async (event) => {
    event.preventDefault();
    problem.textContent = "";
    try {
      await how(field.value);
      field.value = "";
    } catch (error) {
      problem.textContent = error.message;
    }
  };
  const keydown = (event) => {
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) act(send)(event);
  };
  field.addEventListener("keydown", keydown);
  const buttons = [h("button", { type: "submit" }, "Send"), h("button", { type: "button", click: act(finish) }, "Send and end the conversation")];
  const form = h("form", { class: "composer", submit: act(send) }, field, problem, h("div", {}, buttons));
  const enable = (on) => {
    for (const each of [field, ...buttons]) each.disabled = !on;
    if (on) field.focus({ preventScroll: true });
  };
  return { form, enable };
}

function leaving(key) {
  const send = (path, question) => () => confirm(question) && tell(path, { play: key }).catch(() => {});
  return h(
    "p",
    { class: "leaving" },
    h("button", { type: "button", click: send("/api/play/give-up", "Give up? The task then counts as failed.") }, "Give up"),
    h("button", { type: "button", click: send("/api/play/leave", "Interrupt? What happened is kept and can be resumed in the terminal.") }, "Interrupt"),
  );
}

/** Something that scrolls, with the keyboard too. */
function reachable(name, kind, inside) {
  return h("div", { class: kind, tabindex: "0", role: "region", "aria-label": name }, inside);
}

function gameParts(key, { briefing, domain, task, other }) {
  const list = h("ol", { class: "conversation" });
  const status = h("p", { class: "status", role: "status" });
  const send = (text) => tell("/api/play/say", { play: key, text });
  const write = composer(send, (text) => tell("/api/play/stop", { play: key, text }));
  const tools = briefing.tools.map((tool) => toolForm(tool, (name, written) => tell("/api/play/call", { play: key, name, arguments: written })));
  const agent = briefing.side === "agent";
  const title = agent ? "Policy: what you must obey" : "Your instructions";
  const given = folded(title, () => reachable(title, "play-given", markdown(briefing.text)), true);
  const beside = h("aside", { class: "card play-beside", "aria-label": "What you have" }, given, tools.length > 0 && h("h2", {}, "Tools"), tools);
  const talk = h("section", { class: "card", "aria-label": "Play" }, reachable("Conversation", "play-talk", list), status, write.form, leaving(key));
  const head = [titled(`${domain}, task ${task}`), h("div", { class: "totals" }, h("p", {}, GUIDES[briefing.side]), h("p", {}, `The other side: ${other}.`))];
  return { head, talk, beside, status, tools, write, show: conversationOf(list), waiting: agent ? "The customer is answering …" : "The agent is answering …" };
}

async function showGame(container, begun) {
  let state = begun;
  let parts;
  while (!state.over) {
    if (!parts && state.briefing) {
      parts = gameParts(state.play, state);
      pageOf(container, parts.head, h("div", { class: "play-grid" }, parts.talk, parts.beside));
    }
    if (parts) showTurn(parts, state);
    state = await nextState(state.play, parts ? state.version : 0, parts?.status);
  }
  sessionStorage.removeItem(KEPT_KEY);
  await showEnd(container, state);
}

function showTurn({ show, status, tools, write, waiting }, { messages, your_turn: mine }) {
  show(messages);
  status.textContent = mine ? "It is your turn." : waiting;
  tools.forEach((each) => each.enable(mine));
  write.enable(mine);
}

async function nextState(key, seen, status) {
  for (;;) {
    try {
      return await ask("/api/play/state", { play: key, seen });
    } catch (error) {
      if (!/does not answer/.test(error.message)) throw error;
      if (status) status.textContent = "Connection lost, retrying …";
      await new Promise((resolve) => setTimeout(resolve, PAUSE_AFTER_LOSS));
    }
  }
}

// After: the verdict, and the run.

async function showEnd(container, { run, domain, task, over, judged, outcome, problem, messages }) {
  const { mark, word } = OUTCOMES[outcome] ?? {};
  const chip = word && h("p", { class: "outcome" }, h("span", { class: `chip ${outcome}` }, h("b", {}, mark), ` ${word}`));
  const name = simulationName(domain, task, "0");
  const again = h("button", { type: "button", click: () => showChoices(container) }, "Play another task");
  const kept = problem ? problem : judged ? "" : `It was not judged. What happened is kept in ${run}, and in the terminal it can be resumed with --output.`;
  const there = !problem && h("a", { class: "button", href: `${pathTo(run)}${hashOf(name)}` }, "Open the run");
  const head = titled(`${domain}, task ${task}`, h("p", { class: "totals" }, over), chip, kept && h("p", { class: "problem" }, kept), h("p", { class: "leaving" }, there, again));
  const inside = h("div", { class: "card inside played" });
  pageOf(container, head, inside);
  try {
    const { common, trials } = await ask("/api/run/packet", { run, domain, task });
    add(inside, [drawSections({ ...common, ...trials[0] }, (number) => `${pathTo(run)}${hashOf(name, number)}`)]);
  } catch {
    add(inside, [conversationSection({ messages: drawable(messages) })]);
  }
  container.querySelector("h1").focus();
}

export async function playPage(container) {
  document.title = "Play · maseval";
  const { play } = await ask("/api/runs");
  if (!play) {
    pageOf(container, titled("Play"), h("p", { class: "card" }, "This viewer was started without it: ", h("code", {}, "maseval view --play")));
    return;
  }
  const key = sessionStorage.getItem(KEPT_KEY);
  const begun = key && (await ask("/api/play/state", { play: key }).catch(() => undefined));
  if (key && !begun) sessionStorage.removeItem(KEPT_KEY);
  if (!begun) return showChoices(container, key && "The simulation that was played here is no longer in the server; if it had begun, it is among the runs.");
  showGame(container, begun).catch((error) => showChoices(container, error.message));
}
