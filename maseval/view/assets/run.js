// One run: the report's page, fed by the server. What finishes while somebody reads appears in its
// place; what is open, has the focus or is scrolled to stays as it is.

import { index, reload, take } from "../data.js";
import { start } from "../page.js";
import { visible } from "../text.js";
import { listen, lostNotice } from "./events.js";
import { topBar } from "./frame.js";
import { liveStrip } from "./live.js";
import { ask, served } from "./server.js";
import { timelineSection } from "./timeline.js";

const BATCH = 200;
// The results are computed by the server from all simulations, so they are not asked for each time.
const RESULTS_EVERY = 10000;
const LABELS_AFTER = 1000;

/** Calls `act` some time after it was asked to, once for however many wishes. */
function gathered(act, pause) {
  let waiting;
  return () => {
    waiting ??= setTimeout(async () => {
      await act().catch(() => {}); // a lost connection is said so elsewhere
      waiting = undefined;
    }, pause);
  };
}

export async function runPage(run) {
  const source = served(run);
  const { strip, show } = liveStrip();
  let page;
  let state;
  let fresh = [];

  const readAll = async () => {
    await reload();
    page.update();
  };
  const readResults = gathered(readAll, RESULTS_EVERY);
  const readLabels = gathered(readAll, LABELS_AFTER);
  const draw = gathered(async () => {
    const tasks = new Set(fresh.map(({ row, domain, task, note = "" }) => take({ domain, id: task, note }, row)));
    fresh = [];
    const first = index.results.rows.every(({ counts }) => counts.every((number) => !number));
    if (first) return readAll();
    page.update(tasks);
    readResults();
  }, BATCH);
  const live = (found) => {
    show(found);
    if (state === "running" && found.state !== "running") readAll();
    if (found.labelled !== index.live?.labelled) readLabels();
    state = found.state;
  };
  const again = async () => {
    live(await ask("/api/run/live", { run }));
    await readAll();
  };
  const handlers = {
    live,
    simulation: (found) => {
      fresh.push(found);
      draw();
    },
  };
  const notice = lostNotice();
  document.title = `${visible(run)} · maseval`;
  page = await start(source, { above: [topBar(), notice], below: strip, sections: [(simulation) => timelineSection(simulation, source)] });
  // What finished since the index was read comes with the first events.
  listen({ run, after: index.live?.version ?? 0 }, handlers, () => again().catch(() => {}), notice);
  live(await ask("/api/run/live", { run }));
}
