// Links between a branch and its origin: the run says which conversation it continues, and a message
// shows the runs that continue from it.

import { hashOf, simulationName, taskOf } from "../data.js";
import { h } from "../dom.js";
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
