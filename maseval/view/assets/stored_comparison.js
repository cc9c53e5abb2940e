// The comparison of some runs of a site, from the files that it has: every two of them, and all that can be
// compared with each other. What is said of several goes by the tasks that all of those have, so that their
// differences and p-values stand; only Holm's correction depends on how many are chosen.

import { count, inPercent, rounded } from "../text.js";
import { readFile, readOnce } from "./files.js";

// As in `stats/comparison.py` and `core/figures.py`.
const SURE = 0.05;
const SMALLEST_P = 0.001;

/** Holm's adjusted p-values, in the order given. */
function holm(values) {
  const order = values.map((_, at) => at).sort((a, b) => values[a] - values[b]);
  let largest = 0;
  const adjusted = [];
  order.forEach((at, rank) => (adjusted[at] = largest = Math.max(largest, Math.min(1, (values.length - rank) * values[at]))));
  return adjusted;
}

function someOf(names, most = 3) {
  if (names.length > most + 1) return `${names.slice(0, most).join(", ")} and ${names.length - most} more`;
  return [names.slice(0, -1).join(", "), names.at(-1)].filter(Boolean).join(" and ");
}

/** Which run leads, and against which others that is sure. */
function headlineOf({ names, pairs, results }) {
  const measure = results.measures.indexOf(pairs[0].measure);
  const scores = names.map((name) => results.rows.find((row) => row.name === name).measures[measure].value);
  const best = scores.indexOf(Math.max(...scores));
  const against = new Map(pairs.filter(({ first, second }) => [first, second].includes(best)).map((pair) => [pair.first + pair.second - best, pair]));
  const others = names.map((_, run) => run).filter((run) => run !== best && against.get(run).difference !== 0);
  const leaders = names.filter((_, run) => !others.includes(run));
  const named = (sure) => others.filter((run) => against.get(run).sure === sure).map((run) => names[run]);
  const [sure, rest] = [named(true), named(false)];
  const words = `${someOf(leaders)} ${leaders.length === 1 ? "leads" : "lead"} by ${pairs[0].measure}, ${inPercent(scores[best])}%`;
  const parts = [
    sure.length > 0 && `sure against ${rest.length ? someOf(sure) : "every other run"}`,
    rest.length > 0 && `against ${sure.length ? someOf(rest) : "every other run"} this may be chance`,
  ].filter(Boolean);
  return parts.length ? `${words}: ${parts.join("; ")}` : `${words}; no difference seen between them`;
}

/** The highest pass rate of a task minus the lowest. */
function spreadOf({ cells }) {
  const rates = cells.map(([letters]) => [...letters].filter((letter) => letter !== "x")).filter((judged) => judged.length).map((judged) => judged.filter((letter) => letter === "p").length / judged.length);
  return rates.length ? Math.max(...rates) - Math.min(...rates) : 0;
}

function mostUsedFirst(tools) {
  const used = ({ calls }) => calls.reduce((sum, number) => sum + number, 0);
  return tools.filter(used).sort((a, b) => used(b) - used(a) || (a.name < b.name ? -1 : 1));
}

/** The part of a comparison that is about these of its runs. */
function restricted(whole, chosen) {
  const kept = whole.names.map((_, run) => run).filter((run) => chosen.has(whole.names[run]));
  const names = kept.map((run) => whole.names[run]);
  const own = (values) => kept.map((run) => values[run]);
  const others = whole.names.filter((name) => !chosen.has(name));
  const opens = (words) => (name) => words.startsWith(`${name}:`) || words.startsWith(`${name} `);
  const aboutThese = (sentences) => sentences.filter((words) => names.some(opens(words)) || !others.some(opens(words)));
  const pairs = whole.pairs.filter(({ first, second }) => kept.includes(first) && kept.includes(second));
  const adjusted = holm(pairs.map(({ p_value: p }) => p));
  const found = {
    ...whole,
    names,
    results: { ...whole.results, rows: whole.results.rows.filter(({ name }) => chosen.has(name)) },
    pairs: pairs.map((pair, at) => ({ ...pair, first: kept.indexOf(pair.first), second: kept.indexOf(pair.second), adjusted: adjusted[at] < SMALLEST_P ? `< ${SMALLEST_P}` : rounded(adjusted[at], 3), sure: adjusted[at] <= SURE })),
    tasks: whole.tasks.map((task) => ({ ...task, cells: own(task.cells) })).sort((a, b) => spreadOf(b) - spreadOf(a)),
    cautions: aboutThese(whole.cautions),
    notes: [
      `${count.format(whole.tasks.length)} tasks, which all ${whole.names.length} runs have that this site compares together; every task counts once`,
      `p-values of ${pairs[0].measure}, ${pairs.length} comparisons, Holm-corrected`,
    ],
    plots: [],
    grid: null, // effects are those of the whole grid
    system_facts: [],
    reasons: whole.reasons && { ...whole.reasons, failed: own(whole.reasons.failed), verdicts: own(whole.reasons.verdicts), rows: whole.reasons.rows.map((row) => ({ ...row, counts: own(row.counts) })).filter(({ counts }) => counts.some(Boolean)), unexplained: aboutThese(whole.reasons.unexplained) },
    tools: whole.tools && mostUsedFirst(whole.tools.map((tool) => ({ ...tool, calls: own(tool.calls), errors: own(tool.errors) }))),
  };
  return { ...found, headline: headlineOf(found) };
}

/** The comparison of two; its tasks may be places in the comparison of all. */
async function comparisonOfTwo(place) {
  const two = await readFile(`compare/${place}`);
  if (typeof two.tasks?.[0] !== "number") return two;
  const { names, tasks } = await readOnce("compare/group-0");
  const runs = two.names.map((name) => names.indexOf(name));
  return { ...two, tasks: two.tasks.map((at) => ({ ...tasks[at], cells: runs.map((run) => tasks[at].cells[run]) })) };
}

/** The comparison of these runs, in whichever order they are named. */
export async function storedComparison(query) {
  const { runs, groups } = await readOnce("runs");
  const named = new Set(query.map(([, run]) => run));
  const wanted = runs.filter(({ name }) => named.has(name)).map(({ folder }) => folder);
  if (wanted.length < named.size || wanted.length < 2) throw new Error("This site does not have these runs; choose two or more in its list.");
  if (wanted.length === 2) return comparisonOfTwo(wanted.sort().join("/"));
  const group = groups.findIndex((names) => [...named].every((name) => names.includes(name)));
  if (group < 0) throw new Error("Some of these runs cannot be compared with each other; compare two of them to see why.");
  const whole = await readOnce(`compare/group-${group}`);
  return whole.error || whole.names.length === named.size ? whole : restricted(whole, named);
}
