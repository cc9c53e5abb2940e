// The report: the page, fed by the data that its file brings along. A file of two runs shows their
// comparison, and with `?all` every simulation of both in one table.

import { comparePage } from "./compare.js";
import { hashOf, simulationName } from "./data.js";
import { h } from "./dom.js";
import { start } from "./page.js";
import { embedded } from "./source.js";

const ALL = "?all";

/** The two runs of the index, as the comparison's page reads them. */
function embeddedComparison(from, { compared, runs, facts, results, plots, tasks }) {
  const places = new Map(tasks.map((task, place) => [simulationName(task.domain, task.id, ""), place]));
  const placeOf = ({ domain, id }) => places.get(simulationName(domain, id, ""));
  const nameIn = (side, trial) => `${runs[side === "a" ? 0 : 1]}.${trial}`;
  const withFindings = compared.map((task) => ({ ...task, findings: tasks[placeOf(task)]?.findings }));
  return {
    read: async () => ({ names: runs, facts, results, plots, tasks: withFindings, note: h("a", { href: ALL }, "All simulations of both runs") }),
    detail: async (side, task, trial) => {
      const { common, names, trials } = await from.packet(placeOf(task));
      return { ...common, ...trials[names.indexOf(nameIn(side, trial))] };
    },
    link: (side, { domain, id }, trial, message) => ALL + hashOf(simulationName(domain, id, nameIn(side, trial)), message),
  };
}

const file = embedded();
const brought = await file.index();
if (brought.compared && location.search !== ALL) {
  await comparePage(document.getElementById("overview"), embeddedComparison(file, brought), brought.title);
  document.documentElement.dataset.ready = Math.round(performance.now());
} else await start(file);
