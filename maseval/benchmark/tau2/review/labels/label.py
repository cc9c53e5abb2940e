"""Labels for failed simulations: the first rule that applies decides.

The rules stand in a fixed order, from what is certain to what needs judgement. A simulation that
none of them fits is ``unclear``, which is a label like the others.
"""

from collections.abc import Mapping, Sequence
from typing import Unpack

from maseval.benchmark.tau2.conversation.recording import HasSimulation
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.review.explain.explaining import explain_subject
from maseval.benchmark.tau2.review.explain.explanation import Explanation
from maseval.benchmark.tau2.review.explain.scored_case import (
    CaseKeywords,
    ScoredCase,
    score_case,
    score_corrected,
)
from maseval.benchmark.tau2.review.labels import (
    agent_faults,
    choices,
    instructed,
    options,
    other_record,
    outer_faults,
    statements,
    unattributed_failures,
    user_faults,
)
from maseval.benchmark.tau2.review.labels.failure import Failure, LabelRule
from maseval.stats.failure_labels import Label

RULES: Sequence[LabelRule] = (
    outer_faults.nothing_recorded,
    outer_faults.ended_from_outside,
    outer_faults.cut_off_when_done,
    outer_faults.cannot_be_replayed,
    outer_faults.gold_cannot_be_reached,
    outer_faults.text_that_cannot_match,
    outer_faults.gold_raises,
    outer_faults.another_right_end,
    outer_faults.payment_left_open,
    unattributed_failures.language_not_read,
    user_faults.empty_turns,
    agent_faults.agreed_and_forgotten,
    user_faults.stopped_before_the_action,
    agent_faults.wrong_proposal,
    user_faults.left_too_early,
    instructed.left_when_told,
    user_faults.invented_facts,
    user_faults.turned_the_right_value_down,
    user_faults.never_acted,
    user_faults.change_of_mind_missed,
    statements.false_statement,
    statements.price_not_told,
    choices.named_by_the_user,
    agent_faults.said_and_not_done,
    agent_faults.forbidden_write,
    agent_faults.made_impossible,
    agent_faults.transferred_at_once,
    outer_faults.value_nobody_can_know,
    outer_faults.gold_against_the_policy,
    options.named_other_options,
    options.turned_down_for_options,
    unattributed_failures.write_of_the_user,
    unattributed_failures.same_outcome,
    choices.chosen_by_the_user,
    unattributed_failures.led_astray,
    unattributed_failures.asked_for_a_human,
    agent_faults.never_looked_up,
    user_faults.turned_down_by_the_user,
    choices.agreed_to_by_the_user,
    unattributed_failures.reported_without_looking,
    instructed.told_and_not_done,
    agent_faults.ran_out_of_steps,
    agent_faults.too_many_errors,
    other_record.acted_on_another_record,
    outer_faults.nothing_else_is_missing,
    agent_faults.transferred_too_early,
    agent_faults.information_not_given,
    agent_faults.wrong_arguments,
    agent_faults.refused_wrongly,
    agent_faults.extra_write,
    agent_faults.never_read,
    user_faults.never_asked,
    agent_faults.missing_write,
    agent_faults.permanent_write,
    agent_faults.other_values,
    outer_faults.task_left_out,
    unattributed_failures.out_of_scope,
)


def meaning_of(rule: str) -> str | None:
    """Return in a sentence when a rule applies, by its name; None if there is no such rule."""
    docs = (each.__doc__ for each in RULES if each.__name__.replace("_", " ") == rule)
    return next(filter(None, docs), None)


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
    return explain_and_label_scored(score_case(simulation, domain, **keywords))


def explain_and_label_scored(subject: ScoredCase) -> tuple[Explanation, Label | None]:
    """Explain and label a case that is scored already."""
    explanation = explain_subject(subject)
    if explanation.passed:
        return explanation, None
    return explanation, _label(subject, explanation)


def _label(subject: ScoredCase, explanation: Explanation) -> Label:
    """Return the label of the first rule that applies.

    If the task is wrong and it is known what is right, a conversation that is not that either is
    held against what is right.
    """
    failure = Failure(subject, explanation)
    corrected = score_corrected(subject) if explanation.sound is None else None
    if corrected is not None and explanation.replay_fault is None:
        held = Failure(corrected, explain_subject(corrected))
        # What the task itself wants cannot be held against anybody.
        wanted = any(failure.is_gold(call) for _, call in held.wrong_writes)
        failure = failure if held.explanation.passed or wanted else held
    for rule in RULES:
        found = rule(failure)
        if found is not None:
            return found
    evidence = (f"failed at {', '.join(explanation.failed_gates)}",)
    return Label("unclear", "no rule applies", "none", evidence)
