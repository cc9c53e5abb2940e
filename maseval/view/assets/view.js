// The viewer: which page is shown follows the path of the address.

import { comparePage } from "../compare.js";
import { add, h } from "../dom.js";
import { searchPage } from "./found.js";
import { topBar } from "./frame.js";
import { playPage } from "./play.js";
import { runPage } from "./run.js";
import { runsPage } from "./runs.js";
import { comparedRuns, pathTo } from "./server.js";

const main = document.getElementById("overview");

function openComparison() {
  const query = new URLSearchParams(location.search);
  const [a, b] = [query.get("a") ?? "", query.get("b") ?? ""];
  const title = [h("a", { href: pathTo(a) }, a), " and ", h("a", { href: pathTo(b) }, b)];
  return comparePage(main, comparedRuns(a, b), title, topBar());
}

async function open(path) {
  if (path === "/") return runsPage(main);
  if (path === "/compare") return openComparison();
  if (path === "/search") return searchPage(main);
  if (path === "/play") return playPage(main);
  return runPage(decodeURIComponent(path.replace(/^\/run\//, "")));
}

try {
  await open(location.pathname);
} catch (error) {
  add(main, [topBar(), h("p", { class: "card error", role: "alert" }, error.message)]);
}
document.documentElement.dataset.ready ??= Math.round(performance.now());
