"""Failures that are neither side's: the recording is broken, or the task is."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace

from maseval.benchmark.tau2 import words
from maseval.benchmark.tau2.compliance import forbidden_steps, scenario_text
from maseval.benchmark.tau2.domains.records import Table
from maseval.benchmark.tau2.explain.explanation import format_value, render_call
from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.labels.failure import Failure, is_error
from maseval.benchmark.tau2.labels.user_faults import TRANSFER_TOOL
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score
from maseval.benchmark.tau2.versions import FIRST_ENDINGS
from maseval.benchmark.tau2.words import OWNERS, id_like, speaks_of, telling_values
from maseval.benchmark.tau2.world.reference import gold_state, shortfall
from maseval.benchmark.tau2.world.tasks import Action
from maseval.core.outcome import is_successful
from maseval.stats.failure_labels import Label, Who

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
        verdict = score(replace(case, recording=ended)).reward_info
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
    """Carried out call by call, the reference solution itself does not pass."""
    missed = shortfall(failure.subject.case.setting).kinds
    counted = [kind for kind in missed if kind in failure.explanation.failed_gates]
    if not counted:
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
            same = change.call["name"] == action.name and _same_subject(change.call, action)
            if action.action_id in faults and same:
                text = faults[action.action_id].error
                evidence = (
                    f"gold action {render_call(action.model_dump())} raises: {text}",
                    f"message {change.message_index}: {render_call(change.call)} worked",
                )
                return Label("task", "gold raises", "gold raises", evidence)
    return None


def gold_against_the_policy(failure: Failure) -> Label | None:
    """The missing call is forbidden by the policy: an agent that obeys it cannot pass.

    Unless the agent refused it and did nothing else on its own, it may have failed otherwise.
    """
    case = failure.subject.case
    forbidden = forbidden_steps(case.setting, scenario_text(case.raw_task))
    broken = [each for each in failure.not_made if each.action_id in forbidden]
    if not broken:
        return None
    evidence = tuple(f"{render_call(each.call())}: {forbidden[each.action_id]}" for each in broken)
    return _against_the_policy(failure, [each.call() for each in broken], evidence)


def _against_the_policy(
    failure: Failure, calls: list[Tau2ToolCall], evidence: tuple[str, ...]
) -> Label:
    what, names = "gold against the policy", {call["name"] for call in calls}
    other = [
        call
        for index, call in failure.wrong_writes
        if call["name"] not in names and failure.agreement_to(index, call) is None
    ]
    failed = [call for _, call, answer in failure.writes if is_error(answer)]
    clear = _refused_for_the_policy(failure, calls) and not other and not failed
    return Label("task" if clear else "unclear", what, what, evidence)


def _refused_for_the_policy(failure: Failure, calls: list[Tau2ToolCall]) -> bool:
    """Tell whether the agent refused a call, to the user or in the summary of a transfer.

    A refusal because the facts are in doubt has another reason.
    """
    told = [text for _, text in failure.said_by("assistant")]
    told += [str(c["arguments"].get("summary", "")) for c in failure.calls_of(TRANSFER_TOOL)]
    refused = [text for text in told if words.refusal(text) and not words.doubts_the_facts(text)]
    return any(speaks_of(text, call) for text in refused for call in calls)


def payment_left_open(failure: Failure) -> Label | None:
    """Only the means of payment is another, and the task says nothing about how to pay."""
    if failure.swap is None or _SPEAKS_OF_PAYING.search(failure.scenario):
        return None
    index, made, wanted = failure.swap
    names = {*made["arguments"], *wanted["arguments"]}
    differing = {n for n in names if made["arguments"].get(n) != wanted["arguments"].get(n)}
    if not differing or not all("payment" in name for name in differing):
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


def _same_subject(call: Tau2ToolCall, action: Action) -> bool:
    first = next(iter(action.arguments), None)
    return first is not None and call["arguments"].get(first) == action.arguments[first]


def value_nobody_can_know(failure: Failure) -> Label | None:
    """A missing call has a date or an id that the task, the talk and the database do not have.

    If more than that is wrong, it would have failed anyhow.
    """
    for change in failure.to_add:
        call = change.call
        values = dict.fromkeys(telling_values(call["arguments"]))
        unknown = {value for value in values if _is_unknown(failure, call, value)}
        if unknown:
            evidence = tuple(
                f"{call['name']} needs {value!r}, which no text and no record has"
                for value in sorted(unknown)
            )
            who: Who = "task" if _only_these_differ(failure, unknown) else "unclear"
            return Label(who, "gold cannot be known", "value nobody can know", evidence)
    return None


def _only_these_differ(failure: Failure, unknown: set[str]) -> bool:
    expected = [field.expected for field in failure.explanation.wrong_fields]
    return all(isinstance(value, str) and value in unknown for value in expected)


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
                yield f"{key} {json.dumps(record, ensure_ascii=False)}"


def _earlier_answers(failure: Failure, call: Tau2ToolCall) -> Iterator[str]:
    """Yield the tools' answers to the earlier steps of the reference solution."""
    world = failure.subject.case.setting.world()
    for action in failure.gold:
        if action.action_id == call["id"]:
            return
        yield world.respond(action.call())["content"] or ""
