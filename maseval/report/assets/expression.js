// A filter as people write it: `steps > 30 and tool = refund`. It becomes a function of a simulation, or
// an error that names what could not be understood. The grammar, from the loosest to the tightest:
// or, and, not, ( … ), and a comparison of a field with a number or a word. Words with spaces stand in
// quotes; ~ is "contains".

import { index, OUTCOMES, taskOf } from "./data.js";

const FIELDS = {
  __proto__: null,
  steps: ({ steps }) => steps,
  tokens: ({ tokens }) => tokens,
  cost: ({ cost }) => cost,
  time: ({ seconds }) => seconds,
  score: ({ reward }) => reward,
  // As the page says it, too.
  outcome: ({ outcome }) => [outcome, OUTCOMES[outcome].word],
  ended: ({ ended }) => ended,
  label: ({ labels }) => labels,
  tool: ({ tools }) => tools ?? [],
  domain: (simulation) => taskOf(simulation).domain,
  task: (simulation) => taskOf(simulation).id,
  trial: ({ trial }) => trial,
  run: ({ run }) => index.runs[run] ?? "",
};

export const FIELD_NAMES = Object.keys(FIELDS).join(", ");

const COMPARE = {
  __proto__: null,
  "=": (found, wanted) => String(found).toLowerCase() === wanted || (wanted !== "" && found !== "" && Number(found) === Number(wanted)),
  "~": (found, wanted) => String(found).toLowerCase().includes(wanted),
  ">": (found, wanted) => found > Number(wanted),
  ">=": (found, wanted) => found >= Number(wanted),
  "<": (found, wanted) => found < Number(wanted),
  "<=": (found, wanted) => found <= Number(wanted),
};
const ORDERED = /[<>]/;
const TOKEN = /\s*(?:(\()|(\))|(>=|<=|!=|==|=|~|<|>)|"([^"]*)"|([^\s()=<>~!"]+))/y;

function tokensOf(text) {
  const tokens = [];
  TOKEN.lastIndex = 0;
  while (text.slice(TOKEN.lastIndex).trim()) {
    const from = TOKEN.lastIndex;
    const match = TOKEN.exec(text);
    if (!match) throw new Error(`“${text.slice(from).trim()}” is no part of a filter`);
    const [, open, shut, sign, quoted, word] = match;
    tokens.push(open || shut || sign ? { sign: open ?? shut ?? sign } : { word: quoted ?? word, quoted: quoted != null });
  }
  return tokens;
}

/** The function of an expression; an empty one leaves everything. */
export function parseExpression(text) {
  const tokens = tokensOf(text);
  if (!tokens.length) return () => true;
  let at = 0;
  const isWord = (name) => tokens[at] && !tokens[at].quoted && tokens[at].word?.toLowerCase() === name;
  const isSign = (sign) => tokens[at]?.sign === sign;

  function several(name, inside, joined) {
    const parts = [inside()];
    while (isWord(name)) {
      at += 1;
      parts.push(inside());
    }
    return (simulation) => joined(parts, (part) => part(simulation));
  }
  const either = () => several("or", all, (parts, holds) => parts.some(holds));
  const all = () => several("and", one, (parts, holds) => parts.every(holds));

  function one() {
    if (isWord("not")) {
      at += 1;
      const inside = one();
      return (simulation) => !inside(simulation);
    }
    if (!isSign("(")) return comparison();
    at += 1;
    const inside = either();
    if (!isSign(")")) throw new Error("a ) is missing");
    at += 1;
    return inside;
  }

  function comparison() {
    const [field, { sign } = {}, value] = tokens.slice(at, at + 3);
    const name = field?.word?.toLowerCase();
    if (!FIELDS[name]) throw new Error(`${field?.word ?? field?.sign ?? "the end"} is no field; there are ${FIELD_NAMES}`);
    const plain = { "==": "=", "!=": "=" }[sign] ?? sign;
    if (!COMPARE[plain]) throw new Error(`after ${name} one of = != ~ < <= > >= is missing`);
    if (value?.word == null) throw new Error(`after ${name} ${sign} a value is missing`);
    const wanted = value.word.toLowerCase();
    if (ORDERED.test(plain) && Number.isNaN(Number(wanted))) throw new Error(`${name} ${sign} takes a number, not ${value.word}`);
    at += 3;
    const fits = (simulation) => [FIELDS[name](simulation)].flat().some((found) => found != null && COMPARE[plain](found, wanted));
    return sign === "!=" ? (simulation) => !fits(simulation) : fits;
  }

  const found = either();
  if (at < tokens.length) throw new Error(`“and” or “or” is missing before ${tokens[at].word ?? tokens[at].sign}`);
  return found;
}
