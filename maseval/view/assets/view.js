// The viewer: which page is shown follows the address.

import { comparePage } from "../compare.js";
import { add, h } from "../dom.js";
import { counted } from "../text.js";
import { searchPage } from "./found.js";
import { topBar } from "./frame.js";
import { labelPage } from "./label.js";
import { runPage } from "./run.js";
import { runsPage } from "./runs.js";
import { comparedRuns, openedPage, pathTo } from "./server.js";

const main = document.getElementById("overview");

const SHORT_TITLE = 3;

function openComparison() {
  const query = new URLSearchParams(location.search);
  const runs = [...new Set(query.getAll("run"))];
  const links = runs.flatMap((run, at) => [at > 0 && " and ", h("a", { href: pathTo(run) }, run)]);
  return comparePage(main, comparedRuns(runs), runs.length > SHORT_TITLE ? counted(runs.length, "run") : links, topBar());
}

async function open({ page, run }) {
  if (page === "run") return runPage(run);
  if (page === "label") return labelPage(main, run);
  if (page === "compare") return openComparison();
  if (page === "search") return searchPage(main);
  if (page) throw new Error(`There is no page here: ${location.pathname}. All runs are at the link above.`);
  return runsPage(main);
}

try {
  await open(openedPage());
} catch (error) {
  const again = h("button", { type: "button", click: () => location.reload() }, "Try again");
  add(main, [topBar(), h("div", { class: "card error", role: "alert" }, h("p", {}, error.message, " ", again))]);
}
document.documentElement.dataset.ready ??= Math.round(performance.now());
