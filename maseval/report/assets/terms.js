// What the words of the page mean. A word with a meaning has a hint, which pointing at it, the Tab key
// or a tap brings up; the last one in the list of what begins alike is the most general.

import { h } from "./dom.js";

const MEANINGS = [
  [/^pass\^1$/, "pass^1: the chance that one trial of a task passes, averaged over tasks."],
  [/^pass\^\d+$/, "pass^k: the chance that k trials of a task all pass, averaged over tasks. It falls with k unless an agent is reliable."],
  [/^passed$/, "Every check that is scored is met: the reward is 1."],
  [/^failed$/, "At least one check that is scored is not met: the reward is below 1."],
  [/^error$/, "It did not run to its end, so the agent was not judged, unless the agent itself broke off."],
  [/^not judged$/, "It ran to its end, and no evaluator said whether it passed."],
  [/^(DB|End state)$/, "DB: the databases after the conversation are compared with those after the reference solution."],
  [/^(ENV_ASSERTION|Assertions on the state)$/, "Functions of the environment that must hold at the end, such as a service that works again."],
  [/^(ACTION|Reference actions)$/, "Whether the calls of the reference solution were made. Another way to the same end is as good where this is not scored."],
  [/^(COMMUNICATE|Information given)$/, "Texts that the agent must have said to the user."],
  [/^(NL_ASSERTION|Judged assertions)$/, "Sentences about the conversation that a model judged."],
  [/^tasks$/, "How many tasks count. Every task counts once, whatever its number of trials."],
  [/^simulations$/, "How many conversations were planned: the trials of all tasks."],
  [/^verdicts$/, "How many of them were judged. What is missing could still change the numbers."],
  [/^mean cost$/, "What one simulation cost, over those whose cost is known."],
  [/^Trials$/, "A cell for each trial: ✓ passed, ✗ failed, ! error; ▸ running, dotted: still to come, dashed: missing."],
  [/^In flight$/, "The simulations that are running now, with what was said last in each."],
  [/^scored$/, "The reward is the product of the checks that are scored."],
  [/^not scored$/, "Looked at and shown, but without influence on the reward."],
  [/^write$/, "A tool that can change the database."],
  [/^user_stop$/, "The user ended the conversation, which is the usual way."],
  [/^agent_stop$/, "The agent ended the conversation."],
  [/^max_steps$/, "The conversation was cut off when all its steps were used up."],
  [/^too_many_errors$/, "The conversation was cut off because too many tool calls failed."],
  [/^timeout$/, "The time limit of the run ended the conversation."],
  [/^context_window_exceeded$/, "The conversation no longer fitted a model's context window."],
  [/^agent_error$/, "The agent broke off with an error of its own."],
  [/^user_error$/, "The simulated user broke off with an error."],
  [/^infrastructure_error$/, "A provider or the network failed, so that neither side was judged by what it did."],
  [/^unexpected_error$/, "An error that nobody foresaw ended the conversation."],
  [/^agent: broke the policy/, "A rule of the policy was broken, whatever the verdict says."],
  [/^agent: policy /, "It is undecided whether the agent kept its policy: the record does not show it."],
  [/^agent: matter of form$/, "The policy asks for another form, such as one call at a time."],
  [/^task: left out$/, "No verdict on this task can be right, so the number over sound tasks leaves it out. The official number counts it."],
  [/^task: sound verdict: /, "The verdict as it would be without the task's known errors. The official verdict stays as it is."],
  [/^agent: /, "The agent failed, by the first rule that applies. The evidence stands under Explanation."],
  [/^user: /, "The simulated user did not keep to its task, by the rule that says so. The official number counts it all the same."],
  [/^task: /, "The task itself is wrong or leaves a choice open, and nothing else is missing."],
  [/^infrastructure: /, "Something outside of the conversation ended or spoiled it."],
  [/^(record|unclear): task does not fit$/, "The task is not that of the conversation, so that no rule can tell who failed, or whether anybody did."],
  [/^record: /, "Computed again, the verdict is not the recorded one."],
  [/^unclear: /, "The evidence does not show who failed."],
  [/^without breaches found/, "Only passes in which no breach of the policy was found: an upper bound, as rules do not find everything."],
  [/^Notes$/, "What people wrote about this simulation. Notes are kept beside the run, and no number depends on them."],
  [/^First wrong step$/, "The first message with a fault that decided the verdict. It may still have been put right afterwards."],
  [/^Point of no return$/, "The first message after which nothing could have put it right any more: later calls cannot undo what was written, or no call came later."],
  [/^Policy$/, "The rules that the agent was told to obey."],
  [/^Time travel$/, "The databases as they were after each message, by replaying the recorded tool calls."],
  [/^Termination$/, "How the conversation ended."],
  [/^Label$/, "Who failed and how, found by fixed rules; beside it what the policy, the errata and the simulated user say."],
];

/** What a word of the page means; nothing if it says so itself. */
export function meaningOf(word) {
  return MEANINGS.find(([pattern]) => pattern.test(word))?.[1];
}

/** A word with its hint. */
export function term(word, meaning = meaningOf(word), attributes = {}) {
  if (!meaning) return h("span", attributes, word);
  return h("span", { ...attributes, class: `${attributes.class ?? ""} term`.trim(), role: "button", tabindex: "0", "data-hint": meaning }, word);
}

const bubble = h("div", { id: "hint", role: "tooltip", hidden: true });
let shownFor;

function hideHint() {
  shownFor?.removeAttribute("aria-describedby");
  shownFor = undefined;
  bubble.hidden = true;
}

function showHint(owner) {
  hideHint();
  shownFor = owner;
  bubble.replaceChildren(h("span", {}, owner.dataset.hint));
  bubble.hidden = false;
  owner.setAttribute("aria-describedby", bubble.id);
  placeHint(owner);
}

function placeHint(owner) {
  const { left, top, bottom } = owner.getBoundingClientRect();
  const { width, height } = bubble.getBoundingClientRect();
  bubble.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
  bubble.style.top = `${bottom + height + 12 < innerHeight ? bottom + 6 : Math.max(8, top - height - 6)}px`;
}

/** Shows the hint of whatever has one, for as long as somebody looks at it. */
export function watchHints() {
  document.body.append(bubble);
  const ownerOf = ({ target }) => target.closest?.("[data-hint]");
  const show = (event) => {
    const owner = ownerOf(event);
    if (owner && owner !== shownFor) showHint(owner);
    else if (!owner && !shownFor?.matches(":focus")) hideHint();
  };
  addEventListener("focusin", show);
  addEventListener("pointerover", show);
  addEventListener("focusout", hideHint);
  // A word that the keyboard reaches is scrolled into view: its hint goes with it.
  const follow = () => (shownFor?.matches(":focus") ? placeHint(shownFor) : hideHint());
  addEventListener("scroll", follow, { capture: true, passive: true });
  // Esc takes the hint away before it closes anything.
  addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !shownFor) return;
    hideHint();
    event.stopPropagation();
  }, { capture: true });
}
