"""The values of a call, and whether a text has them, whoever wrote or dictated it.

Nothing here reads what a sentence means. It only makes sure that a value which was said is found:
an id, a name, a date or a number; in typographic quotes, spelled letter by letter, or with its
digits in words.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

from maseval.benchmark.tau2.formats.message import STOP_TOKENS, Tau2ToolCall

# These name a person, and not the record that a call is about.
OWNERS = ("user_id", "customer_id")
MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
# Models write typographic signs, databases plain ones.
_SIGNS = {
    **dict.fromkeys("\u00a0\u2007\u2009\u202f", " "),
    **dict.fromkeys("\u2010\u2011\u2212", "-"),
    **dict.fromkeys("\u2018\u2019", "'"),
    **dict.fromkeys("\u201c\u201d", '"'),
    **dict.fromkeys("\u200b\ufeff\ufe0f", ""),
}
_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
NUMBERS = {word: number for number, word in enumerate(_UNITS.split())}
NUMBERS |= {word: 10 * number for number, word in enumerate(_TENS.split(), 2)}
# A customer may spell an address aloud: "mia dot li at mail dot com, double five".
_SIGNS_IN_WORDS = {"dot", "at", "underscore", "dash", "hyphen", "hash", "point", "and", "plus"}
_REPEATED = {"double": 2, "triple": 3}
_WORD = re.compile(r"[a-z]+|[0-9]+")
_OTHER = re.compile(r"[^a-z0-9]+")


def normalise(text: str) -> str:
    """Return a text with plain spaces, dashes and quotes, without the tokens that end a talk."""
    for token in STOP_TOKENS if "###" in text else ():
        text = text.replace(token, "")
    for sign, plain in () if text.isascii() else _SIGNS.items():
        text = text.replace(sign, plain)
    return text.replace("**", "").replace("`", "").strip()


def is_said(value: str, text: str) -> bool:
    """Return True if a text has a value, as it is written or as it is spelled out."""
    value, text = value.lower(), text.lower()
    if value in text or _OTHER.sub("", value) in _OTHER.sub("", text):
        return True
    return bare(value) in bare(text)


@lru_cache(maxsize=64)  # several values are looked for in the same text
def bare(text: str) -> str:
    """Return the letters and digits of a text alone, with numbers in words as digits.

    Two texts that spell the same value have it in common: "mia dot li" and "mia.li" do.
    """
    found: list[str] = []
    times, tens = 1, 0
    for word in _WORD.findall(text.lower()):
        # People often read the digit 0 out as a letter.
        number = NUMBERS.get(word, 0 if word == "oh" else None)
        # "Twenty one" is 21, and not 20 with a 1 behind it.
        if tens and number and number < 10:
            found[-1] = str(tens + number)
        elif word in _REPEATED:
            times = _REPEATED[word]
            continue
        elif word not in _SIGNS_IN_WORDS:
            found += [word if number is None else str(number)] * times
        times, tens = 1, number if number and number >= 20 else 0
    return "".join(found)


def has_spoken_numbers(text: str) -> bool:
    """Return True if two words in a row are numbers, which may be read in more than one way."""
    spoken = [word in NUMBERS or word == "oh" for word in _WORD.findall(text.lower())]
    return any(map(all, pairwise(spoken)))


def telling_values(value: object) -> Iterator[str]:
    """Yield the texts in a call's arguments that can be recognised elsewhere: ids, names, dates."""
    match value:
        # Shorter texts occur in too many others by chance.
        case str() if len(value) >= 3:
            yield value
        case dict():
            for each in value.values():
                yield from telling_values(each)
        case list():
            for each in value:
                yield from telling_values(each)


def spellings(value: str) -> list[str]:
    """Return the ways to write a value, in lower case; a date also with the name of its month."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", value)
    if found is None or not 1 <= int(found[2]) <= 12:
        return [value.lower()]
    year, month, day = found[1], MONTHS[int(found[2]) - 1], str(int(found[3]))
    names = (month, month[:3])
    ordered = [form for name in names for form in (f"{name} {day}, {year}", f"{day} {name} {year}")]
    return [value, *ordered, f"{found[2]}/{found[3]}/{year}"]


def has_date(text: str, date: str) -> bool:
    """Return True if the parts of a date stand in a text in lower case, in whatever order."""
    found = re.fullmatch(r"(\d{4})-(\d\d)-(\d\d)", date)
    if found is None or not 1 <= int(found[2]) <= 12:
        return date in text
    year, month, day = map(int, found.groups())
    numbers = {int(each) for each in re.findall(r"\d{1,4}", text)}
    has_month = month in numbers or MONTHS[month - 1][:3] in text
    return has_month and day in numbers and not numbers.isdisjoint((year, year % 100))


def mentions(text: str, value: str) -> bool:
    """Return True if a value stands in a text by itself, not as a part of a longer word."""
    return stands_in(text.lower(), value.lstrip("#").lower())


def stands_in(lower: str, word: str) -> bool:
    """Return True if a text in lower case has a word as it is, and not as a part of another."""
    at = lower.find(word)
    while at >= 0:
        before, after = lower[at - 1 : at], lower[at + len(word) : at + len(word) + 1]
        # In 13.2 there is no 2 that stands by itself.
        decimal = before == "." and lower[at - 2 : at - 1].isdigit()
        joined = before in ("_", "-") or after in ("_", "-") or decimal
        if not (before.isalnum() or after.isalnum() or joined):
            return True
        at = lower.find(word, at + 1)
    return False


def record(call: Tau2ToolCall) -> str | None:
    """Return the record a call is about: its first argument, unless that is a person."""
    first, value = next(iter(call["arguments"].items()), (None, None))
    return value if isinstance(value, str) and first not in OWNERS else None
