// What every page of the viewer has in common: the way to the others, and the search, which a site has not.

import { h } from "../dom.js";
import { STORED } from "./files.js";
import { openedPage, pageAddress } from "./server.js";

/** The bar on top; `more` are further links. */
export function topBar(...more) {
  const field = h("input", { type: "search", name: "q", placeholder: "Search all conversations", "aria-label": "Search all conversations" });
  field.value = new URLSearchParams(location.search).get("q") ?? "";
  const find = (event) => {
    event.preventDefault();
    location.href = pageAddress("search", { q: field.value });
  };
  return h(
    "nav",
    { class: "top-bar", "aria-label": "Viewer" },
    h("a", { href: pageAddress(), "aria-current": openedPage().page ? undefined : "page" }, "All runs"),
    more,
    !STORED && h("form", { role: "search", submit: find }, field, h("button", { type: "submit" }, "Search")),
  );
}

/** Somewhere between the halves of a second that a person does not notice. */
export function since(moment) {
  return Math.max(0, (Date.now() - Date.parse(moment)) / 1000);
}

/** A moment to the minute, in the reader's own time. */
export function minute(moment) {
  const date = new Date(moment);
  if (!moment || Number.isNaN(date.getTime())) return "–";
  const two = (number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

export function stateChip(state) {
  return h("span", { class: `run-state ${state}` }, state);
}
