"""Numbers beside the official one, each under its own name; none ever replaces it.

The official number counts every simulation by the benchmark's own verdict. A *variant* counts the
same simulations otherwise: by the findings about each, it turns a verdict round or leaves it out.
All have intervals by the method of the official number.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from maseval.core.finding import LEFT_OUT, SOUND_FAIL, SOUND_PASS, Finding
from maseval.core.outcome import Outcome, Simulation
from maseval.core.words import count_of
from maseval.stats import Estimate, summarise
from maseval.stats.summary import estimate
from maseval.stats.trials import by_task

OFFICIAL = "official"

Findings = Mapping[Simulation, Sequence[Finding]]


@dataclass(frozen=True)
class Variant:
    """A way to count: ``apply`` returns an outcome as it counts, None if it does not.

    With ``whole_tasks``, a task of which one trial is left out is left out with all its trials.
    """

    name: str
    meaning: str
    apply: Callable[[Outcome, Sequence[Finding]], Outcome | None]
    whole_tasks: bool = False


def _fail_breaches(
    outcome: Outcome, findings: Sequence[Finding], undecided: bool = False
) -> Outcome:
    policy = [each for each in findings if each.source == "policy"]
    decided = policy if undecided else [each for each in policy if each.grade != "undecided"]
    broken = any(each.weight == "state" for each in decided)
    return outcome._replace(passed=False) if broken and outcome.passed else outcome


def _judge_soundly(outcome: Outcome, findings: Sequence[Finding]) -> Outcome | None:
    kinds = {each.kind for each in findings if each.source == "erratum"}
    if LEFT_OUT in kinds:
        return None
    if outcome.passed is None or not kinds & {SOUND_PASS, SOUND_FAIL}:
        return outcome
    return outcome._replace(passed=SOUND_PASS in kinds)


WITHOUT_BREACHES = Variant(
    "without breaches found",
    "a pass counts only if no breach about state or money was found: an upper bound, as there may "
    "be breaches that no rule finds",
    _fail_breaches,
)
IF_UNDECIDED = Variant(
    "without breaches found, if every undecided case were a breach",
    "the same, counting as a breach what the record does not decide",
    partial(_fail_breaches, undecided=True),
)
SOUND = Variant(
    "over sound tasks",
    "tasks on which no verdict can be right are left out, and other faulty tasks are scored "
    "as corrected",
    _judge_soundly,
    whole_tasks=True,
)


@dataclass(frozen=True)
class VariantScore:
    """pass^k of a domain, or of all, as a variant counts; the first is the official one.

    ``left_out_tasks`` have no simulation that counts, ``left_out`` is the number of simulations
    with a verdict that do not. ``differing`` verdicts are not the official ones.
    """

    domain: str
    counted: str
    tasks: int
    simulations: int
    pass_hat: Mapping[int, Estimate]
    left_out_tasks: int = 0
    left_out: int = 0
    differing: int = 0

    @property
    def is_official(self) -> bool:
        return self.counted == OFFICIAL

    @property
    def same(self) -> bool:
        """True if it counts what the official number counts."""
        return not self.left_out and not self.differing

    @property
    def effect(self) -> str:
        """A phrase on what is not as in the official number."""
        left_out = f"{count_of(self.left_out_tasks, 'task')} left out, " * bool(self.left_out)
        differ = "verdict differs" if self.differing == 1 else "verdicts differ"
        return f"{left_out}{self.differing} {differ}"

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
        values = {f"pass^{k}": each.in_brief() for k, each in self.pass_hat.items()}
        return {"domain": self.domain, "counted": self.counted, **self.counts, **values}


def variant_scores(
    outcomes: Sequence[Outcome],
    findings: Findings,
    variants: Sequence[Variant],
    planned: Iterable[Simulation] | None = None,
) -> list[VariantScore]:
    """Return the official number of each domain, and of all, each with its variants below it."""
    if planned is not None:
        planned = dict.fromkeys(planned)
        outcomes = [e for e in outcomes if (e.domain, e.task_id, e.trial) in planned]
    if not outcomes:
        return []
    found = []
    groups = summarise(outcomes, planned=planned).groups
    every = [each for each in outcomes if each.passed is not None]
    kept = {each.name: outcomes_by(each, every, findings) for each in variants}
    for group in groups:
        official, judged = group.pass_hat, _of_group(every, group.group)
        tasks = len({(each.domain, each.task_id) for each in judged})
        found.append(VariantScore(group.name, OFFICIAL, tasks, len(judged), official))
        for counted, some in kept.items():
            mine = _of_group(some, group.group)
            found.append(_score(group.name, counted, judged, mine, official))
    return found


def outcomes_by(variant: Variant, outcomes: Iterable[Outcome], findings: Findings) -> list[Outcome]:
    """Return the outcomes that count by a variant, as they count."""
    applied = [(e, variant.apply(e, findings.get(e.simulation, ()))) for e in outcomes]
    left_out = {each.key for each, new in applied if new is None and variant.whole_tasks}
    return [new for _, new in applied if new is not None and new.key not in left_out]


def _of_group(outcomes: Sequence[Outcome], group: str | None) -> Sequence[Outcome]:
    return outcomes if group is None else [each for each in outcomes if each.domain == group]


def _score(
    domain: str,
    counted: str,
    judged: Sequence[Outcome],
    kept: Sequence[Outcome],
    official: Mapping[int, Estimate],
) -> VariantScore:
    """Count what is ``kept`` of all with a verdict; a task with fewer than k trials has no say."""
    verdicts = {(each.domain, each.task_id, each.trial): each.passed for each in judged}
    trials = [*by_task(kept).values()]
    differing = sum(each.passed != verdicts[each.domain, each.task_id, each.trial] for each in kept)
    pass_hat = official  # what is the same is estimated once
    if differing or len(kept) < len(judged):
        enough = {k: [each for each in trials if each.total >= k] for k in official}
        pass_hat = {k: estimate(some, k) for k, some in enough.items() if some}
    return VariantScore(
        domain,
        counted,
        len(trials),
        len(kept),
        pass_hat,
        len({(each.domain, each.task_id) for each in judged}) - len(trials),
        len(judged) - len(kept),
        differing,
    )


def variants_of_all(scores: Sequence[VariantScore]) -> list[VariantScore]:
    """Return the numbers beside the official one over all domains.

    What undecided cases change is left out where it is nothing.
    """
    others = [e for e in scores if not e.is_official and e.domain == scores[-1].domain]
    decided = sum(each.differing for each in others if each.counted == WITHOUT_BREACHES.name)
    return [e for e in others if e.counted != IF_UNDECIDED.name or e.differing > decided]


def variant_rows(scores: Sequence[VariantScore]) -> list[dict[str, Any]]:
    """Return the variants that differ in the form of the HTML report."""
    return [
        {
            "name": each.counted,
            "tasks": each.tasks,
            "simulations": each.simulations,
            **{f"pass^{k}": value.in_brief() for k, value in each.pass_hat.items()},
        }
        for each in variants_of_all(scores)
        if not each.same
    ]


def variant_notes(scores: Sequence[VariantScore]) -> list[str]:
    """Say what each variant changes, if there are any."""
    every = variants_of_all(scores)
    if told := "; ".join(f"{each.counted}: {each.effect}" for each in every):
        words = "These are additional numbers; the official one is unchanged."
        return [f"{told[0].upper()}{told[1:]}. {words}"]
    return []
