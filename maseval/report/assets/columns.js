// Which columns of a table a reader wants to see, and how dense its rows are: remembered for the next visit.

import { h } from "./dom.js";

const DENSE = "Dense rows";

/** A page from disk may have nowhere to keep the choice. */
function remembered(key) {
  try {
    return JSON.parse(localStorage.getItem(key));
  } catch {
    return null;
  }
}

function remember(key, value) {
  try {
    localStorage.setItem(key, JSON.stringify(value));
  } catch {
    // it lasts as long as the page
  }
}

/** The class of a column's cells. */
export function columnClass(name) {
  return `of-${name.toLowerCase().replace(/\W/g, "")}`;
}

/** A menu of the columns that may be hidden; `off` are those that nobody sees before asking for them. */
export function columnMenu(table, key, names, off = []) {
  const chosen = new Set(remembered(key) ?? names.filter((name) => !off.includes(name)));
  const apply = () => {
    for (const name of names) table.classList.toggle(`hide-${columnClass(name)}`, !chosen.has(name));
    table.classList.toggle("dense", chosen.has(DENSE));
  };
  const box = (name) => {
    const change = ({ target }) => {
      if (target.checked) chosen.add(name);
      else chosen.delete(name);
      remember(key, [...chosen]);
      apply();
    };
    return h("label", {}, h("input", { type: "checkbox", checked: chosen.has(name), change }), ` ${name}`);
  };
  apply();
  return h("details", { class: "column-menu" }, h("summary", {}, "Columns"), h("div", {}, [...names, DENSE].map(box)));
}
