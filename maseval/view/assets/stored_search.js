// Search in the files of a site. A file for each run says which words occur in which task, so that only
// conversations that may have what is looked for are read.

import { readOnce, storedPacket } from "./files.js";

const PER_PAGE = 25;
const AT_ONCE = 8;
const AROUND = 90;
const LOOKED_IN = { any: ["text", "result", "tool", "argument", "error"], text: ["text", "result"] };

/** The words and phrases in quotes that are searched for. */
export function chunks(words) {
  return [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, phrase, word]) => (phrase ?? word).toLowerCase()).filter(Boolean);
}

function excerptOf(text, wanted) {
  const at = Math.min(...wanted.map((chunk) => text.toLowerCase().indexOf(chunk)).filter((place) => place >= 0));
  const [begin, end] = [Math.max(0, at - AROUND), at + AROUND];
  return `${begin ? "…" : ""}${text.slice(begin, end).replace(/\s+/g, " ").trim()}${end < text.length ? "…" : ""}`;
}

/** Every text of a simulation: of which message, if of one, what kind of text, and the text. */
function* passages({ messages = [], error }) {
  for (const { index, text, failed, calls = [] } of messages) {
    const results = (wrong) => calls.filter(({ result }) => result && Boolean(result.failed) === wrong).map(({ result }) => result.text);
    yield [index, failed ? "error" : "text", text ?? ""];
    yield [index, "tool", calls.map(({ name }) => name).join("\n")];
    yield [index, "argument", calls.map((call) => call.arguments).join("\n")];
    yield [index, "result", results(false).join("\n")];
    yield [index, "error", results(true).join("\n")];
  }
  yield [null, "error", error?.message ?? ""];
}

/** The places of the tasks in which all of these may occur. */
function placesWith(wanted, { words, places }, { tasks }) {
  let left = tasks.map((_, place) => place);
  for (const part of wanted.flatMap((chunk) => chunk.match(/[\p{L}\p{N}_]+/gu))) {
    const found = new Set();
    // A word without places is one that most tasks have.
    words.forEach((word, at) => word.includes(part) && (places[at].length ? places[at] : left).forEach((place) => found.add(place)));
    left = left.filter((place) => found.has(place));
  }
  return left;
}

/** What a task's simulations have of it. */
function hitsIn({ common, names, trials }, index, place, wanted, kind) {
  const task = index.tasks[place];
  return trials.flatMap((own, at) =>
    [...passages({ ...common, ...own })]
      .filter(([, where, text]) => (LOOKED_IN[kind] ?? [kind]).includes(where) && wanted.every((chunk) => text.toLowerCase().includes(chunk)))
      .map(([message, where, text]) => ({ domain: task.domain, task: task.id, trial: names[at], message, where, excerpt: excerptOf(text, wanted) })),
  );
}

/** The hits in a run, a few tasks at a time. */
async function* hitsOfRun({ name, folder }, wanted, kind) {
  const index = await readOnce(`${folder}/index`);
  if (index.error) return;
  const places = placesWith(wanted, await readOnce(`${folder}/words`), index);
  for (let from = 0; from < places.length; from += AT_ONCE) {
    const some = places.slice(from, from + AT_ONCE);
    const packets = await Promise.all(some.map((place) => storedPacket(folder, place)));
    yield packets.flatMap((packet, at) => hitsIn(packet, index, some[at], wanted, kind)).map((hit) => ({ run: name, ...hit }));
  }
}

/** Answers as the server does, but counts no further than the page that is asked for. */
export async function storedSearch({ q, kind = "any", run, skip = 0, per }, progress) {
  const began = performance.now();
  const wanted = chunks(q).filter((chunk) => /[\p{L}\p{N}]/u.test(chunk));
  const { runs } = await readOnce("runs");
  const looked = wanted.length ? runs.filter(({ name }) => run == null || name === run) : [];
  const most = per === "simulation" ? Infinity : Number(skip) + PER_PAGE;
  const hits = [];
  for (const [at, each] of looked.entries()) {
    for await (const found of hitsOfRun(each, wanted, kind)) {
      hits.push(...found);
      if (hits.length > most) break;
    }
    if (hits.length > most) break;
    progress?.(at + 1, looked.length);
  }
  return { took_ms: performance.now() - began, total: hits.length, more: hits.length > most, unread: 0, hits: hits.slice(Number(skip), most) };
}
