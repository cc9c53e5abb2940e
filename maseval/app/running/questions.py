"""The question of a run: ``--until`` and ``--question``, and what its configuration keeps of it."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from maseval.app.running.options import TASKS, Flag
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome
from maseval.runs.config import UNTIL

USUAL_TRIALS = 4
_COMPARISON = re.compile(r"(?P<how>better|not-worse)-than[ =](?P<run>.+)")
_WIDTH = re.compile(
    r"(?:±|\+/?-|within )\s*(?P<points>\d{1,3}(?:\.\d+)?)\s*(?:points?|pp|%)?"
    r"(?P<wide> on tasks like these)?(?: on these tasks)?"
)
_PASS_HAT = re.compile(r"pass\^(?P<k>[1-9]\d{0,2})")
FORMS = "better-than RUN, not-worse-than RUN with --margin 5, or '±4'"


@dataclass(frozen=True, kw_only=True)
class QuestionOptions:
    """How often each task is run, or the question that decides it."""

    trials: Annotated[
        int, Flag("Trials per task", TASKS, short="-k", alias="num_trials", recorded=True)
    ] = 1
    until: Annotated[
        str | None,
        Flag(
            "Stop when it is answered: better-than RUN, not-worse-than RUN, '+-4' (points) or "
            "'+-4 on tasks like these'; --trials is the most per task (default: 4)",
            TASKS,
        ),
    ] = None
    margin: Annotated[
        float | None, Flag("Points that not-worse-than tolerates, such as 5", TASKS)
    ] = None
    question: Annotated[
        str | None,
        Flag("pass^4, or another k: a task stops at its first failure, and runs k times", TASKS),
    ] = None

    def question_config(self, tasks: Mapping[str, Collection[str]]) -> dict[str, object]:
        """Return the ``until`` of a run's configuration; nothing for a run of a fixed size.

        ``tasks`` are the ids of the run's tasks by domain; a baseline is compared in these alone.
        """
        if self.until is None and self.question is None:
            return {}
        from maseval.app.results.until import Until  # loads statistics that few runs need
        from maseval.stats.sequential_plan import SequentialPlan

        if self.question is not None:
            return {UNTIL: Until(k=read_question(self.question)).to_config()}
        asked, looks = read_until(str(self.until)), tuple(range(1, self.trials + 1))
        if not asked.how:
            plan = SequentialPlan(
                "precision",
                looks,
                half_width=asked.points / 100,
                claim="on tasks like these" if asked.wide else "on these tasks",
            )
            return {UNTIL: Until(plan).to_config()}
        name, baseline = _read_baseline(asked.run, tasks)
        plan = SequentialPlan(
            "better" if asked.how == "better" else "not worse",
            looks,
            baseline_trials=max(each.trial for each in baseline) + 1,
            margin=(self.margin or 0) / 100,
        )
        return {UNTIL: Until(plan, 0, baseline, name).to_config()}

    def meant_trials(self) -> int:
        """Return how many trials the options mean; raise for a question that makes no sense."""
        trials, until, question = self.trials, self.until, self.question
        if until is not None and question is not None:
            raise ConfigurationError("a run answers one question; give until or question, not both")
        if question is not None:
            k = read_question(question)
            if trials not in (1, k):
                raise ConfigurationError(
                    f"trials is {trials}, but tasks stop at their first failure only where "
                    f"{question} is asked of {k} trials; leave out --trials, or --question"
                )
            return k
        asked = read_until(until) if until is not None else AskedQuestion()
        if (asked.how == "not-worse") != (self.margin is not None):
            raise ConfigurationError(
                "margin is the loss in points that not-worse-than tolerates; give both, such as "
                "--until 'not-worse-than RUN' --margin 5"
            )
        if self.margin is not None and not 0 < self.margin < 100:
            raise ConfigurationError(f"margin is {self.margin:g}; give points, such as 5")
        return USUAL_TRIALS if until is not None and trials == 1 else trials


class AskedQuestion(NamedTuple):
    """An ``--until`` as it was typed: a comparison with a run, or a half-width in points."""

    how: str = ""
    run: str = ""
    points: float = 0.0
    wide: bool = False


def read_until(text: str) -> AskedQuestion:
    """Read ``better-than RUN``, ``not-worse-than RUN`` or ``±4``; raise for anything else."""
    if found := _COMPARISON.fullmatch(text.strip()):
        return AskedQuestion(found["how"], found["run"].strip())
    if (found := _WIDTH.fullmatch(text.strip())) and 0 < float(found["points"]) < 100:
        return AskedQuestion(points=float(found["points"]), wide=bool(found["wide"]))
    if "equal" in text or "same" in text:
        from maseval.stats.first_failures import EQUAL_OUTCOMES_REFUSED  # rarely needed

        raise ConfigurationError(f"until is {text!r}: {EQUAL_OUTCOMES_REFUSED} (question='pass^4')")
    raise ConfigurationError(f"until is {text!r}; give {FORMS}")


def read_question(text: str) -> int:
    """Return the k of ``pass^k``; raise for anything else."""
    if found := _PASS_HAT.fullmatch(text.strip()):
        return int(found["k"])
    raise ConfigurationError(f"question is {text!r}; give pass^4, or another k")


def _read_baseline(run: str, tasks: Mapping[str, Collection[str]]) -> tuple[str, Sequence[Outcome]]:
    from maseval.app.comparing.compared_runs import read_outcomes

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
