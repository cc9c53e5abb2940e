"""Failures that are neither side's: the recording is broken, or the task is."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
from typing import Any

from maseval.benchmark.tau2.formats.message import OUT_OF_SCOPE, Tau2ToolCall
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.review.labels.failure import Failure, is_error
from maseval.benchmark.tau2.review.policy.confirming import TRANSFER_TOOL
from maseval.benchmark.tau2.review.words import OWNERS, id_like, telling_values
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score
from maseval.benchmark.tau2.versions import FIRST_ENDINGS
from maseval.benchmark.tau2.world.reference import gold_state, shortfall
from maseval.benchmark.tau2.world.state.records import SharedTable, Table
from maseval.core.finding import LEFT_OUT
from maseval.core.outcome import is_successful
from maseval.stats.failure_labels import Label

_GIVES_THE_POLICY = re.compile(
    r"\b(?:polic|eligib|not allowed|cannot|can't|not permitted|already|restrict|unable|only)",
    re.IGNORECASE,
)
_LIMITS = (TerminationReason.MAX_STEPS, TerminationReason.TOO_MANY_ERRORS)
_SPEAKS_OF_PAYING = re.compile(
    r"\b(pay|paid|card|credit|gift|gc\b|cc\b|certificate|refund|original)"
)


def nothing_recorded(failure: Failure) -> Label | None:
    """There is no conversation."""
    if any(message["role"] != "tool" for message in failure.messages):
        return None
    return Label("infrastructure", "no conversation", "nothing recorded", ("no messages",))


def ended_from_outside(failure: Failure) -> Label | None:
    """It was ended by something outside the benchmark's rules: a time-out, a crash."""
    reason = failure.subject.case.recording.termination_reason
    if reason in FIRST_ENDINGS:
        return None
    return Label("infrastructure", "ended from outside", "ended from outside", (str(reason),))


def cut_off_when_done(failure: Failure) -> Label | None:
    """A limit ended it when all was right: the steps or the failed calls were used up."""
    case = failure.subject.case
    if case.recording.termination_reason not in _LIMITS:
        return None
    ended = case.recording._replace(termination_reason=TerminationReason.USER_STOP)
    try:
        verdict = score(case._replace(recording=ended)).reward_info
    except NoJudgeError:
        return None
    if not is_successful(verdict["reward"]):
        return None
    reason = f"{case.recording.termination_reason}, with the end state of the reference solution"
    return Label("infrastructure", "cut off when all was done", "cut off when done", (reason,))


def cannot_be_replayed(failure: Failure) -> Label | None:
    """Its calls do not give the recorded answers."""
    fault = failure.explanation.replay_fault
    if fault is None:
        return None
    where = "" if fault.message_index is None else f"message {fault.message_index}: "
    return Label(
        "infrastructure", "not replayable", "cannot be replayed", (f"{where}{fault.meaning}",)
    )


def gold_cannot_be_reached(failure: Failure) -> Label | None:
    """Carried out call by call, the reference solution itself does not pass where this failed."""
    missed = shortfall(failure.subject.case.setting).kinds
    counted = [kind for kind in missed if kind in failure.explanation.failed_gates]
    if not counted or len(counted) < len(failure.explanation.failed_gates):
        return None
    evidence = (f"the reference solution, carried out, fails at {', '.join(counted)}",)
    return Label("task", "gold cannot be reached", "gold cannot be reached", evidence)


def text_that_cannot_match(failure: Failure) -> Label | None:
    """The only thing unsaid has a comma, and commas are taken out of what is said."""
    unsaid = failure.explanation.to_be_said
    impossible = [info for info in unsaid if "," in info]
    if failure.explanation.failed_gates != ("COMMUNICATE",) or len(impossible) < len(unsaid):
        return None
    evidence = tuple(f"{info!r} can never be found" for info in impossible)
    return Label("task", "gold cannot be reached", "text that cannot match", evidence)


def gold_raises(failure: Failure) -> Label | None:
    """A call of the reference solution raises, and the agent was penalised for making it."""
    case = failure.subject.case
    faults = {each.action_id: each for each in gold_state(case.setting).errors}
    for action in failure.gold:
        for change in failure.to_leave_out:
            same = change.call["name"] == action.name and _same_subject(change.call, action.call())
            if action.action_id in faults and same and len(failure.changes) == 1:
                text = faults[action.action_id].error
                evidence = (
                    f"gold action {render_call(action.model_dump())} raises: {text}",
                    f"message {change.message_index}: {render_call(change.call)} worked",
                )
                return Label("task", "gold raises", "gold raises", evidence)
    return None


def another_right_end(failure: Failure) -> Label | None:
    """It ended in another way that is as right."""
    sound = failure.explanation.sound
    if sound is None or sound.kind == LEFT_OUT or failure.not_in_the_correction:
        return None
    return Label("task", "right in another way", "another right end", (sound.text,))


def gold_against_the_policy(failure: Failure) -> Label | None:
    """The missing calls are not to be made, and the agent refused them or did otherwise."""
    found = _not_to_be_done(failure)
    if not found or not all(_is_dealt_with(failure, call) for call, _ in found):
        return None
    return _against_the_policy("gold against the policy", found)


def nothing_else_is_missing(failure: Failure) -> Label | None:
    """All that is missing is not to be done: an agent that obeys the policy cannot pass.

    Where the user ended it as out of scope before that came up, nobody can tell.
    """
    found = _not_to_be_done(failure)
    if not found or failure.wrong_writes:
        return None
    label = _against_the_policy("nothing else is missing", found)
    last = failure.messages[-1].get("content") or ""
    return replace(label, who="unclear") if OUT_OF_SCOPE in last else label


def _not_to_be_done(failure: Failure) -> list[tuple[Tau2ToolCall, str]]:
    """Return the missing calls that a corrected task does not have, or that the policy forbids."""
    sound = failure.explanation.sound
    if sound is not None and sound.kind != LEFT_OUT:
        return [(each, sound.text) for each in failure.not_in_the_correction]
    return _forbidden_by_the_policy(failure)


def task_left_out(failure: Failure) -> Label | None:
    """No verdict on the task can be right, and nothing else shows who failed."""
    sound = failure.explanation.sound
    if sound is None or sound.kind != LEFT_OUT:
        return None
    return Label("task", "unsound", "task left out", (sound.text,))


def _against_the_policy(rule: str, found: list[tuple[Tau2ToolCall, str]]) -> Label:
    evidence = tuple(f"{render_call(call)}: {why}" for call, why in found)
    return Label("task", "gold against the policy", rule, evidence)


def _forbidden_by_the_policy(failure: Failure) -> list[tuple[Tau2ToolCall, str]]:
    """Return the missing calls that the policy forbids, and why; none if more is wrong.

    What else is missing about the same record may follow from the step that is forbidden, and so
    may what is to be told.
    """
    forbidden = failure.forbidden_gold
    found = [
        (change.call, forbidden[change.action_id or ""])
        for change in failure.to_add
        if change.action_id in forbidden
    ]
    calls = [call for call, _ in found]
    others = [change.call for change in failure.to_add if change.call not in calls]
    alone = all(any(_same_subject(each, call) for call in calls) for each in others)
    strange = [each for each in failure.wrong_writes if failure.agreement_to(*each) is None]
    return found if alone and not strange else []


def _is_dealt_with(failure: Failure, call: Tau2ToolCall) -> bool:
    """Tell whether the agent made a call in another way or refused it.

    It may refuse it to the user or in the summary of a transfer, and not because it doubts the
    facts: that is another reason.
    """
    worked = [made for _, made, answer in failure.writes if not is_error(answer)]
    if any(_same_subject(made, call) for made in worked if made["name"] == call["name"]):
        return True
    told = list(failure.said_by("assistant"))
    told += [
        (at, f"I cannot do that: {made['arguments'].get('summary', '')}")
        for at, made, _ in failure.calls
        if made["name"] == TRANSFER_TOOL and _GIVES_THE_POLICY.search(str(made["arguments"]))
    ]
    return any(
        failure.refuses(text, call, at) for at, text in told if not words.doubts_the_facts(text)
    )


def payment_left_open(failure: Failure) -> Label | None:
    """Only the means of payment is another, and the task says nothing about how to pay."""
    if failure.swap is None or _SPEAKS_OF_PAYING.search(failure.scenario):
        return None
    index, made, wanted = failure.swap
    names = {*made["arguments"], *wanted["arguments"]}
    differing = {n for n in names if made["arguments"].get(n) != wanted["arguments"].get(n)}
    if not differing or not all("payment" in name for name in differing):
        return None
    if failure.has_agreed_to(wanted, made, index):
        return None
    evidence = (
        f"message {index}: {render_call(made)}",
        *(
            f"{name}: {format_value(wanted['arguments'].get(name))} expected"
            for name in sorted(differing)
        ),
        "the task says nothing about how to pay",
    )
    return Label("task", "choice left open", "payment left open", evidence)


def _same_subject(one: Tau2ToolCall, other: Tau2ToolCall) -> bool:
    first = next(iter(other["arguments"]), None)
    return first is not None and one["arguments"].get(first) == other["arguments"][first]


def value_nobody_can_know(failure: Failure) -> Label | None:
    """A missing call has a date or an id that the task, the talk and the database do not have.

    If more than that is wrong, it would have failed anyhow.
    """
    expected = [field.expected for field in failure.explanation.wrong_fields]
    for change in failure.to_add if all(isinstance(each, str) for each in expected) else ():
        call = change.call
        values = dict.fromkeys(telling_values(call["arguments"]))
        unknown = {value for value in values if _is_unknown(failure, call, value)}
        if unknown and all(value in unknown for value in expected):
            evidence = tuple(
                f"{call['name']} needs {value!r}, which no text and no record has"
                for value in sorted(unknown)
            )
            return Label("task", "gold cannot be known", "value nobody can know", evidence)
    return None


def _is_unknown(failure: Failure, call: Tau2ToolCall, value: str) -> bool:
    if call["requestor"] != "assistant" or id_like(value) != [value]:
        return False
    if value.lower() in failure.scenario:
        return False
    sources = (
        (message.get("content") or "" for message in failure.messages),
        _records_of_person(failure, call),
        _earlier_answers(failure, call),
    )
    return not any(value in text for source in sources for text in source)


def _records_of_person(failure: Failure, call: Tau2ToolCall) -> Iterator[str]:
    """Yield the records of the database that are this person's, or nobody's."""
    person = {call["arguments"].get(key) for key in OWNERS}
    for _, table in failure.subject.case.setting.world().tools.db:
        if not isinstance(table, Table):
            yield str(table)
            continue
        for key, record in table.shared.raw.items():
            owners = {record[name] for name in OWNERS if name in record}
            if not owners or owners & person or not any(person):
                yield _loaded_text(table.shared, key)


# A table that belongs to nobody, such as that of all products, is looked through for every failure.
@lru_cache(maxsize=4096)
def _loaded_text(table: SharedTable[Any], key: str) -> str:
    return f"{key} {json.dumps(table.raw[key], ensure_ascii=False)}"


def _earlier_answers(failure: Failure, call: Tau2ToolCall) -> Iterator[str]:
    """Yield the tools' answers to the earlier steps of the reference solution."""
    world = failure.subject.case.setting.world()
    for action in failure.gold:
        if action.action_id == call["id"]:
            return
        yield world.respond(action.call())["content"] or ""
