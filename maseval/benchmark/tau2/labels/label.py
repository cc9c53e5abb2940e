"""Labels for failed simulations: the first rule that applies decides.

The rules stand in a fixed order, from what is certain to what needs judgement. A simulation that
none of them fits is ``unclear``, which is a label like the others.
"""

from collections.abc import Mapping, Sequence
from typing import Unpack

from maseval.benchmark.tau2.conversation.recording import HasSimulation
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.explain.explaining import explain_subject
from maseval.benchmark.tau2.explain.explanation import Explanation
from maseval.benchmark.tau2.explain.findings import CaseKeywords, score_case
from maseval.benchmark.tau2.labels.agent_faults import AGENT_RULES, SHOWN_RULES
from maseval.benchmark.tau2.labels.failure import Failure, Label, LabelRule
from maseval.benchmark.tau2.labels.outer_faults import (
    INFRASTRUCTURE_RULES,
    POLICY_RULES,
    TASK_RULES,
    value_nobody_can_know,
)
from maseval.benchmark.tau2.labels.unclear_faults import DOUBT_RULES, out_of_scope
from maseval.benchmark.tau2.labels.user_faults import USER_RULES

RULES: Sequence[LabelRule] = (
    *INFRASTRUCTURE_RULES,
    *TASK_RULES,
    *USER_RULES,
    *SHOWN_RULES,
    out_of_scope,
    value_nobody_can_know,
    *POLICY_RULES,
    *DOUBT_RULES,
    *AGENT_RULES,
)


def label(
    simulation: Mapping[str, object] | HasSimulation,
    *,
    domain: str | Domain,
    **keywords: Unpack[CaseKeywords],
) -> Label | None:
    """Say who failed in a simulation, and how; None if it passed.

    The arguments are those of ``score_simulation``.
    """
    return explain_and_label(simulation, domain=domain, **keywords)[1]


def explain_and_label(
    simulation: Mapping[str, object] | HasSimulation,
    *,
    domain: str | Domain,
    **keywords: Unpack[CaseKeywords],
) -> tuple[Explanation, Label | None]:
    """Explain and label a simulation at once, for the price of one."""
    subject = score_case(simulation, domain, **keywords)
    explanation = explain_subject(subject)
    if explanation.passed:
        return explanation, None
    failure = Failure(subject, explanation)
    for rule in RULES:
        found = rule(failure)
        if found is not None:
            return explanation, found
    evidence = (f"failed at {', '.join(explanation.failed_gates)}",)
    return explanation, Label("unclear", "no rule applies", "none", evidence)
