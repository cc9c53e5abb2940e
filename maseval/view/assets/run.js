// One run: the report's page, fed by the server. What finishes while somebody reads appears in its
// place; what is open, has the focus or is scrolled to stays as it is.

import { comparePage } from "../compare.js";
import { index, labelling, reload, reloadResults, take } from "../data.js";
import { add, h } from "../dom.js";
import { start } from "../page.js";
import { showPlan } from "../table.js";
import { visible } from "../text.js";
import { listen, lostNotice } from "./events.js";
import { topBar } from "./frame.js";
import { liveStrip } from "./live.js";
import { notesOf } from "./notes.js";
import { ask, comparedRuns, served } from "./server.js";

const BATCH = 200;
// The results are computed by the server from all simulations: a tenth of the time is spent on them.
const RESULTS_EVERY = 1000;
const RESULTS_SHARE = 9;
const LABELS_AFTER = 1000;

/** Calls `act` some time after it was asked to, once for however many wishes; later if it takes long. */
function gathered(act, pause, share = 0) {
  let busy = false;
  let wished = false;
  let wait = pause;
  const run = async () => {
    const began = performance.now();
    wished = false;
    await act().catch(() => {}); // a lost connection is said so elsewhere
    wait = Math.max(pause, share * (performance.now() - began));
    busy = false;
    if (wished) wish();
  };
  const wish = () => {
    wished = true;
    if (busy) return;
    busy = true;
    setTimeout(run, wait);
  };
  return wish;
}

/** What is shown until the index is there. */
function readingFrame(run) {
  const parts = [topBar(), h("header", { class: "top" }, h("h1", {}, run)), h("p", { class: "reading-log", role: "status" }, "Reading the run …")];
  add(document.getElementById("overview"), parts);
  return () => {
    for (const part of parts) part.remove();
  };
}

export async function runPage(run) {
  const source = served(run);
  const read = source.index;
  let found = await read().finally(readingFrame(run));
  document.title = `${visible(run)} · maseval`;
  if (found.cells) return comparePage(document.getElementById("overview"), comparedRuns([run]), run, topBar());
  source.index = async () => {
    const now = found ?? (await read());
    found = undefined;
    return now;
  };
  source.below = notesOf(run);
  const { strip, show } = liveStrip();
  let page;
  let latest;
  let fresh = [];

  const readAll = async () => {
    await reload();
    page.update();
  };
  const readResults = gathered(async () => {
    await reloadResults();
    page.update(new Set());
  }, RESULTS_EVERY, RESULTS_SHARE);
  // Labels come with the index, which is read once all are found.
  const drawLabels = gathered(async () => (labelling() ? page.update(new Set()) : readAll()), LABELS_AFTER);
  const draw = gathered(async () => {
    const before = index.tasks.length;
    const taken = fresh.map(({ row, domain, task, trial, note = "" }) => take({ domain, id: task, note }, trial, row));
    fresh = [];
    const first = index.results.rows.every(({ counts }) => counts.every((number) => !number));
    if (first) await reloadResults();
    // Another task moves those behind it.
    page.update(index.tasks.length > before ? undefined : new Set(taken.map(({ task }) => task)));
    readResults();
  }, BATCH);
  const live = (found) => {
    show(found);
    showPlan(found);
    if (latest?.state === "running" && found.state !== "running") readAll().catch(() => {});
    latest = found;
    if (found.doubted !== index.live.doubted) readAll().catch(() => {}); // the verdicts are others now
    if (found.labelled === index.live.labelled) return;
    index.live.labelled = found.labelled;
    drawLabels();
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
  page = await start(source, { above: [topBar(), notice], below: [strip] });
  // What finished since the index was read comes with the first events.
  listen({ run, after: index.live.version }, handlers, () => again().catch(() => {}), notice);
  live(await ask("/api/run/live", { run }));
}
