"""Facts that the user made up: neither its task nor anybody in the conversation gave them."""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from maseval.benchmark.tau2.domains.airline.routes import AIRPORTS
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.users.finding import FaultKind, UserFault
from maseval.benchmark.tau2.review.users.part import UserPart

_MONTHS = [month[:3] for month in words.MONTHS]
_MONTH = rf"(?:{'|'.join(_MONTHS)})[a-z]{{0,6}}"
_DAY = r"\d{1,2}(?:st|nd|rd|th)?"
_STREET = r"(?:Street|St|Avenue|Ave|Road|Rd|Drive|Dr|Lane|Ln|Boulevard|Blvd|Court|Way|Place)"
_BORN = r"(?:19\d\d|200\d)"
# The group of each pattern is the value.
_VALUES: Mapping[str, re.Pattern[str]] = {
    "an e-mail address": re.compile(r"\b([\w.+-]{1,40}@[\w-]{1,40}\.[\w.]{2,20}\w)"),
    "an order number": re.compile(r"#?\bW?(\d{7})\b"),
    "a user id": re.compile(r"\b([a-z]{2,20}_[a-z]{2,20}_\d{3,5})\b"),
    "a method of payment": re.compile(
        r"\b((?:credit_card|gift_card|paypal|certificate)_\d{5,9})\b"
    ),
    "a card": re.compile(r"\b(?:ending (?:in|with)|last four[a-z ]{0,20})\W{0,3}(\d{4})\b"),
    "an item": re.compile(r"\b(\d{10})\b"),
    "a flight": re.compile(r"\b(HAT\d{3})\b"),
    "a telephone number": re.compile(r"\b(\d{3}[-. ]\d{3}[-. ]\d{4})\b"),
    "a zip code": re.compile(r"\b[Zz](?:ip|IP)\b[^.\d\n]{0,25}\b(\d{5})\b"),
    "an address": re.compile(rf"\b(\d{{1,5}} (?:[A-Z][a-z]+ ){{1,3}}{_STREET})\b"),
    "a reservation": re.compile(
        r"\b(?:reservation|confirmation|booking)\b[^.\n]{0,25}?\b((?=\w{0,5}[A-Z])[A-Z0-9]{6})\b"
    ),
    "a date of birth": re.compile(
        rf"\b({_MONTH} {_DAY},? {_BORN}|{_BORN}-\d\d-\d\d)\b", re.IGNORECASE
    ),
}
# What all of these have, so that most texts need no closer look.
_PERHAPS = re.compile(r"\d{3}|@|\b[A-Z]{6}\b")
_DATE = re.compile(
    rf"\b({_MONTH}) (\d{{1,2}})(?:st|nd|rd|th)?\b(?!,? ?{_BORN})|\b20[12]\d-(\d\d)-(\d\d)\b"
    rf"|\b(\d{{1,2}})(?:st|nd|rd|th)? (?:of )?({_MONTH})\b",
    re.IGNORECASE,
)
_BARE_DAY = re.compile(r"\b(\d{1,2})(?:st|nd|rd|th)\b")
# Dates that can be worked out from others, and dates that somebody else speaks of.
_RELATIVE = re.compile(r"\b(?:day|days|week|weeks|month|tomorrow|today|yesterday|weekend)\b")
_NEAR = 3
_TRAVEL = re.compile(
    r"\b(?:from|to|into|out of|in|is|destination) ((?:[A-Z][a-z]+)(?: [A-Z][a-z]+)?)\b"
)
# Circumstances under which policies allow more than otherwise, so that it matters who claims them.
_CIRCUMSTANCE = re.compile(
    r"\b(?:sick|ill|illness|medical|hospital|surgery|injury|injured|doctor|health|passed away"
    r"|funeral|died|death|bereavement|weather|storm|hurricane|snow|emergency)\b"
)
_MEMBER = re.compile(r"\bi(?:'m| am) an? (?:\w+ )?(gold|silver|regular) (?:member|status)")
_CLAIM = re.compile(
    r"\b(?:i(?:'m| am|'ve| have| was|'d| had| got| need)\b|my \w+|due to|because|it(?:'s| is| was)"
    r"|there(?:'s| is| was))"
)
_DENIED = re.compile(r"\b(?:not|isn't|wasn't|no)\W+(?:\w+\W+)?$", re.IGNORECASE)
_NEGATED = re.compile(r"\b(?:not?|never|without|isn't|wasn't|don't|didn't|if|any|whether|or)\b")
_TOLD_TO_INVENT = re.compile(
    r"\b(?:make up|made up|making up|lie|lying|pretend|excuse|story|persuad\w*|coerci\w*|joke\w*)\b"
)


def invented_values(part: UserPart) -> Iterator[UserFault]:
    """Yield ids, addresses and the like that the user gives and cannot have."""
    seen: set[str] = set()
    for said in part.talk.user:
        if not _PERHAPS.search(said.text):
            continue
        for name, pattern in _VALUES.items():
            for found in pattern.finditer(said.text):
                denied = _DENIED.search(said.text[: found.start()][-20:])
                if denied or found[1] in seen or _is_known(part, found[1], said.message_index):
                    continue
                seen.add(found[1])
                text = f"the user gives {name} that nobody has given it: {found[1]}"
                quote = _quote(said.text, found)
                yield UserFault(FaultKind.INVENTED, text, said.message_index, quote)


def _quote(text: str, found: re.Match[str]) -> str:
    return text[max(0, found.start() - 60) : found.end() + 40].strip()


def _is_known(part: UserPart, value: str, at: int) -> bool:
    """Tell whether a value is in the task, in an answer of a tool, or in what the agent said."""
    sources = part.sources(at)
    if any(written in each for written in _spellings(value) for each in sources):
        return True
    if re.fullmatch(r"[\d\W]+", value):
        digits = re.sub(r"\D", "", value)
        return any(digits in re.sub(r"[-. ()]", "", each) for each in sources)
    return False


def _spellings(value: str) -> list[str]:
    lower = value.lower()
    date = re.fullmatch(rf"([a-z]+) ({_DAY}),? (\d{{4}})", lower)
    if date:
        day = f"{date[3]}-{_number_of(date[1]):02}-{int(re.sub(r'[a-z]', '', date[2])):02}"
        return [*words.spellings(day), lower]
    street = re.fullmatch(r"(\d+ [a-z]+) .*", lower)
    return [*words.spellings(value), *([street[1]] if street else [])]


def _number_of(month: str) -> int:
    return _MONTHS.index(month[:3].lower()) + 1


def invented_dates(part: UserPart) -> Iterator[UserFault]:
    """Yield dates that are far from any that the user was given."""
    if _TOLD_TO_INVENT.search(part.told):
        return
    for said in part.talk.user:
        for found in _DATE.finditer(said.text):
            given = _dates_in(found[0])
            at = said.message_index
            if not given or _RELATIVE.search(
                said.text[max(0, found.start() - 20) : found.end() + 12]
            ):
                continue
            sources = part.sources(at)
            known = frozenset().union(*map(_dates_in, sources))
            told = _dates_in(sources[0]) | _dates_in(sources[1])
            days = {int(day) for each in sources[:2] for day in _BARE_DAY.findall(each)}
            date = next(iter(given))
            if date in known or date[1] in days:
                continue
            if _RELATIVE.search(part.told) and any(_distance(date, each) <= _NEAR for each in told):
                continue
            text = f"the user gives a date that nobody has given it: {found[0]}"
            yield UserFault(FaultKind.INVENTED, text, at, _quote(said.text, found))
            return


@lru_cache(maxsize=512)
def _dates_in(text: str) -> frozenset[tuple[int, int]]:
    """Return the months and days of all dates in a text."""
    found = set()
    for name, day, month, number, first, last in _DATE.findall(text):
        found.add(
            (int(month), int(number)) if month else (_number_of(name or last), int(day or first))
        )
    return frozenset(found)


def _distance(one: tuple[int, int], other: tuple[int, int]) -> int:
    """Return about how many days lie between two dates of a year."""
    apart = abs((one[0] - other[0]) * 30 + one[1] - other[1])
    return min(apart, 360 - apart)


def invented_places(part: UserPart) -> Iterator[UserFault]:
    """Yield cities with an airport that the user travels to or from, and was not given."""
    if part.setting.domain.folder_name != "airline" or _TOLD_TO_INVENT.search(part.told):
        return
    for index, sentence in part.statements:
        for found in _TRAVEL.finditer(sentence):
            codes = [code for code, city in AIRPORTS.items() if city == found[1]]
            if not codes:
                continue
            sources = part.sources(index)
            names = (found[1].lower(), *(code.lower() for code in codes))
            initials = "".join(word[0] for word in names[0].split())
            if words.mentions(part.told, initials):  # "sf", "la"
                continue
            if not any(name in each for name in names for each in sources):
                text = f"the user names a place that nobody has given it: {found[1]}"
                yield UserFault(FaultKind.INVENTED, text, index, sentence)
                return


def invented_standing(part: UserPart) -> Iterator[UserFault]:
    """Yield a membership that the user claims, and neither its task nor its profile has."""
    for index, sentence in part.statements:
        found = _MEMBER.search(lower := sentence.lower())
        if found is None or _NEGATED.search(lower) or _TOLD_TO_INVENT.search(part.told):
            continue
        if not any(words.mentions(each, found[1]) for each in part.sources(index)):
            text = f"the user claims to be a {found[1]} member, which the task does not have"
            yield UserFault(FaultKind.INVENTED, text, index, sentence)
            return


def invented_circumstances(part: UserPart) -> Iterator[UserFault]:
    """Yield reasons that would move a policy and that the task does not give."""
    if _TOLD_TO_INVENT.search(part.told) or _CIRCUMSTANCE.search(part.told):
        return
    for index, sentence in part.statements:
        found = _CIRCUMSTANCE.search(lower := sentence.lower())
        if found and _CLAIM.search(lower) and not _NEGATED.search(lower):
            text = f"the user brings up a circumstance that the task does not have: {found[0]}"
            yield UserFault(FaultKind.INVENTED, text, index, sentence)
            return
