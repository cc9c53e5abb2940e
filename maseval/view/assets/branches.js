// Links between a branch and its origin: the run says which conversation it continues, and a message
// shows the runs that continue from it.

import { hashOf, simulationName, taskOf } from "../data.js";
import { folded, h } from "../dom.js";
import { ask, pathTo } from "./server.js";

function originLine({ run, name, domain, task, trial, at }) {
  const words = `${name}, ${simulationName(domain, task, String(trial))}, after message ${at}`;
  const place = run == null ? [words, " (not below this folder)"] : h("a", { href: pathTo(run) + hashOf(simulationName(domain, task, String(trial)), at) }, words);
  return h("p", { class: "status" }, "Continues ", place);
}

function branchLine({ run, passed, verdicts }) {
  const result = verdicts > 0 && passed != null ? ` (${passed} of ${verdicts} passed)` : " (no verdict yet)";
  return h("p", { class: "branch-link" }, "Branch from here: ", h("a", { href: pathTo(run) }, run), result);
}

/** `strip` names the origin of a run, and `mark` adds its branches to a simulation that is drawn. */
export function branchLinks(run) {
  const strip = h("div", {});
  const known = ask("/api/run/branches", { run }).catch(() => ({ branches: [] }));
  known.then(({ origin }) => origin && strip.append(originLine(origin)));
  const mark = async (inside, simulation) => {
    const { domain, id } = taskOf(simulation);
    for (const each of (await known).branches) {
      if (each.domain !== domain || each.task !== id || String(each.trial) !== simulation.trial) continue;
      const messages = [...inside.querySelectorAll("[data-message]")];
      messages.findLast((message) => Number(message.dataset.message) <= each.at)?.append(branchLine(each));
    }
  };
  return { strip, mark };
}

/** What time travel has beside: the command that continues from the message it is at. */
export function branchBeside(run, simulation, messageNow) {
  const { domain, id } = taskOf(simulation);
  const asked = { run, domain, task: id, trial: simulation.trial };
  let command;
  const line = h("code", { class: "command" });
  const copied = h("output", { class: "status" });
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(line.textContent);
      copied.textContent = "Copied.";
    } catch {
      copied.textContent = "The browser does not allow copying: mark the line and copy it.";
    }
  };
  const show = () => {
    if (command) line.textContent = `${command} --at ${messageNow()} --repeats 20`;
    copied.textContent = "";
  };
  const learn = async () => {
    command = (await ask("/api/run/branch", asked)).command;
    show();
  };
  const words = "The beginning up to this message is replayed; the rest is live. Add --agent, --agent-model or --user-model to continue with another one.";
  const part = folded("Branch from here", () => {
    learn().catch((error) => (copied.textContent = error.message));
    return h("div", { class: "branch" }, line, h("button", { type: "button", click: copy }, "Copy"), copied, h("p", { class: "status" }, words));
  });
  return [{ part, show }];
}
