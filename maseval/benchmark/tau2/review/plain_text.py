"""Values in texts: one spelling for signs, numbers and ids, whoever wrote or dictated them.

Nothing here reads what a sentence means. It only makes sure that a value which was said is found:
in typographic quotes, spelled letter by letter, or with its digits in words.
"""

import re
from functools import lru_cache
from itertools import pairwise

from maseval.benchmark.tau2.formats.message import STOP_TOKENS

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
        number = NUMBERS.get(word, 0 if word == "oh" else None)
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
