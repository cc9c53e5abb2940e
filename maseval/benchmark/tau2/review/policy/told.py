"""Rules about what is told of prices and stock, which the records that were read may deny."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import Any, NamedTuple

from maseval.benchmark.tau2.review.policy import phrases
from maseval.benchmark.tau2.review.policy.rules import Answer, Broken, Kind, Rule, talk_rule
from maseval.benchmark.tau2.review.talk import Talk, Utterance
from maseval.benchmark.tau2.review.words import stands_in

MOST_LETTERS = 300  # letters of a sentence that says one thing


class Offer(NamedTuple):
    """A thing that a tool showed: its id, price and stock, and the words that set it apart."""

    id: str
    price: float
    available: bool
    words: frozenset[str] = frozenset()

    def is_described_in(self, sentence: str) -> bool:
        """Return True if a sentence has its words, of which there are several."""
        return len(self.words) > 1 and all(stands_in(sentence, e.lower()) for e in self.words)


class Offers(NamedTuple):
    """Offers of one kind, as the flights of a search in one cabin; ``name`` is how to call it."""

    name: re.Pattern[str]
    offers: tuple[Offer, ...]

    def find(self, offer_id: str) -> Offer | None:
        return next((each for each in self.offers if each.id == offer_id), None)


Read = Callable[[Any], Iterable[Offers]]
"""Reads the offers in the answer of a tool."""


class _Shown:
    """The offers that the tools showed before a text."""

    def __init__(self, talk: Talk, tool: str, read: Read, ids: str) -> None:
        self._talk, self._read, self._ids = talk, read, ids
        self._calls = [made for made in talk.calls if made.call["name"] == tool]

    @cached_property
    def _all(self) -> list[tuple[int, Offers]]:
        found = []
        for made in self._calls:
            try:
                groups = list(self._read(json.loads(made.answer)))
            except (ValueError, KeyError, TypeError, AttributeError):
                continue
            found += [(made.answer_index, each) for each in groups]
        return found

    def claims(
        self, words: re.Pattern[str]
    ) -> Iterator[tuple[Utterance, str, list[tuple[Offers, Offer]]]]:
        """Yield the sentences of the agent with some words about one offer, and that offer."""
        marks = set(re.findall(self._ids, self._talk.agent_words)) if self._calls else set()
        if self._calls:  # which a price may name
            is_price = words is phrases.CHEAPEST
            marks |= {"cheapest"} if is_price else {"available", "sold out", " stock"}
            # Lines below a heading that has these words.
            marks |= (
                {"- "}
                if words is phrases.AVAILABLE and ":\n- " in self._talk.agent_words
                else set()
            )
        for said, sentence in self._talk.agent_sentences(*marks):
            if words in _HEADINGS:
                sentence = _under_its_heading(said, sentence, words)
            if len(sentence) > MOST_LETTERS or not words.search(sentence):
                continue
            for found in () if phrases.SUPPOSES.search(sentence) else words.finditer(sentence):
                for groups in self._about(said, sentence, found):
                    yield said, sentence, groups

    def _about(
        self, said: Utterance, sentence: str, found: re.Match[str]
    ) -> Iterator[list[tuple[Offers, Offer]]]:
        """Yield each offer that a claim speaks of, in each of the groups that it may mean."""
        groups = [each for at, each in self._all if at < said.message_index]
        every = [one for each in groups for one in each.offers]
        ids = {one.id for one in every if one.id.lower() in sentence}
        joined = rf"\w+(?:,? (?:and|n|&) \w+){{{len(ids) - 1}}} are\b"
        if ids and not (phrases.ALL_OF_THEM.search(sentence) or re.search(joined, sentence)):
            ids = _subject(ids, sentence, found)
        elif not ids:
            last = found.re is phrases.UNAVAILABLE and _IS_LAST.search(sentence)
            if (last or found.re is not phrases.UNAVAILABLE) and " than " not in sentence:
                ids = {one.id for one in every if f"${one.price:.2f}" in sentence}
            # Or by its options, all of which one of them has.
            ids = ids or {one.id for one in every if one.is_described_in(sentence)}
            ids = ids if len(ids) == 1 else set()
        asked = "\n".join(each.lower for each in self._talk.user_before(said.message_index))
        for name in sorted(ids):
            shown = [(each, one) for each in groups if (one := each.find(name)) is not None]
            ways = (
                [g for g in shown if g[0].name.search(sentence)],
                [g for g in shown if stands_in(sentence, f"{g[1].price:g}")],
                [g for g in shown if g[0].name.search(asked)],
            )
            yield next(filter(None, ways), shown)


_BEHIND = re.compile(r"(?: (?:are|is|on|for|in|your|flight|item))*:? ?")


def _subject(ids: set[str], sentence: str, found: re.Match[str]) -> set[str]:
    """Return which of the offers in a sentence a claim is about, as far as that is plain.

    What is the cheapest stands in its clause. What is sold out stands right behind these words, or
    before them, and the nearest is meant.
    """
    begin, end = sentence.rfind(",", 0, found.start()), sentence.find(",", found.end())
    clause = sentence[begin + 1 : end if end > 0 else None]
    own = {each for each in ids if each.lower() in clause}
    if found.re is phrases.UNAVAILABLE:
        behind = _BEHIND.match(sentence, found.end())
        at = behind.end() if behind else found.end()
        if next_ones := {each for each in ids if sentence.startswith(each.lower(), at)}:
            is_list = behind is not None and ":" in behind[0]
            return {each for each in ids if is_list and each.lower() in sentence[at:]} or next_ones
        places = {sentence.rfind(each.lower(), 0, found.start()): each for each in ids}
        own = {places[max(places)]} if max(places) >= 0 else own
    meant = own if len(own) == 1 or found.re is not phrases.CHEAPEST else ids
    return meant if len(meant) == 1 else set()


_BULLETS = ("- ", "* ", "\u2022")
# The headings of lists of what is not there, and of what is.
_HEADINGS = {
    phrases.UNAVAILABLE: re.compile(
        r"^\W{0,4}(?:\w{1,15} ){0,2}(?:sold out|fully booked|unavailable|not available|out of stock"
        r"|no seats)\b[^\d]{0,40}$"
    ),
    phrases.AVAILABLE: re.compile(
        r"\bavailable (?:options?|items?|variants?|replacements?|choices)\b[^.]{0,60}:$"
    ),
}
_IS_LAST = re.compile(r"\$\d+\.\d\d\b[^$]*available[\s.!)]*$")


def _under_its_heading(said: Utterance, sentence: str, words: re.Pattern[str]) -> str:
    """Return a line of a list with its heading: "sold out in economy: - HAT226"."""
    if not sentence.startswith(_BULLETS) or sentence not in said.sentences:
        return sentence
    at = said.sentences.index(sentence)
    above = (each for each in said.sentences[at::-1] if not each.startswith(_BULLETS))
    heading = next(above, "")
    return f"{heading} {sentence}" if _HEADINGS[words].search(heading) else sentence


def claims_are_true(domain: str, place: str, tool: str, read: Read, ids: str) -> tuple[Rule, Rule]:
    """Make the rules that nothing is called the cheapest, or sold out, against what was read.

    ``tool`` is the one whose answers show what there is, ``ids`` the form of its ids in lower case.
    """

    @talk_rule(f"{domain}.told.cheapest", Kind.PROTOCOL, place=place)
    def cheapest(talk: Talk) -> Iterator[Answer]:
        """What is called the cheapest has the lowest price of what was shown."""
        shown = _Shown(talk, tool, read, ids)
        for said, sentence, groups in shown.claims(phrases.CHEAPEST):
            told = "\n".join(each.lower for each in talk.user_before(said.message_index))
            if phrases.LIMITS_CHOICE.search(sentence) or phrases.LIMITS_CHOICE.search(told):
                continue
            lower = [_cheaper(group, offer, told) for group, offer in groups]
            if all(lower):
                values = {"said": said.quote(sentence), "cheaper": lower[0]}
                text = f"{groups[0][1].id} is called the cheapest, and {lower[0]} costs less"
                yield Broken(text, values, said.message_index)

    @talk_rule(f"{domain}.told.unavailable", Kind.PROTOCOL, place=place)
    def unavailable(talk: Talk) -> Iterator[Answer]:
        """What is called sold out, or available, is so in what was shown."""
        shown = _Shown(talk, tool, read, ids)
        for said, sentence, groups in shown.claims(phrases.AVAILABLE):
            if not any(offer.available for _, offer in groups):
                text = f"{groups[0][1].id} is called available, and a tool has shown that it is not"
                yield Broken(text, {"said": said.quote(sentence)}, said.message_index)
        for said, sentence, groups in shown.claims(phrases.UNAVAILABLE):
            # A tick is about another cabin in the same row.
            if all(offer.available for _, offer in groups) and not any(
                map(sentence.count, phrases.TICKS)
            ):
                text = f"{groups[0][1].id} is called unavailable, and a tool has shown it available"
                yield Broken(text, {"said": said.quote(sentence)}, said.message_index)

    return cheapest, unavailable


def _cheaper(group: Offers, offer: Offer, told: str) -> str:
    """Return an offer that costs less and has all that the user asked for of the one named."""
    wanted = {each for each in offer.words if each.lower() in told}
    found = [
        each
        for each in group.offers
        if each.available and each.price < offer.price and wanted <= each.words
    ]
    return min(found, key=lambda each: each.price).id if found else ""
