// The viewer: which page is shown follows the path of the address.

import { add, h } from "../dom.js";
import { comparePage } from "./compare.js";
import { searchPage } from "./found.js";
import { topBar } from "./frame.js";
import { playPage } from "./play.js";
import { runPage } from "./run.js";
import { runsPage } from "./runs.js";

const main = document.getElementById("overview");

async function open(path) {
  if (path === "/") return runsPage(main);
  if (path === "/compare") return comparePage(main);
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
