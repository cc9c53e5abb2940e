// The answers of a server that is not there, from the files of a site.

import { readFile, readOnce, storedPacket, storedRun } from "./files.js";
import { storedComparison } from "./stored_comparison.js";
import { storedSearch } from "./stored_search.js";

async function packetOf({ run, domain, task }) {
  const { folder } = await storedRun(run);
  const { tasks } = await readOnce(`${folder}/index`);
  const place = tasks.findIndex((each) => each.domain === domain && each.id === task);
  if (place < 0) throw new Error(`The run ${run} has no task ${task}.`);
  return storedPacket(folder, place);
}

const ANSWERS = {
  "/api/runs": () => readOnce("runs"),
  "/api/run/index": async ({ run }) => readOnce(`${(await storedRun(run)).folder}/index`),
  "/api/run/live": async ({ run }) => (await readOnce(`${(await storedRun(run)).folder}/index`)).live,
  "/api/run/plots": async ({ run }) => readFile(`${(await storedRun(run)).folder}/plots`),
  "/api/run/packet": packetOf,
  "/api/compare": storedComparison,
  "/api/search": storedSearch,
};

/** What the server would have answered; what it refused then is refused now. */
export async function storedAnswer(path, query, progress) {
  if (!Object.hasOwn(ANSWERS, path)) throw new Error("This is not part of the site; `maseval view` has it.");
  const answer = await ANSWERS[path](query, progress);
  if (answer.error) throw new Error(answer.error);
  return answer;
}
