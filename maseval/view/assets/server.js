// What the server is asked and told. Its errors are sentences, which are shown to the reader.

import { hashOf, simulationName } from "../data.js";

async function answerOf(response) {
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(answer.error ?? `the server answered ${response.status} ${response.statusText}`);
  return answer;
}

function lost() {
  throw new Error("The viewer's server does not answer. Is `maseval view` still running?");
}

export async function ask(path, query = {}) {
  return answerOf(await fetch(`${path}?${new URLSearchParams(query)}`).catch(lost));
}

export async function tell(path, body) {
  const request = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  return answerOf(await fetch(path, request).catch(lost));
}

export function pathTo(run) {
  return `/run/${encodeURIComponent(run).replaceAll("%2F", "/")}`;
}

/** A source of the page of two runs. */
export function comparedRuns(a, b) {
  const names = { a, b };
  return {
    read: () => ask("/api/compare", names),
    detail: async (side, { domain, id }, trial) => {
      const packet = await ask("/api/run/packet", { run: names[side], domain, task: id, trial });
      return { ...packet.common, ...packet.trials[packet.names.indexOf(trial)] };
    },
    link: (side, { domain, id }, trial, message) => pathTo(names[side]) + hashOf(simulationName(domain, id, trial), message),
  };
}

/** A source of the page: the run of this name. */
export function served(run) {
  let indexed = false;
  return {
    run,
    byTrial: true,
    index: async () => {
      const found = await ask("/api/run/index", { run });
      indexed = found.live.kind === "run";
      return found;
    },
    packet: (_, { domain, id }, trial) => ask("/api/run/packet", { run, domain, task: id, ...(trial && { trial }) }),
    // Nothing is answered where the server has no index, and the page then reads for itself.
    search: async (words) => {
      if (!indexed) return undefined;
      const { hits, total } = await ask("/api/search", { q: words.includes('"') ? words : `"${words}"`, run, per: "simulation" });
      return hits.length < total ? undefined : hits.map(({ domain, task, trial }) => simulationName(domain, task, String(trial)));
    },
  };
}
