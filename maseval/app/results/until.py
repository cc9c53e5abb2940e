"""Runs that end when their question is answered: trials in rounds, and a look after each.

The question is part of the run's configuration, with the verdicts of the baseline that it is about,
so that the log alone says what was decided and why. A round is complete when each of its
simulations is recorded; one that failed through no fault of the agent has no verdict at the look.
It is tried again only while nothing of a later round is there, and never after the last look: what
was looked at stays as it was. So a run that is killed anywhere and resumed decides the same.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from maseval.app.results.examined import outcomes_by
from maseval.app.results.measured import measure_named
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, Simulation, TaskKey
from maseval.core.recorded import mapping
from maseval.core.words import between, in_points, percent, text_or_none
from maseval.runs.config import UNTIL, RunConfig
from maseval.runs.folder import RunFolder
from maseval.runs.recording import Recording
from maseval.stats import Measure
from maseval.stats.sequential import Decision, SequentialPlan, decide

_VERDICTS = {"1": True, "0": False, "-": None}

RunRound = Callable[[Collection[Simulation], bool], bool]
"""Runs simulations, again those that failed if that is asked; False if the run is to stop."""


@dataclass(frozen=True)
class Until:
    """The question of a sequential design, against the ``baseline`` if it compares."""

    plan: SequentialPlan
    baseline: Sequence[Outcome] = ()
    baseline_name: str = ""
    measure: str | None = None
    """The number that it is about, where that is not the verdict."""

    @classmethod
    def of(cls, config: RunConfig) -> "Until | None":
        """Return the question of a run; None if it is of a fixed size."""
        values = config.values.get(UNTIL)
        if values is None:
            return None
        try:
            known = {**values["plan"], "looks": tuple(values["plan"]["looks"])}
            for former in ("spending", "futility"):  # of earlier versions, and at their defaults
                known.pop(former, None)
            old = mapping(values.get("baseline"))
            verdicts = mapping(old.get("verdicts"))
            measure = text_or_none(values.get("measure"))
            name = str(old.get("name", ""))
            return cls(SequentialPlan(**known), _outcomes(verdicts), name, measure)
        except (KeyError, TypeError, ValueError) as error:
            raise ConfigurationError(
                f"the configuration's {UNTIL!r} cannot be read ({error}); give what "
                "Until.to_config() returns"
            ) from None

    def to_config(self) -> dict[str, Any]:
        """Return the ``until`` of a run's configuration."""
        values: dict[str, Any] = {"question": self.plan.question, "plan": asdict(self.plan)}
        if self.measure is not None:
            values["measure"] = self.measure
        if self.baseline:
            values["baseline"] = {"name": self.baseline_name, "verdicts": _verdicts(self.baseline)}
        return values

    def round(self, number: int, planned: Iterable[Simulation]) -> list[Simulation]:
        """Return the simulations of a round, counted from 1."""
        # Rounds are counted from 1: with a 0 in front, each begins where the one before ended.
        first, last = (0, *self.plan.looks)[number - 1], self.plan.looks[number - 1]
        return [one for one in planned if first <= one.trial < last]

    def look(
        self, number: int, planned: Collection[Simulation], outcomes: Sequence[Outcome]
    ) -> "dict[str, Any] | None":
        """Return the ``stopped`` of the configuration if the run ends with this look, else None."""
        known = [each for each in outcomes if each.trial < self.plan.looks[number - 1]]
        found = decide(self.plan, number, known, self.baseline)
        if not found.stops:
            return None
        left = sum(one.trial >= self.plan.looks[number - 1] for one in planned)
        return {
            "trials": self.plan.looks[number - 1],
            "not_run": left,
            "outcome": found.outcome,
            "reason": _reason(found, self.measure),
            "decision": _decision_form(found),
        }


def run_rounds(
    folder: RunFolder,
    run_round: RunRound,
    outcomes: Callable[[], Sequence[Outcome]],
    *,
    retry_failed: bool = True,
) -> None:
    """Run round after round into the folder until the question of its run is answered.

    ``outcomes`` returns those of all that is recorded, of earlier sessions as they hold.
    """
    until = Until.of(folder.config)
    if until is None or folder.config.stopped is not None:
        return
    planned = list(folder.planned)
    # A name that the benchmark does not know is refused before anything runs.
    measure = None if until.measure is None else verdict_named(folder, until.measure)
    for number, trials in enumerate(until.plan.looks, 1):
        wanted = until.round(number, planned)
        later = any(one.trial >= trials for one in folder.recorded)
        if not run_round(wanted, retry_failed and not later):
            return
        known = outcomes_by(folder, outcomes(), measure)
        if stopped := until.look(number, planned, known):
            folder.stop(stopped)
            return


def verdict_named(recording: Recording, name: str) -> Measure | None:
    """Return the measure that a question is about; the tests of looks are for verdicts alone."""
    found = measure_named(recording, name)
    if found is not None and found.kind != "verdict":
        raise ConfigurationError(
            f"--until cannot be about {name!r}, a {found.kind}; name a verdict"
        )
    return found


def _reason(found: Decision, measure: str | None) -> str:
    """Return why the run ended, with the estimate as it is after the looks."""
    name, reason = measure or "pass^1", found.reason
    if measure is not None:
        reason = reason.replace("pass^1", measure)
    if found.estimate is None or found.interval is None:
        return reason
    low, high = found.interval.low, found.interval.high
    if found.plan.question == "precision":
        size = f"{name} {percent(found.estimate)} {between(low, high)}"
        return f"{size} {found.plan.claim}; {reason}"
    about = "the difference is" if measure is None else f"the difference in {measure} is"
    size = f"{in_points(found.estimate)} points, {in_points(low)} to {in_points(high)}"
    return f"{reason}; {about} {size}, adjusted for the looks, {found.plan.claim}"


def _decision_form(found: Decision) -> dict[str, Any]:
    span = found.interval
    return {
        "look": len(found.looks),
        "of": len(found.plan.looks),
        "estimate": found.estimate,
        "low": None if span is None else span.low,
        "high": None if span is None else span.high,
        "p_value": found.p_value,
        "method": found.method,
        "interval": None if span is None else span.method,
        "looks": [asdict(each) for each in found.looks],
        "notes": list(found.notes),
    }


def _verdicts(outcomes: Iterable[Outcome]) -> dict[str, dict[str, str]]:
    """Write the verdicts of each task as a word with a letter for each trial, such as ``11-0``."""
    letters = {verdict: letter for letter, verdict in _VERDICTS.items()}
    tasks: dict[TaskKey, dict[int, str]] = {}
    for each in outcomes:
        tasks.setdefault(each.key, {})[each.trial] = letters[each.passed]
    found: dict[str, dict[str, str]] = {}
    for key, mine in tasks.items():
        # A gap is written as a trial without a verdict: every letter keeps its place.
        word = "".join(mine.get(trial, "-") for trial in range(max(mine) + 1))
        found.setdefault(key.domain, {})[key.task_id] = word
    return found


def _outcomes(verdicts: Mapping[str, Any]) -> list[Outcome]:
    return [
        Outcome(group, task, trial, passed=_VERDICTS[letter])
        for group, words in verdicts.items()
        for task, word in words.items()
        for trial, letter in enumerate(word)
    ]
