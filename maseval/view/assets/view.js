// The viewer: which page is shown follows the path of the address.

import { add, h } from "../dom.js";
import { start } from "../page.js";
import { ask, served } from "./server.js";

function pathTo(run) {
  return `/run/${encodeURIComponent(run).replaceAll("%2F", "/")}`;
}

async function showRuns() {
  const { runs } = await ask("/api/runs");
  const rows = runs.map(({ name, state }) => h("li", {}, h("a", { href: pathTo(name) }, name), ` ${state}`));
  add(document.getElementById("overview"), [h("h1", {}, "Runs"), h("ul", {}, rows)]);
}

const opened = location.pathname.match(/^\/run\/(.+)$/);
if (opened) await start(served(decodeURIComponent(opened[1])));
else await showRuns();
