"""Choices in words: the black one, my Visa, the morning flight.

People name an item, a way to pay or a flight by what it is like. What the database holds of the
two things that were mixed up tells which words mean the one and which the other.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.explain.explanation import render_call
from maseval.benchmark.tau2.review.labels.bookings import find_record
from maseval.benchmark.tau2.review.labels.choices import can_be_told_apart
from maseval.benchmark.tau2.review.labels.failure import Failure
from maseval.benchmark.tau2.review.words import id_like, mentions, telling_values
from maseval.benchmark.tau2.world.state.records import Table
from maseval.stats.failure_labels import Label

_HOLDERS = ("variants", "payment_methods")
_DEPARTS = "scheduled_departure_time_est"
_PARTS_OF_DAY = {"night": 5, "morning": 12, "afternoon": 17, "evening": 24}
_EMPTY = {"yes", "no", "none", "true", "false"}


class Apart(NamedTuple):
    """The words that mean the right thing and not the other, and the other way round."""

    right: frozenset[str]
    other: frozenset[str]


def tell_apart(failure: Failure, made: Tau2ToolCall, wanted: Tau2ToolCall) -> Apart | None:
    """Return the words by which the ids in two calls differ; None if nothing describes them."""
    right = [describe(failure, value) for value in _ids_only_in(wanted, made)]
    wrong = [describe(failure, value) for value in _ids_only_in(made, wanted)]
    if not right or len(right) != len(wrong) or not all([*right, *wrong]):
        return None
    mine, theirs = frozenset().union(*right), frozenset().union(*wrong)
    return Apart(mine - theirs, theirs - mine)


def _ids_only_in(call: Tau2ToolCall, other: Tau2ToolCall) -> list[str]:
    one, two = (list(telling_values(each["arguments"])) for each in (call, other))
    return [value for value in one if id_like(value) == [value] and value not in two]


def describe(failure: Failure, value: str) -> frozenset[str]:
    """Return the words for an item, a way to pay or a flight; none if there is no such thing."""
    flight = find_record(failure.subject.case.setting.world(), value).get(_DEPARTS)
    if isinstance(flight, str):
        return frozenset({value.lower(), *_words_for_time(flight)})
    found = next((all_of[value] for all_of in _holders(failure) if value in all_of), None)
    return frozenset(_words_in(found, value)) if found else frozenset()


def _words_for_time(time: str) -> Iterator[str]:
    """Yield the ways to say a time of day such as 18:00:00: 18:00, 6 pm, evening."""
    hour, minute = int(time[:2]), time[3:5]
    half, twelve = "am" if hour < 12 else "pm", (hour - 1) % 12 + 1
    yield from (f"{hour:02}:{minute}", f"{twelve}:{minute} {half}", f"{twelve}:{minute}{half}")
    if minute == "00":
        yield from (f"{twelve} {half}", f"{twelve}{half}")
    yield next(name for name, until in _PARTS_OF_DAY.items() if hour < until)


def _holders(failure: Failure) -> Iterator[Mapping[str, Any]]:
    """Yield the variants of each product, and the ways to pay of each customer."""
    for _, table in failure.subject.case.setting.world().tools.db:
        if isinstance(table, Table):
            for raw in table.shared.raw.values():
                yield from (raw[name] for name in _HOLDERS if isinstance(raw.get(name), Mapping))


def _words_in(thing: object, own_id: str) -> Iterator[str]:
    match thing:
        case str() if thing != own_id and thing.lower() not in _EMPTY:
            yield thing.replace("_", " ").lower()
        case Mapping():
            for name, each in thing.items():
                if name not in ("price", "amount", "balance"):
                    yield from _words_in(each, own_id)


def other_values(failure: Failure, item: str) -> frozenset[str]:
    """Return the words for the other variants of a product that do not fit an item of it."""
    for all_of in _holders(failure):
        if item in all_of:
            every = (set(_words_in(each, key)) for key, each in all_of.items())
            return frozenset(set().union(*every) - describe(failure, item))
    return frozenset()


def items_chosen(call: Tau2ToolCall) -> list[str]:
    """Return the items that a call puts in the place of others."""
    return list(telling_values(call["arguments"].get("new_item_ids")))


def is_available(failure: Failure, item: str) -> bool:
    """Tell whether an item of a product is in stock."""
    found = next((all_of[item] for all_of in _holders(failure) if item in all_of), None)
    return isinstance(found, Mapping) and bool(found.get("available"))


def named_other_options(failure: Failure) -> Label | None:
    """The user chose in words what its task does not have, and the agent did as it said."""
    if failure.swap is None:
        return None
    index, made, wanted = failure.swap
    apart = tell_apart(failure, made, wanted)
    if apart is None:
        return None
    said = [(at, text) for at, text in failure.said_by("user") if at < index]
    for at, text in said:
        taken = sorted(word for word in apart.other if mentions(text, word))
        if not taken or any(mentions(each, word) for _, each in said for word in apart.right):
            continue
        if any(mentions(failure.scenario, word) for word in taken):
            return None
        evidence: tuple[str, ...] = (
            f"message {at}: the user takes {', '.join(taken)}",
            f"message {index}: {render_call(made)}",
        )
        told = sorted(word for word in apart.right if mentions(failure.scenario, word))
        if told:
            evidence = (f"the task: {', '.join(told)}", *evidence)
            return Label("user", "instructions not followed", "named other options", evidence)
        # One thing has many words: at 17:00, at 5 pm, in the evening.
        if all(_is_first_said_by_user(failure, word, at) for word in apart.other):
            evidence = ("the task has none of it", *evidence)
            return Label("user", "invented facts", "named other options", evidence)
        if _offers_both(failure, at, apart):
            if can_be_told_apart(failure, _ids_only_in(wanted, made), _ids_only_in(made, wanted)):
                return Label("user", "chosen by the user", "named other options", evidence)
            return Label("task", "choice left open", "named other options", evidence)
    return None


def _is_first_said_by_user(failure: Failure, word: str, at: int) -> bool:
    """Tell whether nobody but the user has spoken of something up to a message."""
    said = (text for index, text in failure.said_by("assistant") if index < at)
    return not any(mentions(text, word) for text in said)


def _offers_both(failure: Failure, before: int, apart: Apart) -> bool:
    """Tell whether the agent has told of the right thing and of the other one."""
    said = [text for index, text in failure.said_by("assistant") if index < before]
    return any(
        all(any(mentions(text, word) for word in side) for side in apart) for text in said[-2:]
    )


def turned_down_for_options(failure: Failure) -> Label | None:
    """The user turned the right item down for something that its task does not ask for."""
    if not failure.nothing_wrong_done or failure.attempts:
        return None
    for change in failure.to_add:
        for item in items_chosen(change.call):
            strange = other_values(failure, item)
            for at, text in failure.said_by("user") if strange else ():
                offer = [o for o in failure.said_by("assistant") if o[0] < at][-1:]
                if not offer or not _offers(failure, offer[0][1], item):
                    continue
                wanted = sorted(w for w in strange if _insists_on(failure, at, text, w))
                if wanted and words.declines(text):
                    evidence = (
                        f"message {offer[0][0]}: the agent offers {item!r}",
                        f"message {at}: the user wants {', '.join(wanted)}, which its task has not",
                    )
                    return Label("user", "invented facts", "turned down for options", evidence)
    return None


def _offers(failure: Failure, text: str, item: str) -> bool:
    """Tell whether a text asks about an item, by its id or by what it is like."""
    own = describe(failure, item)
    return words.asks(text) and (mentions(text, item) or all(mentions(text, w) for w in own))


def _insists_on(failure: Failure, at: int, text: str, word: str) -> bool:
    """Tell whether the user wants something that it has brought up itself."""
    if not mentions(text, word) or mentions(failure.scenario, word):
        return False
    first = next((i for i, said in failure.said_by("user") if mentions(said, word)), at)
    return _is_first_said_by_user(failure, word, first)
