"""Failures of the agent: what it did, did not do, or did not say."""

from collections.abc import Mapping

from maseval.benchmark.tau2.conversation.messages import TRANSFER
from maseval.benchmark.tau2.forms.message import Tau2ToolCall
from maseval.benchmark.tau2.forms.simulation import TerminationReason
from maseval.benchmark.tau2.trust.explain.text import shown, shown_call
from maseval.benchmark.tau2.trust.labels import words
from maseval.benchmark.tau2.trust.labels.failure import Failure, Label, LabelRule, is_error
from maseval.benchmark.tau2.trust.labels.leaving import TRANSFER_TOOL, transferred_at


def ran_out_of_steps(failure: Failure) -> Label | None:
    """The conversation was cut off when all its steps were used up."""
    if failure.subject.case.recording.termination_reason != TerminationReason.MAX_STEPS:
        return None
    evidence = (f"cut off after {len(failure.messages)} messages",)
    return Label("agent", "ran out of steps", "ran out of steps", evidence)


def too_many_errors(failure: Failure) -> Label | None:
    """The conversation was cut off because too many calls failed."""
    if failure.subject.case.recording.termination_reason != TerminationReason.TOO_MANY_ERRORS:
        return None
    failed = sum(bool(m.get("error")) for m in failure.messages if m["role"] == "tool")
    return Label("agent", "too many failed calls", "too many errors", (f"{failed} calls failed",))


def information_not_given(failure: Failure) -> Label | None:
    """Everything was done, and something was not said."""
    if failure.explanation.failed_gates != ("COMMUNICATE",):
        return None
    evidence = []
    for found in failure.explanation.communication:
        if not found.met:
            near = f"; nearest in message {found.quote.message_index}" if found.quote else ""
            evidence.append(f"{found.info!r} was never said{near}")
    return Label("agent", "information not given", "information not given", tuple(evidence))


def wrong_arguments(failure: Failure) -> Label | None:
    """A call was made with the right tool and other arguments than the gold action's."""
    missing = [change.call for change in failure.to_add]
    for index, call in _suspicious(failure):
        for wanted in missing:
            if wanted["name"] == call["name"] and _about_the_same(wanted, call, failure):
                return _wrong_arguments(index, call, wanted["arguments"])
    return None


def _suspicious(failure: Failure) -> list[tuple[int, Tau2ToolCall]]:
    """The calls that wrote a wrong value, would have to be left out, missed, or failed."""
    found = [(c.message_index or 0, c.call) for c in failure.to_leave_out]
    found += [(at.message_index, at.call) for at in failure.wrong_writers]
    found += failure.attempts
    found += [(index, call) for index, call, answer in failure.writes if is_error(answer)]
    return found


def _about_the_same(wanted: Tau2ToolCall, made: Tau2ToolCall, failure: Failure) -> bool:
    """Whether a call stands for the missing one: same subject, or a subject nobody wants.

    The subject is the first argument: an order, a reservation, a customer.
    """
    first = next(iter(wanted["arguments"]), None)
    if first is None or made["arguments"].get(first) == wanted["arguments"][first]:
        return True
    subjects = [
        action.arguments.get(first) for action in failure.gold if action.name == made["name"]
    ]
    return made["arguments"].get(first) not in subjects


def _wrong_arguments(index: int, call: Tau2ToolCall, wanted: Mapping[str, object]) -> Label:
    made = call["arguments"]
    differing = [name for name in {**wanted, **made} if wanted.get(name) != made.get(name)]
    evidence = (
        f"message {index}: {shown_call(call)}",
        *(
            f"{name}: {shown(made.get(name))} instead of {shown(wanted.get(name))}"
            for name in differing
        ),
    )
    return Label("agent", "wrong arguments", "wrong arguments", evidence)


def transferred_too_early(failure: Failure) -> Label | None:
    """Nothing wrong was done, something was missing, and the agent passed it on to a human."""
    if failure.to_leave_out or not (failure.to_add or failure.explanation.to_be_said):
        return None
    if TRANSFER_TOOL in {action.name for action in failure.gold}:
        return None
    at = transferred_at(failure)
    if at is None and not _agreed_to_a_transfer(failure):
        return None
    how = "the agent proposes a transfer" if at is None else f"message {at}: the agent transfers"
    unsaid = (f"{info!r} was never said" for info in failure.explanation.to_be_said)
    evidence = (how, *_missing(failure), *unsaid)
    return Label("agent", "transferred too early", "transferred too early", evidence)


def _agreed_to_a_transfer(failure: Failure) -> bool:
    """Whether the user ended it as transferred, after the agent had spoken of that."""
    last = failure.messages[-1]
    offers = list(failure.said_by("assistant"))[-1:]
    ended = last["role"] == "user" and TRANSFER in (last.get("content") or "")
    return ended and any(words.speaks_of_a_transfer(text) for _, text in offers)


def refused_wrongly(failure: Failure) -> Label | None:
    """Nothing wrong was done, something was missing, and the agent declined it."""
    if not failure.to_add or failure.to_leave_out:
        return None
    for change in failure.to_add:
        for index, text in reversed(failure.refusals_of(change.call)):
            how = f"message {index}: {shown(words.around_refusal(text))}"
            return Label("agent", "refused wrongly", "refused wrongly", (how, *_missing(failure)))
    return None


def extra_write(failure: Failure) -> Label | None:
    """Something was done that the reference solution does not do."""
    if not failure.to_leave_out:
        return None
    extra = (f"message {c.message_index}: {shown_call(c.call)}" for c in failure.to_leave_out)
    return Label("agent", "extra write", "extra write", (*extra, *_missing(failure)))


def permanent_write(failure: Failure) -> Label | None:
    """What would have made it pass was not found, but what made that impossible was."""
    found = failure.explanation.divergence
    if found is None or found.call is None:
        return None
    evidence = (
        f"message {found.call.message_index}: {shown_call(found.call.call)}",
        f"{found.place}: {found.reason}",
    )
    return Label("agent", "extra write", "permanent write", evidence)


def missing_write(failure: Failure) -> Label | None:
    """Something was not done that the reference solution does."""
    if not failure.to_add:
        return None
    writes = [
        change for change in failure.to_add if failure.subject.case.setting.may_write(change.call)
    ]
    what = "missing write" if writes else "missing action"
    return Label("agent", what, "missing write", tuple(_missing(failure)))


def _missing(failure: Failure) -> list[str]:
    return [f"missing: {shown_call(change.call)}" for change in failure.to_add]


AGENT_RULES: tuple[LabelRule, ...] = (
    ran_out_of_steps,
    too_many_errors,
    transferred_too_early,
    information_not_given,
    wrong_arguments,
    refused_wrongly,
    extra_write,
    missing_write,
    permanent_write,
)
