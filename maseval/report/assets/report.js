// The report: the page, fed by the data that its file brings along. A file of several runs shows their
// comparison, and with `?all` every simulation of all in one table.

import { comparePage } from "./compare.js";
import { hashOf, simulationName } from "./data.js";
import { h } from "./dom.js";
import { start } from "./page.js";
import { embedded } from "./source.js";

const ALL = "?all";

/** The runs of the index, as the comparison's page reads them. */
function embeddedComparison(from, { compared, facts, tasks }) {
  const places = new Map(tasks.map((task, place) => [simulationName(task.domain, task.id, ""), place]));
  const placeOf = ({ domain, id }) => places.get(simulationName(domain, id, ""));
  const nameIn = (run, trial) => `${compared.names[run]}.${trial}`;
  const whole = compared.tasks.map((task) => ({ ...tasks[placeOf(task)], ...task, note: task.note || tasks[placeOf(task)]?.note || "" }));
  return {
    read: async () => ({ ...compared, facts, tasks: whole, note: h("a", { href: ALL }, "All simulations of these runs") }),
    detail: async (run, task, trial) => {
      const { common, names, trials } = await from.packet(placeOf(task));
      return { ...common, ...trials[names.indexOf(nameIn(run, trial))] };
    },
    link: (run, { domain, id }, trial, message) => ALL + hashOf(simulationName(domain, id, nameIn(run, trial)), message),
  };
}

const file = embedded();
const brought = await file.index();
if (brought.compared && location.search !== ALL) {
  await comparePage(document.getElementById("overview"), embeddedComparison(file, brought), brought.title);
  document.documentElement.dataset.ready = Math.round(performance.now());
} else await start(file);
