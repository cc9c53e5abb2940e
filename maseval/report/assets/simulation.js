// One simulation, drawn when it is opened.

const SPEAKERS = { assistant: "Agent", user: "User", tool: "Tool", system: "System" };

function speaker(message) {
  const who = SPEAKERS[message.who] ?? message.who;
  return message.speaker ? `${who} (${message.speaker})` : who;
}

function toolCall(call) {
  const marks = [
    call.writes && h("span", { class: "tag write", title: "A tool that writes to the database" }, "write"),
    call.result?.failed && h("span", { class: "tag bad" }, "error"),
    !call.result && h("span", { class: "tag" }, "no result"),
  ];
  return h(
    "div",
    { class: `call ${call.result?.failed ? "bad" : ""}` },
    h("div", { class: "call-head" }, h("code", { class: "tool" }, call.name), marks),
    call.arguments !== "{}" && h("div", { class: "given" }, code(call.arguments)),
    call.result && h("div", { class: "answer" }, call.result.text ? code(call.result.text) : h("i", {}, "(empty)")),
  );
}

function message(said) {
  const aside = [`#${said.index}`];
  if (said.seconds) aside.push(`+${duration(said.seconds)}`);
  if (said.cost) aside.push(money(said.cost));
  const words = said.text && (said.who === "system" || said.who === "tool" ? code(said.text) : prose(said.text));
  return h(
    "li",
    { class: `message ${SPEAKERS[said.who] ? said.who : "other"}`, id: `message-${said.index}`, "data-message": String(said.index), tabindex: "-1" },
    h("div", { class: "message-head" }, h("strong", {}, speaker(said)), h("small", {}, aside.join(" · "))),
    words,
    (said.calls ?? []).map(toolCall),
    said.failed && h("span", { class: "tag bad" }, "error"),
    !said.text && !said.calls && h("i", {}, "(empty message)"),
  );
}

function toMessage(number) {
  const go = ({ target: button }) => {
    const target = button.closest(".inside").querySelector(`[data-message="${number}"]`);
    target?.scrollIntoView({ block: "center" });
    target?.focus({ preventScroll: true });
  };
  return h("button", { type: "button", class: "jump", click: go }, `message ${number}`);
}

function errorBlock(error) {
  return h(
    "div",
    { class: "error" },
    h("strong", {}, error.type),
    prose(error.message),
    error.more && code(error.more),
    error.traceback && folded("Traceback", () => prose(error.traceback, { class: "code" })),
  );
}

function errorSection({ error, attempts = [] }) {
  if (!error && !attempts.length) return null;
  const earlier = attempts.map((attempt, number) => [h("h4", {}, `Attempt ${number + 1}: ${attempt.status}`), attempt.error && errorBlock(attempt.error)]);
  return [error && errorBlock(error), attempts.length > 0 && folded(counted(attempts.length, "earlier attempt"), () => h("div", {}, earlier))];
}

const KINDS = {
  DB: "End state",
  ENV_ASSERTION: "Assertions on the state",
  ACTION: "Reference actions",
  COMMUNICATE: "Information given",
  NL_ASSERTION: "Judged assertions",
};

function check({ met, name, evidence, arguments: given, message: found }) {
  return h(
    "li",
    { class: met ? "met" : "unmet" },
    h("span", { class: "mark", "aria-label": met ? "met" : "not met" }, met ? "✓" : "✗"),
    h(
      "div",
      {},
      h("span", { class: "check-name" }, name),
      found != null && toMessage(found),
      given && given !== "{}" && h("div", { class: "given" }, code(given)),
      evidence && prose(evidence, { class: "evidence" }),
    ),
  );
}

function checkGroup(kind, list) {
  const met = list.filter((each) => each.met).length;
  const counts = list[0].counts;
  const title = [
    h("span", { class: met === list.length ? "mark met" : counts ? "mark unmet" : "mark" }, met === list.length ? "✓" : "✗"),
    h("b", {}, KINDS[kind] ?? kind),
    h("small", {}, `${met} of ${list.length} met`),
    h("small", { class: counts ? "tag strong" : "tag" }, counts ? "scored" : "not scored"),
  ];
  return folded(title, () => h("ul", { class: "checks" }, list.map(check)), counts && met < list.length);
}

function verdict({ returned, reward, basis, checks, notes }) {
  if (returned) return pairs(returned, (value) => code(value));
  const groups = Map.groupBy ? Map.groupBy(checks, ({ kind }) => kind) : grouped(checks);
  const product = basis.map(([kind, found]) => `${kind}\u00a0${found ?? "–"}`).join(" × ");
  return [
    h("p", {}, "Reward ", h("b", {}, reward ?? "–"), product && [" = ", product]),
    notes.map((note) => h("p", { class: "note" }, note)),
    [...groups].map(([kind, list]) => checkGroup(kind, list)),
  ];
}

function grouped(checks) {
  const groups = new Map();
  for (const each of checks) groups.set(each.kind, [...(groups.get(each.kind) ?? []), each]);
  return groups;
}

/** A line of an explanation, in which each message that it names can be jumped to. */
function explained(line) {
  const depth = Math.min(2, Math.floor(line.search(/\S|$/) / 2));
  const parts = line.trim().split(/(message \d+)/);
  return h("p", { class: `explained depth-${depth}` }, parts.map((part, at) => (at % 2 ? toMessage(Number(part.slice(8))) : part)));
}

function wrongFields(fields) {
  const head = ["Field", "expected", "found", "cause"].map((name) => h("th", { scope: "col" }, name));
  const cause = ({ message, call, remedy }) => [
    message != null && h("p", {}, toMessage(message), call && h("code", {}, call)),
    remedy && h("p", {}, "missing: ", h("code", {}, remedy)),
  ];
  const same = (one, other) => one && ["message", "call", "remedy"].every((key) => one[key] === other[key]);
  const lines = fields.map((field, at) => {
    // One call often leaves several fields wrong; it stands beside all of them once.
    let alike = 1;
    while (at + alike < fields.length && same(field, fields[at + alike])) alike += 1;
    const { place, expected, found } = field;
    return h(
      "tr",
      {},
      h("th", { scope: "row" }, h("code", {}, place)),
      h("td", {}, h("code", {}, expected ?? "–")),
      h("td", {}, h("code", {}, found ?? "–")),
      !same(fields[at - 1], field) && h("td", { rowspan: alike }, cause(field)),
    );
  });
  return h("div", { class: "scroll" }, h("table", { class: "fields" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, lines)));
}

function explanationSection({ explanation }) {
  if (!explanation) return null;
  const { summary, label, fields, sections } = explanation;
  return [
    label && h("p", {}, h("b", {}, label.name), label.rule && h("small", {}, ` rule: ${label.rule}`)),
    label?.evidence.map(explained),
    summary && h("p", { class: "evidence" }, summary),
    fields.length > 0 && [h("h4", {}, "End state"), wrongFields(fields)],
    sections.map(({ title, lines }) => [h("h4", {}, title), lines.map(explained)]),
  ];
}

function stateSection({ state, messages = [] }) {
  if (!state) return null;
  const writers = messages.filter(({ calls = [] }) => calls.some(({ writes, result }) => writes && result && !result.failed));
  const short = (hash) => h("code", { title: hash }, hash.slice(0, 12));
  const databases = state.map(({ name, changed, before, after }) => [
    name,
    [changed == null ? "" : changed ? "changed " : "unchanged ", before && changed && [short(before), " → "], short(after)],
  ]);
  const calls = (said) => said.calls.filter(({ writes }) => writes).map(({ name }) => h("code", {}, name));
  return [
    pairs(databases),
    writers.length > 0 && h("ul", { class: "writes" }, writers.map((said) => h("li", {}, toMessage(said.index), calls(said)))),
  ];
}

function taskSection({ task }) {
  return task && task.map(([name, words]) => folded(name, () => (isJSON(words) ? code(words) : prose(words))));
}

function conversationSection({ messages, answer }) {
  if (messages) return h("ol", { class: "conversation" }, messages.map(message));
  return answer && [h("h4", {}, "Final answer"), prose(answer)];
}

const HEADS = ["", "input tokens", "cached input tokens", "output tokens", "cost"];

function usageSection({ usage }) {
  if (!usage) return null;
  const number = (value, name) => h("td", { class: "number", "data-name": name }, value == null ? "–" : count.format(value));
  const lines = usage.map(({ name, input, cached, output, cost }) =>
    h("tr", {}, h("th", { scope: "row" }, name), number(input, HEADS[1]), number(cached, HEADS[2]), number(output, HEADS[3]), h("td", { class: "number", "data-name": HEADS[4] }, money(cost))),
  );
  const head = HEADS.map((name) => h("th", { scope: "col" }, name));
  return h("div", { class: "scroll" }, h("table", { class: "used" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, lines)));
}

// Each makes one section from the details, or nothing. To show something more, add it here and
// its part to the details.
const SECTIONS = [
  ["Error", errorSection],
  ["Verdict", ({ verdicts }) => verdicts?.map(verdict)],
  ["Explanation", explanationSection],
  ["State", stateSection],
  ["Task", taskSection],
  ["Conversation", conversationSection],
  ["Usage", usageSection],
  ["Record", ({ record }) => record && pairs(record)],
];

function drawSections(detail) {
  return SECTIONS.map(([title, draw]) => {
    const inside = draw(detail);
    return inside && h("section", { class: `part ${title.toLowerCase()}` }, h("h3", {}, title), inside);
  });
}

/** What the customer wants, in the words of the task. */
function wishLine({ wish }) {
  return wish && h("div", { class: "wish" }, h("h3", {}, "Customer's request"), prose(wish));
}

function banner(simulation) {
  const { domain, id } = taskOf(simulation);
  const { mark, word } = OUTCOMES[simulation.outcome];
  const facts = [simulation.ended, simulation.seconds != null && duration(simulation.seconds), simulation.cost && money(simulation.cost)];
  return [
    h("h2", { tabindex: "-1" }, domain && h("span", { class: "domain" }, domain), h("span", { class: "id" }, id), h("span", { class: "trial" }, `trial ${simulation.trial}`)),
    h(
      "p",
      { class: "outcome" },
      h("span", { class: `chip ${simulation.outcome}` }, h("b", {}, mark), ` ${word}`),
      facts.filter(Boolean).join(" · "),
      simulation.labels.map((label) => h("button", { type: "button", class: "tag", title: "Show these only", click: () => choose("label", label) }, label)),
      badges(taskOf(simulation)),
    ),
  ];
}
