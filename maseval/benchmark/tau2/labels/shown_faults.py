"""Failures of the agent that the record proves, whatever the user said or agreed to."""

from itertools import product

from maseval.benchmark.tau2.explain.text import shown, shown_call
from maseval.benchmark.tau2.labels import words
from maseval.benchmark.tau2.labels.failure import (
    Failure,
    Label,
    LabelRule,
    differences,
    is_error,
)
from maseval.benchmark.tau2.labels.leaving import TRANSFER_TOOL, transferred_at
from maseval.benchmark.tau2.labels.topics import reports_it_done


def forbidden_write(failure: Failure) -> Label | None:
    """A wrong write is one that the policy forbids."""
    broken = [
        (index, call, failure.forbidden[index, shown_call(call)])
        for index, call in failure.wrong_writes
        if (index, shown_call(call)) in failure.forbidden and not failure.is_gold(call)
    ]
    if not broken:
        return None
    evidence = [f"message {index}: {shown_call(call)}: {why}" for index, call, why in broken]
    missing = {change.call["name"]: change.call for change in failure.to_add}
    instead = [(call, missing[call["name"]]) for _, call, _ in broken if call["name"] in missing]
    evidence += [line for pair in instead for line in differences(*pair)]
    what = "wrong arguments" if len(instead) == len(broken) else "extra write"
    return Label("agent", what, "forbidden write", tuple(evidence))


def made_impossible(failure: Failure) -> Label | None:
    """A call of the reference solution was tried and failed, because of a write before it."""
    for change in failure.to_leave_out:
        before = change.message_index or 0
        for index, call, answer in failure.writes:
            if index >= before and is_error(answer) and failure.is_gold(call):
                evidence = (
                    f"message {before}: {shown_call(change.call)}",
                    f"message {index}: then {shown_call(call)} fails: "
                    f"{shown(answer.get('content'))}",
                )
                return Label("agent", "extra write", "made impossible", evidence)
    return None


def said_and_not_done(failure: Failure) -> Label | None:
    """The agent says that it has done what is missing, and has never called that tool."""
    worked = {call["name"] for _, call, answer in failure.calls if not is_error(answer)}
    undone = [
        call
        for call in (change.call for change in failure.to_add)
        if call["requestor"] == "assistant" and call["name"] not in worked
    ]
    said = [
        (index, sentence)
        for index, text in (failure.said_by("assistant") if undone else ())
        for sentence in words.sentences(text)
    ]
    for call, (index, sentence) in product(undone, said):
        if reports_it_done(sentence, call):
            evidence = (
                f"message {index}, the agent: {shown(sentence)}",
                f"never called: {shown_call(call)}",
            )
            return Label("agent", "said and not done", "said and not done", evidence)
    return None


def transferred_at_once(failure: Failure) -> Label | None:
    """The agent handed over to a human before it had looked anything up."""
    at = transferred_at(failure)
    if at is None or TRANSFER_TOOL in {action.name for action in failure.gold}:
        return None
    looked = [call for index, call, _ in failure.calls if index <= at]
    if any(call["name"] != TRANSFER_TOOL for call in looked):
        return None
    evidence = (f"message {at}: the agent transfers, and has looked nothing up",)
    return Label("agent", "transferred too early", "transferred at once", evidence)


SHOWN_RULES: tuple[LabelRule, ...] = (
    forbidden_write,
    made_impossible,
    said_and_not_done,
    transferred_at_once,
)
