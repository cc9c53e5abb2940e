"""The cause of a failure: who failed, by the first step that answers."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Unpack

from maseval.benchmark.tau2.conversation.recording import HasSimulation
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.review.causes.failure import Failure
from maseval.benchmark.tau2.review.causes.steps import STEPS
from maseval.benchmark.tau2.review.explain.explaining import explain_subject
from maseval.benchmark.tau2.review.explain.explanation import Explanation
from maseval.benchmark.tau2.review.explain.scored_case import (
    CaseKeywords,
    ScoredCase,
    score_case,
    score_corrected,
)
from maseval.core.finding import Finding


def find_cause(
    simulation: Mapping[str, object] | HasSimulation,
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
