// The answers of a server that is not there, from the files of a site.

import { readFile, readOnce, storedPacket, storedRun } from "./files.js";

async function packetOf({ run, domain, task }) {
  const { folder } = await storedRun(run);
  const { tasks } = await readOnce(`${folder}/index`);
  const place = tasks.findIndex((each) => each.domain === domain && each.id === task);
  if (place < 0) throw new Error(`The run ${run} has no task ${task}.`);
  return storedPacket(folder, place);
}

/** The comparison of any two runs, or of all that can be compared with each other, in whichever order they are named. */
async function storedComparison(query) {
  const { runs, groups } = await readOnce("runs");
  const asked = new Set(query.map(([, run]) => run));
  const folders = runs.filter(({ name }) => asked.has(name)).map(({ folder }) => folder);
  if (folders.length < asked.size || folders.length < 2) throw new Error("This site does not have these runs; choose two or more in its list.");
  if (folders.length === 2) return readFile(`compare/${folders.sort().join("/")}`);
  const group = groups.findIndex((names) => names.length === asked.size && names.every((name) => asked.has(name)));
  if (group >= 0) return readOnce(`compare/group-${group}`);
  throw new Error(["This site compares any two runs", ...groups.map((names) => names.join(", "))].join("; or together: "));
}

const ANSWERS = {
  "/api/runs": () => readOnce("runs"),
  "/api/run/index": async ({ run }) => readOnce(`${(await storedRun(run)).folder}/index`),
  "/api/run/live": async ({ run }) => (await readOnce(`${(await storedRun(run)).folder}/index`)).live,
  "/api/run/packet": packetOf,
  "/api/compare": storedComparison,
};

/** What the server would have answered; what it refused then is refused now. */
export async function storedAnswer(path, query) {
  if (!Object.hasOwn(ANSWERS, path)) throw new Error("This is not part of the site; `maseval view` has it.");
  const answer = await ANSWERS[path](query);
  if (answer.error) throw new Error(answer.error);
  return answer;
}
