// Search over all conversations of the folder; each hit leads to its message.

import { hashOf, simulationName } from "../data.js";
import { add, h } from "../dom.js";
import { count, counted, duration } from "../text.js";
import { themeButton } from "../theme.js";
import { topBar } from "./frame.js";
import { ask, pathTo } from "./server.js";

const ASK_AGAIN = 2000;

/** The words and phrases in quotes that are searched for. */
function chunks(words) {
  return [...words.matchAll(/"([^"]*)"|(\S+)/g)].map(([, phrase, word]) => (phrase ?? word).toLowerCase()).filter(Boolean);
}

/** The excerpt with what was searched for marked in it. */
function marked(excerpt, words) {
  const parts = [];
  const text = excerpt.toLowerCase();
  let from = 0;
  // Where letters change their number with their case, places in the two texts do not agree.
  while (from < excerpt.length && text.length === excerpt.length) {
    const next = words.map((word) => [text.indexOf(word, from), word.length]).filter(([at]) => at >= 0);
    if (!next.length) break;
    const [at, length] = next.reduce((first, other) => (other[0] < first[0] ? other : first));
    parts.push(excerpt.slice(from, at), h("mark", {}, excerpt.slice(at, at + length)));
    from = at + length;
  }
  return [...parts, excerpt.slice(from)];
}

function hitItem({ run, domain, task, trial, message, excerpt }, words) {
  const name = simulationName(domain ?? "", task, String(trial));
  return h(
    "li",
    {},
    h("a", { href: pathTo(run) + hashOf(name, message) }, h("b", {}, run), " ", h("span", { class: "id" }, name), message != null && ` message ${message}`),
    h("p", { class: "excerpt", dir: "auto" }, marked(excerpt ?? "", words)),
  );
}

function summaryOf({ took_ms, total, more, unread }) {
  const parts = [total || !unread ? `${counted(total, "hit")}${more ? " or more" : ""} in ${duration(took_ms / 1000)}` : "No hit so far"];
  if (unread > 0) parts.push(`${(unread / 1e6).toFixed(1)} MB of conversations are still being read`);
  return parts.join(" · ");
}

export async function searchPage(container) {
  const query = new URLSearchParams(location.search);
  const asked = { q: query.get("q") ?? "", ...(query.has("run") && { run: query.get("run") }) };
  const status = h("output", { class: "status" }, asked.q ? "Searching …" : "Enter what to look for above.");
  const list = h("ol", { class: "hits" });
  const more = h("button", { type: "button", class: "more", hidden: true });
  const title = asked.run ? `Search in ${asked.run}` : "Search";
  add(container, [
    topBar(),
    h("header", { class: "top" }, h("div", {}, h("h1", {}, title), status), h("div", { class: "beside" }, themeButton())),
    h("section", { class: "card", "aria-label": "Hits" }, list, more),
  ]);
  if (!asked.q) return;
  const show = ({ total, hits }) => {
    add(list, hits.map((hit) => hitItem(hit, chunks(asked.q))));
    more.hidden = !hits.length || list.children.length >= total;
    more.textContent = `Show more: ${count.format(list.children.length)} of ${counted(total, "hit")} are shown`;
  };
  const refused = (error) => (status.textContent = error.message);
  more.addEventListener("click", () => ask("/api/search", { ...asked, skip: list.children.length }).then(show, refused));
  const find = async () => {
    try {
      const found = await ask("/api/search", asked);
      status.textContent = summaryOf(found);
      list.replaceChildren();
      show(found);
      if (found.unread) setTimeout(find, ASK_AGAIN);
    } catch (error) {
      refused(error);
    }
  };
  await find();
}
