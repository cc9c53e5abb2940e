// Light or dark: as the system says, or as the reader chose for this visit.

import { h } from "./dom.js";

const THEMES = ["auto", "light", "dark"];

/** A page from disk may have nowhere to keep the choice. */
function storage() {
  try {
    return sessionStorage;
  } catch {
    return undefined;
  }
}

export function themeButton() {
  const button = h("button", { type: "button", class: "theme", title: "Light or dark" });
  let at = Math.max(0, THEMES.indexOf(storage()?.getItem("theme")));
  const apply = () => {
    document.documentElement.dataset.theme = THEMES[at];
    button.textContent = `Theme: ${THEMES[at]}`;
  };
  button.addEventListener("click", () => {
    at = (at + 1) % THEMES.length;
    storage()?.setItem("theme", THEMES[at]);
    apply();
  });
  apply();
  return button;
}
