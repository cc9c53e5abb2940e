"""Failures in which the record does not show who is to blame."""

from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2.domains.permanence import ABSENT
from maseval.benchmark.tau2.forms.message import Tau2ToolCall
from maseval.benchmark.tau2.trust.explain.text import shown, shown_call
from maseval.benchmark.tau2.trust.explain.tracing import WrongField
from maseval.benchmark.tau2.trust.labels import words
from maseval.benchmark.tau2.trust.labels.failure import Failure, Label, LabelRule, is_error
from maseval.benchmark.tau2.trust.labels.leaving import transferred_at
from maseval.benchmark.tau2.trust.labels.topics import id_like, mentions, own_values, telling_values
from maseval.benchmark.tau2.trust.labels.user_faults import made_up


def write_of_the_user(failure: Failure) -> Label | None:
    """What would have to be left out was done by the user, on whose idea is not decided."""
    wrong = [change for change in failure.to_leave_out if change.call["requestor"] == "user"]
    if not wrong:
        return None
    evidence = tuple(f"message {c.message_index}: {shown_call(c.call)}" for c in wrong)
    return Label("unclear", "a write of the user's", "write of the user", evidence)


def same_outcome(failure: Failure) -> Label | None:
    """Only the history of payments differs, and it adds up to the same amount."""
    wrong = failure.explanation.wrong_fields
    if not wrong or not all(_is_booked_amount(field) for field in wrong):
        return None
    expected, found = (sum(_amounts(wrong, side)) for side in ("expected", "found"))
    if abs(expected - found) > 0.005:
        return None
    evidence = tuple(
        f"{each.place}: expected {shown(each.expected)}, found {shown(each.found)}"
        for each in wrong
    )
    return Label("unclear", "same outcome by other steps", "same outcome", evidence)


def _is_booked_amount(field: WrongField) -> bool:
    """Whether a field is an entry of a payment history, or the amount of one."""
    path = field.place.path
    return "payment_history" in path and (path[-1] == "amount" or isinstance(path[-1], int))


def _amounts(wrong: tuple[WrongField, ...], side: str) -> Iterator[float]:
    for field in wrong:
        value = getattr(field, side)
        if isinstance(value, Mapping):
            yield float(value.get("amount", 0))
        elif value is not ABSENT and field.place.path[-1] == "amount":
            yield float(value)


def chosen_by_the_user(failure: Failure) -> Label | None:
    """The agent offered the right thing and another, and the user took the other."""
    if failure.swap is None:
        return None
    index, made, wanted = failure.swap
    right, other = _differing(wanted["arguments"], made["arguments"])
    if not right or not other:
        return None
    for at, offer in failure.said_by("assistant"):
        if at < index and all(mentions(offer, each) for each in (*right, *other)):
            for later, text in failure.said_by("user"):
                if at < later < index and any(mentions(text, each) for each in other):
                    evidence = (
                        f"message {at}: the agent offers {', '.join([*right, *other])}",
                        f"message {later}: the user takes {', '.join(other)}",
                    )
                    return Label("unclear", "chosen by the user", "chosen by the user", evidence)
    return None


def _differing(wanted: object, made: object) -> tuple[list[str], list[str]]:
    """The ids that only one of two calls has."""
    one, other = ([v for v in telling_values(each) if id_like(v)] for each in (wanted, made))
    return [v for v in one if v not in other], [v for v in other if v not in one]


def offered_and_not_taken(failure: Failure) -> Label | None:
    """The agent offered exactly what is missing, and the user did not say yes to it."""
    if not failure.nothing_wrong_done or failure.attempts or transferred_at(failure) is not None:
        return None
    if any(failure.refusals_of(change.call) for change in failure.to_add):
        return None
    for index, offer in failure.said_by("assistant"):
        for change in failure.to_add:
            if not words.asks(offer) or not _names_all(offer, change.call):
                continue
            reply = next(((i, t) for i, t in failure.said_by("user") if i > index), None)
            if reply and (words.declines(reply[1]) or words.narrows(reply[1])):
                evidence = (
                    f"message {index}: the agent offers {shown_call(change.call)}",
                    f"message {reply[0]}, the user: {shown(reply[1])}",
                )
                return Label("unclear", "offered and not taken", "offered and not taken", evidence)
    return None


def _names_all(offer: str, call: Tau2ToolCall) -> bool:
    values = own_values(call)
    return len(values) > 1 and all(mentions(offer, value) for value in values)


def led_astray(failure: Failure) -> Label | None:
    """The user named something that does not exist, and in the end something is missing."""
    if not failure.to_add or failure.to_leave_out:
        return None
    failed = [(index, call) for index, call, answer in failure.calls if is_error(answer)]
    found = next(made_up(failure, failed), None)
    return found and Label("unclear", "led astray by the user", "led astray", found)


DOUBT_RULES: tuple[LabelRule, ...] = (
    write_of_the_user,
    same_outcome,
    chosen_by_the_user,
    offered_and_not_taken,
    led_astray,
)
