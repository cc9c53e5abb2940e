// What the server is asked, and the addresses of its pages. Its errors are sentences, which are
// shown to the reader. In a site, which has no server, files answer, and the pages are files too.

import { hashOf, simulationName } from "../data.js";
import { STORED } from "./files.js";
import { storedAnswer } from "./stored.js";

async function answerOf(response) {
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `the server answered ${response.status} ${response.statusText}`);
  return answer;
}

function lost() {
  throw new Error("The viewer's server does not answer. Is `maseval view` still running?");
}

export async function ask(path, query = {}) {
  if (STORED) return storedAnswer(path, query);
  return answerOf(await fetch(`${path}?${new URLSearchParams(query)}`).catch(lost));
}

/** Sends what is to be kept; the answer comes as from `ask`. */
export async function tell(path, query, body) {
  const sent = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return answerOf(await fetch(`${path}?${new URLSearchParams(query)}`, sent).catch(lost));
}

/** The address of a page: "compare" or "search"; without a name, of the list of all runs. */
export function pageAddress(page = "", query = {}) {
  const asked = new URLSearchParams(query);
  return `${STORED ? `${page || "index"}.html` : `/${page}`}${asked.size ? `?${asked}` : ""}`;
}

export function pathTo(run) {
  return STORED ? pageAddress("run", { run }) : `/run/${encodeURIComponent(run).replaceAll("%2F", "/")}`;
}

/** The page of this address, and the run if it is of one. */
export function openedPage() {
  const path = STORED ? location.pathname.split("/").at(-1).replace(/\.html$/, "") : location.pathname.slice(1);
  if (STORED && path === "run") return { page: "run", run: new URLSearchParams(location.search).get("run") ?? "" };
  if (path.startsWith("label/")) return { page: "label", run: decodeURIComponent(path.slice("label/".length)) };
  if (path.startsWith("run/")) return { page: "run", run: decodeURIComponent(path.slice("run/".length)) };
  return { page: path === "index" ? "" : path };
}

/** What asks for a comparison of these runs, by their official number or by another. */
function comparisonQuery(runs, measure) {
  return [...runs.map((run) => ["run", run]), ...(measure ? [["measure", measure]] : [])];
}

/** The address of the page that compares these runs. */
export function pathToComparison(runs, measure) {
  return pageAddress("compare", comparisonQuery(runs, measure));
}

/** Asks until it is there; `say` gets how far it is meanwhile. */
async function askPatiently(path, query, say) {
  for (;;) {
    const found = await ask(path, query);
    if (found.waiting == null) return found;
    say(found.waiting);
  }
}

/** A source of the page of compared runs, by the measure that the address names. */
export function comparedRuns(asked) {
  const measure = new URLSearchParams(location.search).get("measure") ?? "";
  const runs = comparisonQuery(asked, measure);
  let names = asked;
  return {
    read: async () => {
      const found = await ask("/api/compare", runs);
      names = found.places;
      return found;
    },
    reasons: () => ask("/api/compare/reasons", runs),
    detail: async (run, { domain, id }, trial) => {
      const packet = await ask("/api/run/packet", { run: names[run], domain, task: id, trial });
      return { ...packet.common, ...packet.trials[packet.names.indexOf(trial)] };
    },
    link: (run, { domain, id }, trial, message) => pathTo(names[run]) + hashOf(simulationName(domain, id, trial), message),
    page: (run) => pathTo(names[run]),
    // A site has the comparisons of two.
    compare: (chosen) => (!STORED || chosen.length === 2) && pathToComparison(chosen.map((run) => names[run]), measure),
    measure,
    measured: !STORED && ((name) => pathToComparison(asked, name)),
  };
}

/** A source of the page: the run of this name. */
export function served(run) {
  return {
    run,
    byTrial: !STORED, // a file has all trials of a task
    index: () => ask("/api/run/index", { run }),
    results: () => ask("/api/run/results", { run }),
    packet: (_, { domain, id }, trial) => ask("/api/run/packet", { run, domain, task: id, ...(trial && { trial }) }),
    // A site has no index of words: its conversations are read one by one.
    search: !STORED && (async (words, say) => {
      const { hits } = await askPatiently("/api/search", { q: words.includes('"') ? words : `"${words}"`, run, per: "simulation" }, say);
      return hits.map(({ domain, task, trial }) => simulationName(domain, task, String(trial)));
    }),
  };
}
