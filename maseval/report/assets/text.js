// Text from models is shown as it is, with one exception: characters that a reader cannot see, or
// that turn the order of others around, are drawn as badges with their code point.

// Controls, format characters (bidirectional ones, zero-width ones, tags), private use, lone
// surrogates, line separators, blank letters and variation selectors. Emoji keep their joiners.
const UNSEEN =
  /(?<!\p{Extended_Pictographic}\uFE0F?)\u200D|(?![\n\t\u200D])[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0\u{FE00}-\u{FE0E}\u{E0100}-\u{E01EF}]/gu;

const NAMES = new Map([
  [0x00, "null"],
  [0x0d, "carriage return"],
  [0x1b, "escape"],
  [0x200b, "zero-width space"],
  [0x200e, "left-to-right mark"],
  [0x200f, "right-to-left mark"],
  [0x202a, "left-to-right embedding"],
  [0x202b, "right-to-left embedding"],
  [0x202c, "pop directional formatting"],
  [0x202d, "left-to-right override"],
  [0x202e, "right-to-left override"],
  [0x2066, "left-to-right isolate"],
  [0x2067, "right-to-left isolate"],
  [0x2068, "first strong isolate"],
  [0x2069, "pop directional isolate"],
  [0xfeff, "byte order mark"],
]);

/** The code point in the form of an escape: \u{202E}. */
function escaped(character) {
  return `\\u{${character.codePointAt(0).toString(16).toUpperCase()}}`;
}

// Most texts have no such character, and this test is much faster than the one above.
const PLAIN = /^[\n\t\x20-\x7E\u00A0-\u00AC\u00AE-\u024F]*$/;

/** For places that take only plain text: attributes, options, the address. */
export function visible(text) {
  const plain = String(text);
  return PLAIN.test(plain) ? plain : plain.replace(UNSEEN, escaped);
}

function badge(character) {
  const code = character.codePointAt(0);
  const span = document.createElement("span");
  span.className = "unseen";
  span.title = NAMES.get(code) ?? "invisible or control character";
  span.textContent = escaped(character);
  return span;
}

/** The text as nodes, with a badge for each unseen character. */
export function* textNodes(text) {
  let from = 0;
  for (const match of PLAIN.test(text) ? [] : text.matchAll(UNSEEN)) {
    if (match.index > from) yield document.createTextNode(text.slice(from, match.index));
    yield badge(match[0]);
    from = match.index + match[0].length;
  }
  if (from < text.length) yield document.createTextNode(text.slice(from));
}

export function isJSON(text) {
  if (!/^\s*[[{]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** JSON with line breaks. Tokens are copied, as parsing and printing would change long numbers. */
export function indented(text) {
  if (!isJSON(text)) return text;
  let out = "";
  let depth = 0;
  let last = "";
  const newline = () => `\n${"  ".repeat(depth)}`;
  for (const [token] of text.matchAll(JSON_TOKEN)) {
    const closes = token === "}" || token === "]";
    const opened = last === "{" || last === "[";
    if (closes) depth -= 1;
    if (closes ? !opened : opened || last === ",") out += newline();
    out += token === ":" ? ": " : token;
    if (token === "{" || token === "[") depth += 1;
    last = token;
  }
  return out;
}

const LONG_ID = 34;

/** A long id in short: of `[mms_issue]apn_off|vpn_on|no_sim[PERSONA:Hard]`, `mms_issue: apn_off +2, Hard`. */
export function shortId(id) {
  if (id.length <= LONG_ID) return id;
  const [, kind, list, ending] = /^(?:\[([^\]]*)\])?([^[\]]*)(?:\[([^\]]*)\])?$/.exec(id) ?? [];
  if (!list?.includes("|") && !kind) return `${id.slice(0, LONG_ID)}…`;
  const [first, ...rest] = list.split("|");
  const last = ending?.split(":").at(-1);
  return `${kind ? `${kind}: ` : ""}${first}${rest.length ? ` +${rest.length}` : ""}${last && last !== "None" ? `, ${last}` : ""}`;
}

export const count = new Intl.NumberFormat("en");

/** A count of something, in the singular where there is one. */
export function counted(number, noun) {
  return `${count.format(number)} ${noun}${number === 1 ? "" : "s"}`;
}

// The forms of numbers are those of `core/words.py`: halves are rounded up, 31.25 is 31.3.

/** A number with so many digits; twelve of them bring back a half that a product has lost. */
export function rounded(number, digits) {
  const size = Number((Math.abs(number) * 10 ** digits).toPrecision(12));
  const found = Math.floor(size + 0.5) / 10 ** digits;
  return `${number < 0 && found ? "-" : ""}${found.toFixed(digits)}`;
}

/** A share without its sign. */
export function inPercent(share, digits = 1) {
  return rounded(share * 100, digits);
}

export function percent(share) {
  return `${inPercent(share)}\u2009%`;
}

/** The ends of an interval; nothing if there is none. */
export function between({ low, high }) {
  return low == null || high == null ? "" : `${inPercent(low)} – ${inPercent(high)}`;
}

/** A difference of two shares in percentage points, with its sign. */
export function inPoints(difference, digits = 1) {
  const size = inPercent(Math.abs(difference), digits);
  return `${difference < 0 && Number(size) ? "−" : "+"}${size}`;
}

/** A score: where verdicts are missing, the range of what it can still become. */
export function scoreInPercent({ value, worst, best }) {
  return worst == null || best == null ? percent(value) : `${inPercent(worst)} to ${percent(best)}`;
}

/** What the simulations with a verdict come to, where some have none; nothing if all have one. */
export function shortfall({ value, verdicts, planned, worst, best }) {
  if (worst == null || best == null) return null;
  return `so far ${percent(value)}${verdicts == null ? "" : `, ${verdicts} of ${planned} have a verdict`}`;
}

/** Dollars, small sums with more digits; a cost that is not known is never zero. */
export function money(cost) {
  if (cost == null) return "–";
  if (cost > 0 && cost < 0.00005) return "< $0.0001";
  if (cost > 0 && cost < 1) return `$${rounded(cost, 4).replace(/0{1,2}$/, "")}`;
  const [whole, cents] = rounded(cost, 2).split(".");
  return `$${count.format(whole)}.${cents}`;
}

export function duration(seconds) {
  if (seconds == null) return "–";
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 90) return `${seconds.toFixed(1)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return `${minutes} min`;
  return `${count.format(Math.floor(minutes / 60))} h ${minutes % 60} min`;
}
