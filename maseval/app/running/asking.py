"""The question of a run with the verdicts of its baseline, for the run's configuration."""

from collections.abc import Collection, Mapping, Sequence

from maseval.app.comparing.compared_runs import read_outcomes
from maseval.app.comparing.screening import Screening
from maseval.app.results.until import Until
from maseval.app.running.questions import AskedQuestion, QuestionOptions, read_question, read_until
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome
from maseval.runs.config import UNTIL
from maseval.stats.boundaries import Spending
from maseval.stats.sequential_plan import SequentialPlan

_SPENDING: dict[str, Spending] = {"obrien-fleming": "O'Brien-Fleming", "pocock": "Pocock"}


def question_config(
    options: QuestionOptions, tasks: Mapping[str, Collection[str]]
) -> dict[str, object]:
    """Return the ``until`` of a run's configuration; nothing for a run of a fixed size.

    ``tasks`` are the ids of the run's tasks by domain; a baseline is compared in these alone.
    """
    if options.question is not None:
        return {UNTIL: Until(k=read_question(options.question)).to_config()}
    if options.until is None:
        return {}
    return {UNTIL: _sequential(options, read_until(options.until), tasks).to_config()}


def _sequential(
    options: QuestionOptions, asked: AskedQuestion, tasks: Mapping[str, Collection[str]]
) -> Until:
    looks, spending = tuple(range(1, options.trials + 1)), _SPENDING[options.spending]
    if not asked.how:
        return Until(
            SequentialPlan(
                "precision",
                looks,
                half_width=asked.points / 100,
                claim="on tasks like these" if asked.wide else "on these tasks",
                spending=spending,
            )
        )
    name, baseline = _read_baseline(asked.run, tasks)
    if options.screening is not None and name in Screening.read(options.screening).learned_from:
        raise ConfigurationError(
            f"{options.screening} was learned from the baseline {name} too, whose luck it would "
            "favour; learn it from other runs"
        )
    most = max(each.trial for each in baseline) + 1
    plan = SequentialPlan(
        "better" if asked.how == "better" else "not worse",
        looks,
        baseline_trials=most,
        margin=(options.margin or 0) / 100,
        spending=spending,
    )
    return Until(plan, 0, baseline, name)


def _read_baseline(run: str, tasks: Mapping[str, Collection[str]]) -> tuple[str, Sequence[Outcome]]:
    found = read_outcomes(run)
    wanted = {(domain, task) for domain, ids in tasks.items() for task in ids}
    shared = [each for each in found.outcomes if (each.group, each.task) in wanted]
    lacking = wanted - {(each.group, each.task) for each in shared if each.passed is not None}
    if lacking:
        domain, task = min(lacking)
        raise ConfigurationError(
            f"the baseline {run} has no verdict on {len(lacking)} of the {len(wanted)} tasks, such "
            f"as {domain}/{task}; choose tasks that it has (--task-id), or another baseline"
        )
    return found.name, shared
