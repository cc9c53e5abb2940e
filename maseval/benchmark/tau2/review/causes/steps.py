"""The cause of a failure: who failed, by the first step that answers, of steps in their order.

Each step is one fact that decides, from what is recomputed to what is left over. A step that named
the reader's party in at least 95 of 100 readings is *likely*; for the others, and for the agent
that is blamed by default because nothing else was found, the grade is *undecided*, and the party
named is the one that it most often is. Where the task is wrong and the corrected one passes, the
task stands first. docs/how-we-know.md has the rate of each step.

Several facts are not steps because they were wrong as often as right: that the user said no (to
insurance, to bags, to a new ticket), that the agent refused or never looked something up, and the
amounts in a call, which are the agent's arithmetic. A new step should first be right in nine of ten
conversations that it was not made from.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Unpack

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.formats.message import Tau2ToolCall, render_call
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.review import words
from maseval.benchmark.tau2.review.causes.failure import Failure, is_id
from maseval.benchmark.tau2.review.explain.explanation import Explanation, explain_subject
from maseval.benchmark.tau2.review.explain.scored_case import (
    CaseKeywords,
    ScoredCase,
    score_case,
    score_corrected,
)
from maseval.benchmark.tau2.versions import FIRST_ENDINGS
from maseval.core.finding import LEFT_OUT, Finding, Grade, Who
from maseval.core.words import excerpt


def find_cause(
    simulation: Mapping[str, object],
    *,
    domain: str | Domain,
    **keywords: Unpack[CaseKeywords],
) -> Finding | None:
    """Say who failed in a simulation, and by what; None if it passed.

    The arguments are those of ``score_simulation``.
    """
    return explain_with_cause(score_case(simulation, domain, **keywords))[1]


def explain_with_cause(subject: ScoredCase) -> tuple[Explanation, Finding | None]:
    """Explain a scored case and find the cause of its failure, for the price of one."""
    explanation = explain_subject(subject)
    return explanation, None if explanation.passed else _cause(subject, explanation)


def _cause(subject: ScoredCase, explanation: Explanation) -> Finding:
    """Return what the first step says that answers.

    If the task is wrong and it is known what is right, a conversation that is not that either is
    held against what is right.
    """
    failure = Failure(subject.case, explanation)
    corrected = score_corrected(subject) if explanation.sound is None else None
    if corrected is not None and explanation.replay_fault is None:
        held = Failure(corrected.case, explain_subject(corrected))
        # What the task itself wants cannot be held against anybody.
        wanted = any(failure.is_gold(each.call) for each in held.wrong)
        failure = failure if held.explanation.passed or wanted else held
    found = ((step, step(failure)) for step in STEPS)
    step, finding = next((step, each) for step, each in found if each is not None)
    finding = replace(finding, rule=step.__name__.replace("_", " "))
    sound = explanation.sound
    if sound is None or finding.who != "agent" or finding.also is not None:
        return finding
    return replace(finding, also="task", evidence=(*finding.evidence, sound.text))


def beside_policy(cause: Finding, policy: Sequence[Finding]) -> Finding:
    """Name the agent beside the party that failed where it broke a rule of the policy that counts.

    A page that shows both never clears an agent of what its policy finding says.
    """
    broken = [str(each) for each in policy if each.counts]
    if not broken or cause.also is not None or cause.who not in ("user", "task"):
        return cause
    return replace(cause, also="agent", evidence=(*cause.evidence, *broken))


CauseStep = Callable[[Failure], Finding | None]

BY_DEFAULT = (
    "by default: no other fact was found; 70 of 85 such failures that people read are the agent's"
)
"""The last evidence of a cause that no step decides; tests hold it against the readings."""

_LIMITS = (TerminationReason.MAX_STEPS, TerminationReason.TOO_MANY_ERRORS)
_LOOP = 5


def _blame(
    who: Who,
    kind: str,
    text: str,
    *,
    message: int | None = None,
    grade: Grade = "likely",
    also: Who | None = None,
    evidence: tuple[str, ...] = (),
) -> Finding:
    """Return a finding; the name of the step is filled in by whoever asks the steps."""
    return Finding(
        "cause", who, kind, "", text, grade=grade, message=message, also=also, evidence=evidence
    )


def no_verdict(failure: Failure) -> Finding | None:
    """There is no conversation, something outside ended it, or its calls cannot be made again."""
    fault, at = failure.explanation.replay_fault, None
    if all(message["role"] == "tool" for message in failure.messages):
        kind, text = "no conversation", "no message was recorded"
    elif failure.ending not in FIRST_ENDINGS:  # a time-out, a crash
        kind, text = "ended from outside", f"it was ended from outside: {failure.ending}"
    elif fault is not None:
        kind, text, at = "not replayable", fault.meaning, fault.message_index
    else:
        return None
    return _blame("infrastructure", kind, text, message=at, grade="proven")


# -- what is recomputed ------------------------------------------------------


def forbidden_write(failure: Failure) -> Finding | None:
    """A done write is one that a rule of the policy about the state forbids."""
    for made, breach in failure.forbidden:
        return _blame(
            "agent",
            "forbidden write",
            f"the policy forbids what was done: {breach.text}",
            message=made.message_index,
            evidence=(f"{render_call(made.call)} [{breach.rule}]", *_facts(failure)),
        )
    return None


def value_from_nowhere(failure: Failure) -> Finding | None:
    """A write has an id or an address that the agent had from nobody.

    A write that the tool refused counts if one with the same tool is missing.
    """
    missing = {call["name"] for call in failure.missing}
    refused = [each for each in failure.tried if each.failed and each.call["name"] in missing]
    for made in (*failure.wrong, *refused):
        if made.call["requestor"] != "assistant":
            continue
        for value in words.telling_values(made.call["arguments"]):
            if is_id(value) and not failure.agent_can_have(value, made.message_index):
                how = "which the tool refused" if made.failed else "which nobody gave the agent"
                text = f"{made.call['name']} has {value!r}, {how}"
                at, more = made.message_index, tuple(_facts(failure))
                return _blame("agent", "invented value", text, message=at, evidence=more)
    return None


def language_not_read(failure: Failure) -> Finding | None:
    """The conversation is not in English, and the steps that follow read words."""
    if failure.talk.is_english:
        return None
    text = "the conversation is not in English"
    return _blame("unclear", "language not read", text, grade="undecided")


def left_while_agreeing(failure: Failure) -> Finding | None:
    """The user ended the conversation with its yes to what is missing."""
    found = failure.offer_left_in_a_yes(failure.missing)
    if found is None or not failure.nothing_wrong_written:
        return None
    return _blame(
        "user",
        "left while agreeing",
        f"the user agrees to {found[1]['name']}, offered in message {found[0]}, "
        "and ends the conversation in the same message",
        message=len(failure.messages) - 1,
        evidence=tuple(_missing(failure)),
    )


# -- the task ----------------------------------------------------------------


def another_right_end(failure: Failure) -> Finding | None:
    """It ended in another way that is as right.

    An agent that neither refused what the task wants nor did the rest came to it by chance.
    """
    sound = failure.explanation.sound
    if sound is None or sound.kind == LEFT_OUT:
        return None
    if failure.nothing_wrong_written and not failure.did_its_part:
        kind, facts = "right by chance", tuple(_facts(failure))
        return _blame("task", kind, sound.text, also="agent", grade="undecided", evidence=facts)
    return _blame("task", "right in another way", sound.text)


# Reasons for which nobody can pass, whatever is written.
_IMPOSSIBLE = ("gold impossible", "text to be told is wrong")


def unsound_task(failure: Failure) -> Finding | None:
    """No verdict on the task can be right, and nothing wrong was written.

    It is the agent's all the same where it did nothing: it has to refuse what is missing, or to do
    the rest of the task.
    """
    sound = failure.explanation.sound
    if sound is None or sound.kind != LEFT_OUT:
        return None
    reason = sound.text
    if reason.startswith(_IMPOSSIBLE):
        return _blame("task", "unsound", reason, grade="proven")
    if not failure.nothing_wrong_written or not failure.did_its_part:
        return None
    return _blame("task", "unsound", reason, grade="undecided")


def choice_left_open(failure: Failure) -> Finding | None:
    """Only what the domain leaves to the user differs, and the task does not say which."""
    differences = [(pair, each) for pair in failure.pairs for each in pair.choices]
    if not differences or failure.untouched or failure.extra:
        return None
    choices = failure.case.setting.domain.choices
    for pair, each in differences:
        tool, argument = pair.made.call["name"], each.argument
        if not any(choice.allows(tool, argument, failure.scenario) for choice in choices):
            return None
    at = failure.pairs[0].made.message_index
    text = f"{differences[0][1]}; the task does not say which"
    return _blame("task", "choice left open", text, message=at, grade="undecided")


# -- the user ----------------------------------------------------------------


def value_invented_by_the_user(failure: Failure) -> Finding | None:
    """The user gave an id or address that task, tools and agent do not have.

    If no call with it worked, the agent could have looked further.
    """
    for value, at in failure.invented_values():
        text = f"the user gives {value!r}, which is not in its task"
        used = [
            each
            for each in failure.talk.calls
            if value in words.telling_values(each.call["arguments"])
        ]
        if any(each in failure.wrong for each in used):
            return _blame("user", "invented fact", text, message=at)
        if failure.missing and all(each.failed for each in used):
            kind = "invented fact"
            return _blame("agent", kind, text, message=at, also="user", grade="undecided")
    return None


# -- limits and what stays open ----------------------------------------------


def used_up_the_limit(failure: Failure) -> Finding | None:
    """The steps or the failed calls were used up."""
    if failure.ending not in _LIMITS:
        return None
    text = f"cut off after {len(failure.messages)} messages ({failure.ending})"
    calls = failure.talk.calls[::-1]
    last = [*takewhile(lambda e: render_call(e.call) == render_call(calls[0].call), calls)]
    if len(last) >= _LOOP and last[0].call["requestor"] == "assistant":
        text += f", the last {len(last)} calls identical: {render_call(last[0].call)}"
        return _blame("agent", "went in circles", text, message=last[-1].message_index)
    more = tuple(_missing(failure))
    return _blame("agent", "used up the limit", text, evidence=more, grade="undecided")


_CHANGE_OF_MIND = re.compile(
    r"\b(?:if|when) the (?:\w+ )?agent (?:finally )?asks (?:you )?(?:for|to) (?:\w+ )?confirm"
)


def changes_its_mind(failure: Failure) -> Finding | None:
    """The task wants the user to change its mind when it is asked to confirm, and it was asked."""
    asked = any(each.asks for each in failure.talk.agent)
    if not asked or not _CHANGE_OF_MIND.search(failure.scenario):
        return None
    text = "the task wants the user to change its mind when it is asked to confirm"
    wrong = failure.wrong[0].message_index if failure.wrong else len(failure.messages)
    said = failure.talk.user_before(wrong)
    at = said[-1].message_index if said else None
    return _blame("user", "did not change its mind", text, message=at, grade="undecided")


# -- the agent, by default ---------------------------------------------------


def transferred_with_work_left(failure: Failure) -> Finding | None:
    """The agent handed over to a human, and something is missing.

    Where the task is doubtful, the agent may have been right.
    """
    at, unsaid = failure.transferred_at, failure.explanation.to_be_said
    if at is None or not (failure.missing or unsaid):
        return None
    left = [_short(call) for call in failure.missing] or [f"saying {unsaid[0]!r}"]
    return _blame(
        "agent",
        "transferred too early",
        f"the agent transfers to a human in message {at} with work left: {left[0]}",
        message=at,
        grade="likely" if failure.explanation.sound is None else "undecided",
        evidence=tuple(_facts(failure)),
    )


def wrong_write(failure: Failure) -> Finding | None:
    """Something else was done than what is wanted."""
    for pair in failure.pairs:
        differing = "; ".join(map(str, pair.choices or pair.differences))
        text = f"{_short(pair.made.call)} has {differing}"
        return _default(failure, "wrong write", text, pair.made.message_index)
    for made in failure.wrong:
        text = f"{_short(made.call)} was not wanted"
        return _default(failure, "extra write", text, made.message_index)
    return None


def missing_write(failure: Failure) -> Finding | None:
    """Something that is wanted was not done."""
    if not failure.missing:
        return None
    call = failure.missing[0]
    kind = "missing write" if failure.case.setting.may_write(call) else "missing action"
    refused = [each for each in failure.tried if each.failed and each.call["name"] == call["name"]]
    if refused:
        last = refused[-1]
        text = f"the tool refused {_short(last.call)}: {excerpt(last.answer, 120)}"
        return _default(failure, kind, text, last.message_index)
    said = failure.refusal_of(call)
    if said is not None:
        text = (
            f"the agent declines {_short(call)}, which was wanted, in message {said.message_index}"
        )
        return _default(failure, kind, text, said.message_index)
    return _default(failure, kind, f"{_short(call)} was not made", None)


def not_said(failure: Failure) -> Finding | None:
    """Everything was done, and something was not said."""
    unsaid = failure.explanation.to_be_said
    if not unsaid:
        return None
    text = f"the agent never said {', '.join(map(repr, unsaid))}"
    return _default(failure, "information not given", text, None)


def left_over(failure: Failure) -> Finding | None:
    """No smallest repair was found, and no write stands out."""
    gates = ", ".join(failure.explanation.failed_gates) or "nothing that was checked"
    return _default(failure, "failed check", f"failed at {gates}", None)


def _default(failure: Failure, kind: str, text: str, message: int | None) -> Finding:
    more = (*_facts(failure), BY_DEFAULT)
    kind = f"{kind}, by default"
    return _blame("agent", kind, text, message=message, evidence=more, grade="undecided")


def _short(call: Tau2ToolCall) -> str:
    """Return a call by its tool and its record; one without a record with what fits in a line."""
    about = words.record(call)
    if about is not None:
        return f"{call['name']}({about})"
    given = {k: v for k, v in call["arguments"].items() if k not in words.OWNERS}
    return excerpt(render_call({**call, "arguments": given}), 60)


def _facts(failure: Failure) -> Iterator[str]:
    """Yield what was made wrong and what is missing."""
    for pair in failure.pairs:
        yield f"message {pair.made.message_index}: {render_call(pair.made.call)}"
        yield from (f"  {each}" for each in pair.differences)
    for made in failure.extra:
        yield f"message {made.message_index}: {render_call(made.call)}"
    yield from _missing(failure)


def _missing(failure: Failure) -> Iterator[str]:
    return (f"missing: {render_call(call)}" for call in failure.missing)


STEPS: tuple[CauseStep, ...] = (
    no_verdict,
    forbidden_write,
    value_from_nowhere,
    language_not_read,
    left_while_agreeing,
    another_right_end,
    unsound_task,
    choice_left_open,
    value_invented_by_the_user,
    used_up_the_limit,
    changes_its_mind,
    transferred_with_work_left,
    wrong_write,
    missing_write,
    not_said,
    left_over,
)
