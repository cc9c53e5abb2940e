"""Failures in which the record does not show who is to blame."""

from collections.abc import Iterator, Mapping

from maseval.benchmark.tau2.conversation.messages import OUT_OF_SCOPE
from maseval.benchmark.tau2.domains.permanence import ABSENT
from maseval.benchmark.tau2.forms.message import Tau2ToolCall
from maseval.benchmark.tau2.trust.explain.text import shown, shown_call
from maseval.benchmark.tau2.trust.explain.tracing import WrongField
from maseval.benchmark.tau2.trust.labels import words
from maseval.benchmark.tau2.trust.labels.failure import Failure, Label, LabelRule, is_error
from maseval.benchmark.tau2.trust.labels.instructions import turned_down
from maseval.benchmark.tau2.trust.labels.topics import (
    id_like,
    mentions,
    says_the_like,
    telling_values,
)
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


def turned_down_by_the_user(failure: Failure) -> Label | None:
    """The agent offered what is missing, and the user said no to it."""
    found = next(turned_down(failure), None)
    return found and Label("unclear", "turned down by the user", "turned down", found)


def agreed_beyond_the_task(failure: Failure) -> Label | None:
    """The agent did something that the task does not speak of, and the user had agreed to it."""
    calls = [(change.message_index or 0, change.call) for change in failure.to_leave_out]
    refused = any(failure.refusals_of(change.call) for change in failure.to_add)
    if not calls or refused or not all(_beyond(failure, *each) for each in calls):
        return None
    evidence = tuple(
        f"message {c.message_index}: {shown_call(c.call)}" for c in failure.to_leave_out
    )
    what = "agreed beyond the task"
    return Label("unclear", what, what, (*evidence, "the task does not speak of it"))


def _beyond(failure: Failure, index: int, call: Tau2ToolCall) -> bool:
    reply = failure.consent_to(index)
    wanted = call["name"] in {action.name for action in failure.gold}
    if reply is None or wanted or says_the_like(failure.scenario, call):
        return False
    return words.agrees(reply[1]) or says_the_like(reply[1], call)


def out_of_scope(failure: Failure) -> Label | None:
    """The user ended it because its task does not say how to go on."""
    last = failure.messages[-1]
    if last["role"] != "user" or OUT_OF_SCOPE not in (last.get("content") or ""):
        return None
    evidence = (f"message {len(failure.messages) - 1}, the user: {shown(last.get('content'))}",)
    return Label("unclear", "out of scope", "out of scope", evidence)


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
    turned_down_by_the_user,
    agreed_beyond_the_task,
    out_of_scope,
    led_astray,
)
