"""Numbers beside the official one: without the user's faults, and over sound tasks.

The official number counts every simulation by the benchmark's own verdict. Without user faults,
the simulations that failed by a fault of the simulated user are left out, as if they had not been
run. Over sound tasks, whole tasks are left out on which no verdict can be right, with their passes,
and the verdicts on the others are those that corrected tasks would give. Both have intervals by
the method of the official number, stand beside it under their own names, and never replace it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from maseval.core.outcome import Outcome
from maseval.core.words import count_of
from maseval.runs import Simulation
from maseval.stats import Estimate, summarise
from maseval.stats.estimation import estimate
from maseval.stats.trials import by_task

Counted = Literal["official", "without user faults", "over sound tasks"]
"""The simulations and verdicts that a number is over."""

KEYS: Mapping[Counted, str] = {
    "without user faults": "without_user_faults",
    "over sound tasks": "sound",
}
"""The names in JSON of all numbers but the official one."""

LEFT_OUT = "sound: left out"
SOUND_PASS = "sound: passed"
SOUND_FAIL = "sound: failed"
OF_USER = "user: "
"""The beginning of a label that says that the user failed."""


@dataclass(frozen=True)
class SoundCheck:
    """The sound verdict on a simulation.

    ``left_out`` if its task is unsound; else ``passed`` is None if there is no verdict. ``differs``
    if it is not the official one. ``reason`` says why.
    """

    left_out: bool = False
    passed: bool | None = None
    differs: bool = False
    reason: str | None = None

    @property
    def name(self) -> str | None:
        """The result in short, by which simulations can be filtered; None if nothing differs."""
        if self.left_out:
            return LEFT_OUT
        return (SOUND_PASS if self.passed else SOUND_FAIL) if self.differs else None

    def to_dict(self) -> dict[str, Any]:
        """Return the verdict as JSON values."""
        passed = None if self.left_out else self.passed
        return {"left_out": self.left_out, "sound_passed": passed, "reason": self.reason}


def check_by_labels(labels: Collection[str]) -> SoundCheck:
    """Return the sound verdict on a simulation whose labels are known."""
    if LEFT_OUT in labels:
        return SoundCheck(left_out=True)
    differs = SOUND_PASS in labels or SOUND_FAIL in labels
    return SoundCheck(passed=SOUND_PASS in labels, differs=differs)


@dataclass(frozen=True)
class ScoreBeside:
    """pass^k of a domain, or of all, over a part of the simulations; the first is the official one.

    ``left_out_tasks`` have no simulation that counts, ``left_out`` is the number of simulations
    with a verdict that do not. ``differing`` verdicts are not the official ones.
    """

    domain: str
    counted: Counted
    tasks: int
    simulations: int
    pass_hat: Mapping[int, Estimate]
    left_out_tasks: int = 0
    left_out: int = 0
    differing: int = 0

    @property
    def same(self) -> bool:
        """True if it counts what the official number counts."""
        return not self.left_out and not self.differing

    @property
    def effect(self) -> str:
        """A phrase on what is not as in the official number; empty if nothing is."""
        if self.counted == "over sound tasks":
            left_out = f"{count_of(self.left_out_tasks, 'task')} left out"
            differ = "verdict differs" if self.differing == 1 else "verdicts differ"
            return f"{left_out}, {self.differing} {differ}"
        if self.counted == "without user faults":
            return f"{count_of(self.left_out, 'simulation')} left out"
        return ""

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of what counts, and of what does not or counts otherwise."""
        return {
            "tasks": self.tasks,
            "simulations": self.simulations,
            "left_out_tasks": self.left_out_tasks,
            "left_out_simulations": self.left_out,
            "differing_verdicts": self.differing,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the number as JSON values, under its own name."""
        key = KEYS[self.counted]
        values = {f"{key}_pass^{k}": each.in_brief() for k, each in self.pass_hat.items()}
        return {"name": self.domain, **self.counts, **values}


def scores_beside(
    outcomes: Sequence[Outcome],
    planned: Iterable[Simulation] | None = None,
    *,
    user_faults: Collection[Simulation] | None = None,
    checks: Mapping[Simulation, SoundCheck] | None = None,
) -> list[ScoreBeside]:
    """Return the official number of each domain, and of all, with those beside it that are known.

    ``user_faults`` are the simulations in which the user failed, ``checks`` the sound verdicts.
    """
    if planned is not None:
        planned = trials_of_all(planned)
        outcomes = [e for e in outcomes if (e.group, e.task, e.trial) in planned]
    if not outcomes:
        return []
    found = []
    groups = summarise(outcomes, planned=planned, pass_at=False).groups
    every = [each for each in outcomes if each.passed is not None]
    kept: dict[Counted, list[Outcome]] = {}
    if user_faults is not None:
        kept["without user faults"] = [
            e for e in every if (e.group, e.task, e.trial) not in user_faults
        ]
    if checks is not None:
        kept["over sound tasks"] = sound_outcomes(every, checks)
    for group in groups:
        official = {
            e.k: e for e in group.estimates if e.measure == "pass^k" and e.value is not None
        }
        judged = _of_group(every, group.group)
        name, tasks = group.group or "all", len({(each.group, each.task) for each in judged})
        found.append(ScoreBeside(name, "official", tasks, len(judged), official))
        for counted, some in kept.items():
            found.append(_score(name, counted, judged, _of_group(some, group.group), official))
    return found


def _of_group(outcomes: Sequence[Outcome], group: str | None) -> Sequence[Outcome]:
    return outcomes if group is None else [each for each in outcomes if each.group == group]


def trials_of_all(planned: Iterable[Simulation]) -> dict[Simulation, None]:
    """Return the planned trials that every task has.

    They are all of them, unless tasks stopped at their first failure: then those that pass have
    more trials, and only the first ones are a fair sample.
    """
    every = dict.fromkeys(planned)
    counts = set(Counter(one[:2] for one in every).values())
    return every if len(counts) < 2 else {one: None for one in every if one.trial < min(counts)}


def sound_outcomes(
    outcomes: Iterable[Outcome], checks: Mapping[Simulation, SoundCheck]
) -> list[Outcome]:
    """Return the outcomes of sound tasks, with their sound verdicts."""
    unsound = {one[:2] for one, check in checks.items() if check.left_out}
    differing = {one[:]: check.passed for one, check in checks.items() if check.differs}
    kept = [each for each in outcomes if (each.group, each.task) not in unsound]
    return [_with_verdict(each, differing) for each in kept]


def rows_beside(scores: Sequence[ScoreBeside]) -> list[dict[str, Any]]:
    """Return the numbers over all domains in the form of the HTML report.

    One that counts what the official number counts has no row.
    """
    return [
        {
            "name": each.counted,
            "tasks": each.tasks,
            "simulations": each.simulations,
            **{f"pass^{k}": value.in_brief() for k, value in each.pass_hat.items()},
        }
        for each in _beside_overall(scores)
        if not each.same
    ]


def notes_beside(scores: Sequence[ScoreBeside]) -> list[str]:
    """Say what each number leaves out, if there are any beside the official one."""
    if told := "; ".join(f"{each.counted}: {each.effect}" for each in _beside_overall(scores)):
        words = "These numbers stand beside the official one and never replace it."
        return [f"{told[0].upper()}{told[1:]}. {words}"]
    return []


def _beside_overall(scores: Sequence[ScoreBeside]) -> list[ScoreBeside]:
    """Return the numbers beside the official one over all domains."""
    return [each for each in scores if each.counted in KEYS and each.domain == scores[-1].domain]


def scores_in_json(scores: Iterable[ScoreBeside]) -> dict[str, list[dict[str, Any]]]:
    """Return all numbers but the official ones as JSON values, each under its own name."""
    form: dict[str, list[dict[str, Any]]] = {}
    for each in scores:
        if each.counted in KEYS:
            form.setdefault(KEYS[each.counted], []).append(each.to_dict())
    return form


def _score(
    domain: str,
    counted: Counted,
    judged: Sequence[Outcome],
    kept: Sequence[Outcome],
    ks: Iterable[int],
) -> ScoreBeside:
    """Count what is ``kept`` of all with a verdict; a task with fewer than k trials has no say."""
    verdicts = {(each.group, each.task, each.trial): each.passed for each in judged}
    trials = [*by_task(kept).values()]
    pass_hat = {}
    for k in ks:
        enough = [each for each in trials if each.total >= k]
        if enough:
            pass_hat[k] = estimate(enough, "pass^k", k)
    return ScoreBeside(
        domain,
        counted,
        len(trials),
        len(kept),
        pass_hat,
        len({(each.group, each.task) for each in judged}) - len(trials),
        len(judged) - len(kept),
        sum(each.passed != verdicts[each.group, each.task, each.trial] for each in kept),
    )


def _with_verdict(
    outcome: Outcome, differing: Mapping[tuple[str, str, int], bool | None]
) -> Outcome:
    place = outcome.group, outcome.task, outcome.trial
    if outcome.passed is None or place not in differing:
        return outcome
    return outcome._replace(passed=differing[place])
