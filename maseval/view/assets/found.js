// Search over all conversations of the folder; each hit leads to its message.

import { hashOf, simulationName } from "../data.js";
import { add, h } from "../dom.js";
import { choice } from "../filters.js";
import { count, counted, duration } from "../text.js";
import { themeButton } from "../theme.js";
import { topBar } from "./frame.js";
import { ask, pathTo } from "./server.js";

const HIT_KINDS = ["any", "text", "tool", "argument", "label", "error"];

/** The excerpt with the words that were searched for marked in it. */
function marked(excerpt, words) {
  const at = words ? excerpt.toLowerCase().indexOf(words.toLowerCase()) : -1;
  if (at < 0) return excerpt;
  return [excerpt.slice(0, at), h("mark", {}, excerpt.slice(at, at + words.length)), excerpt.slice(at + words.length)];
}

function hitItem({ run, domain, task, trial, message, where, excerpt }, words) {
  const name = simulationName(domain ?? "", task, String(trial));
  return h(
    "li",
    {},
    h("a", { href: pathTo(run) + hashOf(name, message) }, h("b", {}, run), " ", h("span", { class: "id" }, name), message != null && ` message ${message}`),
    where && h("span", { class: "tag" }, where),
    h("p", { class: "excerpt", dir: "auto" }, marked(excerpt ?? "", words)),
  );
}

function summaryOf({ took_ms, total, hits }) {
  const shown = hits.length < total ? `, the first ${count.format(hits.length)} of which are shown` : "";
  return `${counted(total, "hit")} in ${duration(took_ms / 1000)}${shown}`;
}

export async function searchPage(container) {
  const query = new URLSearchParams(location.search);
  const asked = { q: query.get("q") ?? "", kind: query.get("kind") ?? "any", ...(query.has("run") && { run: query.get("run") }) };
  const { select, field } = choice("In", HIT_KINDS, (kind) => (location.href = `/search?${new URLSearchParams({ ...asked, kind })}`));
  select.value = asked.kind;
  const status = h("output", { class: "status" }, asked.q ? "Searching …" : "Enter what to look for above.");
  const list = h("ol", { class: "hits" });
  const title = asked.run ? `Search in ${asked.run}` : "Search";
  add(container, [
    topBar(),
    h("header", { class: "top" }, h("div", {}, h("h1", {}, title), status), h("div", { class: "beside" }, themeButton())),
    h("section", { class: "card", "aria-label": "Hits" }, h("div", { class: "filters" }, field), list),
  ]);
  if (!asked.q) return;
  try {
    const found = await ask("/api/search", asked);
    status.textContent = summaryOf(found);
    add(list, found.hits.map((hit) => hitItem(hit, asked.q)));
  } catch (error) {
    status.textContent = error.message;
  }
}
