"""The cause of a failure: who failed, by the first step that answers, of steps in their order.

Each step is a fact that decides, recomputed from the record. Where none does, the finding says so,
with what is wrong and what is missing: who is to blame for that is language, which a judge reads.
Where the task is wrong and the corrected one passes, the task stands first. docs/how-we-know.md has
the rate of each step.

Several facts are not steps because they were wrong as often as right: that the agent never looked
something up, that the steps were used up, and the amounts in a call, which are the agent's
arithmetic. A new step should first be right in nine of ten conversations that it was not made from.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Unpack

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.formats.message import Tau2ToolCall, render_call
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.review.causes.failure import Failure, is_id
from maseval.benchmark.tau2.review.explain.explanation import Explanation, explain_subject
from maseval.benchmark.tau2.review.explain.scored_case import (
    CaseKeywords,
    ScoredCase,
    score_case,
    score_corrected,
)
from maseval.benchmark.tau2.review.values import OWNERS, record, telling_values
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


# If it is known what is right, a conversation that is not that either is held against what is
# right.
def _cause(subject: ScoredCase, explanation: Explanation) -> Finding:
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

_LIMITS = (TerminationReason.MAX_STEPS, TerminationReason.TOO_MANY_ERRORS)
# So many equal calls in a row are no retry any more.
_LOOP = 5


# The rule of a finding is the name of its step, filled in where the steps are asked.
def _blame(
    who: Who,
    kind: str,
    text: str,
    *,
    message: int | None = None,
    grade: Grade = "proven",
    evidence: tuple[str, ...] = (),
) -> Finding:
    return Finding("cause", who, kind, "", text, grade=grade, message=message, evidence=evidence)


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
    return _blame("infrastructure", kind, text, message=at)


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
    # A refused call counts if its tool is still missing: the value may be why it was refused.
    refused = [each for each in failure.tried if each.failed and each.call["name"] in missing]
    for made in (*failure.wrong, *refused):
        if made.call["requestor"] != "assistant":
            continue
        for value in telling_values(made.call["arguments"]):
            if is_id(value) and not failure.agent_can_have(value, made.message_index):
                how = "which the tool refused" if made.failed else "which nobody gave the agent"
                text = f"{made.call['name']} has {value!r}, {how}"
                at, more = made.message_index, tuple(_facts(failure))
                return _blame("agent", "invented value", text, message=at, evidence=more)
    return None


# -- the task ----------------------------------------------------------------


def another_right_end(failure: Failure) -> Finding | None:
    """It ended in another way that is as right.

    An agent that did nothing may have come to it by chance.
    """
    sound = failure.explanation.sound
    if sound is None or sound.kind == LEFT_OUT:
        return None
    if failure.nothing_wrong_written and not failure.did_its_part:
        return _undecided(failure, f"{sound.text}; the record does not show if it was meant")
    return _blame("task", "right in another way", sound.text)


# Reasons for which nobody can pass, whatever is written.
_IMPOSSIBLE = ("gold impossible", "text to be told is wrong")


def unsound_task(failure: Failure) -> Finding | None:
    """Nobody can pass the task, whatever is written."""
    sound = failure.explanation.sound
    if sound is None or sound.kind != LEFT_OUT or not sound.text.startswith(_IMPOSSIBLE):
        return None
    circles = went_in_circles(failure)
    known = _blame("task", "unsound", sound.text, evidence=tuple(_facts(failure)))
    if circles is None:
        return known
    return replace(known, also="agent", evidence=(circles.text, *known.evidence))


def choice_left_open(failure: Failure) -> Finding | None:
    """Only what the domain leaves to the user differs, and the task does not say which."""
    differences = [(pair, each) for pair in failure.pairs for each in pair.choices]
    # If another write is missing or wrong, the choice did not decide the failure.
    if not differences or failure.untouched or failure.extra:
        return None
    choices = failure.case.setting.domain.choices
    for pair, each in differences:
        tool, argument = pair.made.call["name"], each.argument
        if not any(choice.allows(tool, argument, failure.scenario) for choice in choices):
            return None
    at = failure.pairs[0].made.message_index
    return _undecided(failure, f"{differences[0][1]}; the task does not say which", at)


# -- the user ----------------------------------------------------------------


def value_invented_by_the_user(failure: Failure) -> Finding | None:
    """The user gave an id or address that task, tools and agent do not have, and it was written."""
    for value, at in failure.invented_values():
        used = (e for e in failure.wrong if value in telling_values(e.call["arguments"]))
        if any(used):
            return _blame(
                "user",
                "invented fact",
                f"the user gives {value!r}, which is not in its task",
                message=at,
            )
    return None


# -- the agent ---------------------------------------------------------------


def went_in_circles(failure: Failure) -> Finding | None:
    """The steps or the failed calls were used up, and the last calls are identical."""
    calls = failure.talk.calls[::-1]
    if failure.ending not in _LIMITS or not calls:
        return None
    last = [*takewhile(lambda e: render_call(e.call) == render_call(calls[0].call), calls)]
    if len(last) < _LOOP or last[0].call["requestor"] != "assistant":
        return None
    return _blame(
        "agent",
        "went in circles",
        f"{_cut_off(failure)}, the last {len(last)} calls identical: {render_call(last[0].call)}",
        message=last[-1].message_index,
    )


def _cut_off(failure: Failure) -> str:
    return f"cut off after {len(failure.messages)} messages ({failure.ending})"


def transferred_with_work_left(failure: Failure) -> Finding | None:
    """The agent handed over to a human, and something is missing.

    Where the task is doubtful, the agent may have been right.
    """
    at, unsaid = failure.transferred_at, failure.explanation.to_be_said
    if at is None or not (failure.missing or unsaid):
        return None
    left = [_short(call) for call in failure.missing] or [f"saying {unsaid[0]!r}"]
    text = f"the agent transfers to a human in message {at} with work left: {left[0]}"
    if failure.explanation.sound is not None:
        return _undecided(failure, text, at)
    more = tuple(_facts(failure))
    return _blame("agent", "transferred too early", text, message=at, evidence=more)


# -- what the record does not decide -----------------------------------------


def not_decided(failure: Failure) -> Finding:
    """No fact decides: what is wrong or missing is named, and nobody is blamed."""
    return _undecided(failure, *_main_fact(failure))


def _main_fact(failure: Failure) -> tuple[str, int | None]:
    if failure.ending in _LIMITS:
        return _cut_off(failure), None
    for pair in failure.pairs:
        differing = "; ".join(map(str, pair.choices or pair.differences))
        return f"{_short(pair.made.call)} has {differing}", pair.made.message_index
    for made in failure.wrong:
        return f"{_short(made.call)} was not wanted", made.message_index
    for call in failure.missing:
        refused = [e for e in failure.tried if e.failed and e.call["name"] == call["name"]]
        if refused:
            why = excerpt(refused[-1].answer, 120)
            text = f"the tool refused {_short(refused[-1].call)}: {why}"
            return text, refused[-1].message_index
        return f"{_short(call)} was not made", None
    if unsaid := failure.explanation.to_be_said:
        return f"the agent never said {', '.join(map(repr, unsaid))}", None
    gates = ", ".join(failure.explanation.failed_gates) or "nothing that was checked"
    return f"failed at {gates}", None


NOT_DECIDED = "not decided by records"


def _undecided(failure: Failure, text: str, message: int | None = None) -> Finding:
    evidence = tuple(_facts(failure))
    return _blame(
        "unclear", NOT_DECIDED, text, message=message, grade="undecided", evidence=evidence
    )


def _short(call: Tau2ToolCall) -> str:
    about = record(call)
    if about is not None:
        return f"{call['name']}({about})"
    given = {k: v for k, v in call["arguments"].items() if k not in OWNERS}
    return excerpt(render_call({**call, "arguments": given}), 60)


def _facts(failure: Failure) -> Iterator[str]:
    for pair in failure.pairs:
        yield f"message {pair.made.message_index}: {render_call(pair.made.call)}"
        yield from (f"  {each}" for each in pair.differences)
    for made in failure.extra:
        yield f"message {made.message_index}: {render_call(made.call)}"
    yield from (f"missing: {render_call(call)}" for call in failure.missing)


# The first answer counts, so what is recomputed comes before what has to be weighed.
STEPS: tuple[CauseStep, ...] = (
    no_verdict,
    forbidden_write,
    value_from_nowhere,
    another_right_end,
    unsound_task,
    choice_left_open,
    value_invented_by_the_user,
    went_in_circles,
    transferred_with_work_left,
    not_decided,
)
