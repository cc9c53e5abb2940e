"""Texts as rules read them, whatever a model or a person writes.

Spaces and dashes of all kinds, typographic quotes, marks of Markdown, tables, spoken numbers,
amounts of money (always "$1234.50") and the tokens that end a conversation.
"""

import re
from collections.abc import Iterator, Sequence

from maseval.benchmark.tau2.formats.message import STOP_TOKENS

_PLAIN = {
    **dict.fromkeys("\u00a0\u2007\u2008\u2009\u200a\u202f\u3000", " "),
    **dict.fromkeys("\u2010\u2011\u2212", "-"),
    **dict.fromkeys("\u2018\u2019", "'"),
    **dict.fromkeys("\u201c\u201d", '"'),
    **dict.fromkeys("\u200b\ufeff\ufe0f", ""),
    **dict.fromkeys("\u20ac\u00a3", "$"),
    **{"\u2026": "... ", "\u2192": "->"},
}
_DROPPED_G = re.compile(r"in'(?<=[a-z]{3}in')(?![a-z])")
# Each begins with what is rare in a text, and is quick for that.
_STARS = re.compile(r"\*(?<![\w*]\*)(?=[$\w])|\*(?<=[\w.!?)$]\*)(?![\w*$])")
_COMMAS = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")
_GROUPS = re.compile(r"(?<!\w)(\d{1,3})(?:[ '](?=\d{3}[.,]\d\d(?!\d))|\.(?=\d{3},\d\d(?!\d)))")
_HAS_GROUPS = (
    re.compile(r"\.(?<=\d[ ']\d{3}\.)\d\d(?!\d)"),
    re.compile(r",(?<=\d[ '.]\d{3},)\d\d(?!\d)"),
)
_CENTS = re.compile(
    r",(?:(?<=\d,)(?=\d\d(?: ?(?:\$|USD|EUR|dollars))(?!\w))|(?<=(?:USD|EUR) \d{4},)(?=\d\d(?!\d))"
    r"|(?<=(?:USD|EUR) \d{3},)(?=\d\d(?!\d))|(?<=(?:USD|EUR) \d\d,)(?=\d\d(?!\d)))"
)
_SIGN_BEHIND = re.compile(r"\$(?:(?!\d)|(?<=US\$)|(?<=US \$))")
_OTHER_SIGNS = ("USD", "usd", "ollar", "bucks", "EUR", "GBP")
_SIGNED = re.compile(
    r"(?:\bUS ?\$|\bUSD ?\$?|\b(?:EUR|GBP)|\$) ?(\d+(?:\.\d+)?)(?: ?(?:USD|(?:US )?dollars?)\b)?"
    r"|(?<![\w.$-])(\d+(?:\.\d+)?) ?(?:\$(?! ?\d)|(?:USD|EUR|GBP|(?:US[- ])?dollars?|bucks)\b)",
    re.IGNORECASE,
)
# A number without a sign is money if it has cents, or beside these words, unless it counts a thing.
_UNSIGNED = re.compile(
    r"[0-9](?<![\w.$#:/-].)(?:\d{1,5}(?:\.\d\d?)?|\.\d\d)(?![\w%]|[./:-]\w"
    r"| ?(?:(?:checked|extra|more|free) )?(?:bag|pass|pers|item|piece|gb|mb|gig|day|hour|min|week"
    r"|month|point|flight|seat|leg|cm|mm|inch|lb|kg|ft\b|pcs|people|am\b|pm\b))",
    re.IGNORECASE,
)
_BEFORE_MONEY = (
    *("total", "totals", "price", "fare", "cost", "costs", "refund", "refunded", "refunds", "fee"),
    *("charge", "charged", "diff", "difference", "amount", "amounts", "balance", "back", "credit"),
    *("credited", "pay", "paid", "extra", "sum", "cheapest"),
)
_LINKS = (" is", " of", " to", " at", " comes to", " will be")
_BETWEEN = " :=|,"
_BEHIND_MONEY = re.compile(
    r" (?:(?:in )?total\b(?! \w{0,9}(?:bag|item|pass))|(?:refund|back)\b)", re.I
)
_LONGEST_WORDS = 30
# Numbers in words, as they are spoken.
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS = {word: number for number, word in enumerate(_UNITS.split())}
NUMBERS |= {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
_SPOKEN = "|".join((*NUMBERS, "hundred", "thousand"))
_SPOKEN_NUMBER = re.compile(rf"\b(?:{_SPOKEN})(?:(?: and |[ -])(?:{_SPOKEN}))*\b", re.IGNORECASE)
_SPOKEN_CENTS = re.compile(r"\b(\d{1,6}) dollars?,? (?:and )?(\d\d?) cents?\b", re.IGNORECASE)
_IS_SPOKEN = (
    re.compile(r"dollar(?<=[a-z] dollar)"),
    re.compile(r"bucks(?<=[a-z] bucks)"),
    re.compile(r"dollars?,? (?:and )?\d\d? cent"),
    re.compile(rf"nding (?:in |with )?(?={'|'.join(_UNITS.split()[:10])})"),
)
# "$4,872 ... sorry, I misread that: it is $4,782": only the second amount is told.
_CORRECTING = ("orrection", "misread", "misspoke", "make that", "scratch that", "my mistake")
_CORRECTED = re.compile(
    rf"\$\d[\d,.]*\d[^$?\n]{{1,40}}(?:{'|'.join(_CORRECTING)})[^$?\n]{{0,40}}(?=\$\d)",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"\d(?:\d|\$| (?:[Uu]|[Dd]o|[Bb]))|\$")


def normalise(text: str) -> str:
    """Return a text as rules read it."""
    if "###" in text:
        for token in STOP_TOKENS:
            text = text.replace(token, "")
    if "\\n" in text:  # of an agent that writes JSON
        text = text.replace("\\n", "\n")
    if not text.isascii():
        for sign, plain in _PLAIN.items():
            if sign in text:
                text = text.replace(sign, plain)
    if "`" in text or "__" in text:
        text = text.replace("`", "").replace("__", "")
    if "*" in text:
        text = text.replace("**", "")
        text = _STARS.sub("", text) if "*" in text else text
    if "in'" in text:  # "handin' me over"
        text = _DROPPED_G.sub("ing", text)
    if "|" in text and "|-" in text.replace(" ", "").replace(":", ""):
        text = "\n".join(_table_as_list(text.split("\n")))
    lower = text.lower()
    if "$" in text and any(word in lower for word in _CORRECTING):
        text = _CORRECTED.sub("", text)
    if any(each.search(lower) for each in _IS_SPOKEN):
        text = _SPOKEN_CENTS.sub(_join_cents, _SPOKEN_NUMBER.sub(_write_number, text))
    return (_write_amounts(text) if _DIGITS.search(text) else text).strip()


def _table_as_list(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a text, those of a table as "name: new, was old"."""
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.lstrip().startswith("|"):
            yield line
        elif _is_rule(below):
            yield " ".join(cells)  # the heads of the columns
        elif not _is_rule(line):
            name, *values = [cell for cell in cells if cell] or [""]
            yield f"{name}: {', was '.join(reversed(values))}" if values else name


def _is_rule(line: str) -> bool:
    """Return True if a line of a table parts its head from its body."""
    return "--" in line and not line.strip(" |:-")


def _write_number(found: re.Match[str]) -> str:
    """Write a spoken number in digits: an amount, or the digits of a card one by one."""
    words = found[0].lower().replace("-", " ").replace(" and ", " ").split()
    if len(words) > 2 and all(NUMBERS.get(word, 10) < 10 for word in words):
        return "".join(str(NUMBERS[word]) for word in words)
    if not found.string.startswith((" dollar", " buck", " cent", " US"), found.end()):
        return found[0]
    total = part = 0
    for word in words:
        if word == "hundred":
            part = max(1, part) * 100
        elif word == "thousand":
            total, part = total + max(1, part) * 1000, 0
        else:
            part += NUMBERS[word]
    return str(total + part)


def _join_cents(found: re.Match[str]) -> str:
    return f"{found[1]}.{found[2]:0>2} dollars"


def _write_amounts(text: str) -> str:
    """Write every amount of money in one way: "USD 1,234.50" and "1 234.50$" as "$1234.50"."""
    if "," in text:
        text = _COMMAS.sub("", text)
    if any(each.search(text) for each in _HAS_GROUPS):
        text = _GROUPS.sub(r"\1", text)
    if "," in text:
        text = _CENTS.sub(".", text)
    if any(each in text for each in _OTHER_SIGNS) or _SIGN_BEHIND.search(text):
        text = _SIGNED.sub(lambda found: f"${found[1] or found[2]}", text)
    return _UNSIGNED.sub(_sign, text)


def _sign(found: re.Match[str]) -> str:
    """Return a number with the sign of money if it is money."""
    number, text, at = found[0], found.string, found.start()
    if number[-3:-2] == "." or _BEHIND_MONEY.match(text, found.end()):
        return f"${number}"
    before = text[max(0, at - _LONGEST_WORDS) : at].lower().rstrip("+-")
    words = before.rstrip(_BETWEEN)
    for link in _LINKS if words != before else ():
        if words.endswith(link):
            words = words[: -len(link)].rstrip(_BETWEEN)
            break
    return f"${number}" if words != before and words.endswith(_BEFORE_MONEY) else number
