// The labelling page: a question about one conversation after the other, answered by a person. What
// a judge said is shown after the answer only.

import { conversationSection } from "../conversation.js";
import { add, folded, h, onKeys } from "../dom.js";
import { markdown } from "../markdown.js";
import { wishLine } from "../simulation.js";
import { topBar } from "./frame.js";
import { ask, pathTo, tell } from "./server.js";

const LABELS = "/api/label";

function startForm(run) {
  const name = h("input", { name: "by", required: "", maxlength: "60", "aria-label": "Your name", placeholder: "Your name" });
  const begin = (event) => {
    event.preventDefault();
    const query = new URLSearchParams(location.search);
    query.set("by", name.value);
    location.search = query;
  };
  return h("form", { class: "card", submit: begin }, h("h1", {}, "Label conversations of ", run), h("p", {}, "Labels are kept in the run's folder under your name."), h("p", {}, name, " ", h("button", { type: "submit" }, "Begin")));
}

function numbers({ shares, agreement }) {
  return h("ul", { class: "label-numbers" }, [...shares, ...agreement].map((line) => h("li", {}, line)));
}

export async function labelPage(main, run) {
  const query = new URLSearchParams(location.search);
  query.set("run", run);
  const bar = topBar(h("a", { href: pathTo(run) }, run));
  if (!query.get("by")) return add(main, [bar, startForm(run)]);
  const keys = {};
  onKeys(keys);
  add(main, [bar, h("p", { role: "status" }, "Drawing conversations to label …")]);
  draw(await ask(LABELS, query));

  function draw({ question, answers, total, labelled, next, said, ...rest }) {
    main.replaceChildren();
    const progress = h("p", { class: "label-progress", role: "status" }, `${labelled} of ${total} labelled`, said && ` · ${said}`);
    if (!next) {
      for (const key of Object.keys(keys)) delete keys[key];
      add(main, [bar, h("div", { class: "card" }, h("h1", {}, "All labelled"), progress, numbers(rest))]);
      return;
    }
    const note = h("textarea", { name: "note", rows: "2", maxlength: "4000", "aria-label": "Note", placeholder: "Note (optional)" });
    const failed = h("p", { class: "error", role: "alert", hidden: true });
    const buttons = answers.map((answer) => h("button", { type: "button", "data-answer": answer, click: () => send(answer) }, answer));
    const send = async (answer) => {
      for (const button of buttons) button.disabled = true;
      try {
        draw(await tell(LABELS, query, { domain: next.domain, task_id: next.task_id, trial: next.trial, answer, note: note.value || null }));
        scrollTo(0, 0);
      } catch (error) {
        failed.hidden = false;
        failed.textContent = error.message;
        for (const button of buttons) button.disabled = false;
      }
    };
    add(main, [
      bar,
      h("div", { class: "card label" }, progress, wishLine(next), next.policy && folded("Policy", () => markdown(next.policy)), h("section", { class: "part conversation" }, conversationSection(next)), h("h1", {}, question), note, h("p", { class: "label-answers" }, buttons), failed),
    ]);
    for (const answer of answers) keys[answer[0]] = () => send(answer);
  }
}
