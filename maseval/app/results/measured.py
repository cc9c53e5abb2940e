"""The numbers of a run: the official one, and those that its benchmark declares beside it.

The official number counts every simulation by the benchmark's own verdict, and none ever replaces
it. A ``Measure`` counts the same simulations by another value: what evaluators recorded beside the
verdict, or, by the findings about each, a verdict that is turned round or left out. All have
intervals by the method of the official number.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from maseval.app.benchmarks import support_for
from maseval.core.exceptions import ConfigurationError
from maseval.core.finding import LEFT_OUT, SOUND_FAIL, SOUND_PASS, Finding
from maseval.core.outcome import Outcome, Simulation
from maseval.core.words import between, count_of, percent
from maseval.runs.recording import Recording
from maseval.stats import Estimate, Measure, summarise
from maseval.stats.clusters import counted_tasks
from maseval.stats.measures import Findings, Value, mean_of_quantity, measured, quantity
from maseval.stats.summary import estimate

OFFICIAL = "official"


def _fail_breaches(outcome: Outcome, findings: Sequence[Finding], undecided: bool = False) -> Value:
    policy = [each for each in findings if each.source == "policy"]
    decided = policy if undecided else [each for each in policy if each.grade != "undecided"]
    broken = any(each.weight == "state" for each in decided)
    return outcome.passed and not broken


def _judge_soundly(outcome: Outcome, findings: Sequence[Finding]) -> Value:
    kinds = {each.kind for each in findings if each.source == "erratum"}
    if LEFT_OUT in kinds:
        return None
    if outcome.passed is None or not kinds & {SOUND_PASS, SOUND_FAIL}:
        return outcome.passed
    return SOUND_PASS in kinds


WITHOUT_BREACHES = Measure(
    "without breaches found",
    "a pass counts only if no breach about state or money was found: an upper bound, as there may "
    "be breaches that no rule finds",
    value=_fail_breaches,
    by_findings=True,
)
IF_UNDECIDED = Measure(
    "without breaches found, if every undecided case were a breach",
    "the same, counting as a breach what the record does not decide",
    value=partial(_fail_breaches, undecided=True),
    by_findings=True,
)
SOUND = Measure(
    "over sound tasks",
    "tasks on which no verdict can be right are left out, and other faulty tasks are scored "
    "as corrected",
    value=_judge_soundly,
    whole_tasks=True,
    by_findings=True,
)


@dataclass(frozen=True)
class MeasuredScore:
    """A measure of a domain, or of all; the first is the official number, without a measure.

    ``left_out_tasks`` have no simulation that counts, ``left_out`` is the number of simulations
    with a verdict that do not. ``differing`` verdicts are not the official ones. ``pass_hat`` has
    the numbers by k; of a share and a quantity there is only the first. ``decided_by`` is what the
    official number counts, where the benchmark says so, and ``problem`` why a measure has none.
    """

    domain: str
    measure: Measure | None
    tasks: int
    simulations: int
    pass_hat: Mapping[int, Estimate]
    left_out_tasks: int = 0
    left_out: int = 0
    differing: int = 0
    decided_by: Measure | None = None
    problem: str = ""

    @property
    def counted(self) -> str:
        return OFFICIAL if self.measure is None else self.measure.name

    @property
    def is_official(self) -> bool:
        return self.measure is None

    @property
    def is_quantity(self) -> bool:
        return self.measure is not None and self.measure.kind == "quantity"

    @property
    def is_recorded(self) -> bool:
        """True if evaluators gave the values: a number of its own, even where it is the same."""
        return self.measure is not None and not self.measure.by_findings

    @property
    def same(self) -> bool:
        """True if it counts what the official number counts."""
        return not self.is_recorded and not self.left_out and not self.differing

    @property
    def effect(self) -> str:
        """A phrase on what is not as in the official number."""
        left_out = f"{count_of(self.left_out_tasks, 'task')} left out, " * bool(self.left_out)
        differ = "verdict differs" if self.differing == 1 else "verdicts differ"
        return f"{left_out}{self.differing} {differ}"

    @property
    def told(self) -> str:
        """A note for its reader: its meaning, or its effect on the official number."""
        if not self.is_recorded or self.measure is None:
            return f"{self.counted}: {self.effect}"
        return f"{self.counted}: {self._meaning_of(self.measure)}"

    @property
    def verdict(self) -> str | None:
        """What the official number counts, where the benchmark says so."""
        if self.decided_by is None:
            return None
        return f"pass^k is {self.decided_by.name}: {self._meaning_of(self.decided_by)}"

    def _meaning_of(self, measure: Measure) -> str:
        words, first = [measure.meaning, self.problem], self.pass_hat.get(1)
        if self.left_out and not self.problem:
            words.append(f"no value in {count_of(self.left_out, 'simulation')}")
        if measure.complement and first is not None and first.value is not None:
            span = between(1 - first.high, 1 - first.low)
            words.append(f"{measure.complement} {percent(1 - first.value)} {span}")
        if measure.kind == "quantity" and first is not None and first.value is not None:
            words.append(quantity(first.value, first.interval, measure.unit))
        return "; ".join(filter(None, words))

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
        values: dict[str, Any] = {f"pass^{k}": each.in_brief() for k, each in self.pass_hat.items()}
        if self.is_quantity and self.pass_hat:
            mean = self.pass_hat[1].to_dict()
            kept = {"value": mean["value"], "interval": mean["interval"], "tasks": self.tasks}
            values = {"mean": kept}
        return {"domain": self.domain, "counted": self.counted, **self.counts, **values}


def measured_scores(
    outcomes: Sequence[Outcome],
    findings: Findings,
    measures: Sequence[Measure],
    planned: Iterable[Simulation] | None = None,
) -> list[MeasuredScore]:
    """Return the official number of each domain, and of all, each with the others below it."""
    if planned is not None:
        # Searched for each outcome, and read once more below, which an iterator would not allow.
        planned = dict.fromkeys(planned)
        outcomes = [e for e in outcomes if (e.domain, e.task_id, e.trial) in planned]
    if not outcomes:
        return []
    found = []
    groups = summarise(outcomes, planned=planned).groups
    every = [each for each in outcomes if each.passed is not None]
    decided_by = next((each for each in measures if each.decides), None)
    beside = [each for each in measures if not each.decides]
    kept = {each: _counted(every, each, findings) for each in beside if each.kind != "quantity"}
    for group in groups:
        official, judged = group.pass_hat, _of_group(every, group.group)
        tasks = len({(each.domain, each.task_id) for each in judged})
        first = MeasuredScore(group.name, None, tasks, len(judged), official)
        found.append(replace(first, decided_by=decided_by))
        for measure in beside:
            if measure.kind == "quantity":
                found.append(_quantity(group.name, measure, _of_group(outcomes, group.group)))
                continue
            mine = kept[measure]
            if isinstance(mine, str):
                found.append(MeasuredScore(group.name, measure, 0, 0, {}, problem=mine))
            else:
                mine = _of_group(mine, group.group)
                found.append(_score(group.name, measure, judged, mine, official))
    return found


def _counted(
    outcomes: Iterable[Outcome], measure: Measure, findings: Findings
) -> Sequence[Outcome] | str:
    """Return the outcomes that count by a measure, as they count, or why none can."""
    try:
        return [each for each in measured(outcomes, measure, findings) if each.passed is not None]
    except ConfigurationError as error:  # the other numbers of the run are as good as before
        return str(error)


def _quantity(domain: str, measure: Measure, outcomes: Sequence[Outcome]) -> MeasuredScore:
    tasks = [each.key for each in outcomes if measure.of(each) is not None]
    mean = mean_of_quantity(outcomes, measure)
    means = {} if mean is None else {1: mean}
    lacking = sum(each.passed is not None for each in outcomes if measure.of(each) is None)
    return MeasuredScore(domain, measure, len({*tasks}), len(tasks), means, left_out=lacking)


def _of_group(outcomes: Sequence[Outcome], group: str | None) -> Sequence[Outcome]:
    return outcomes if group is None else [each for each in outcomes if each.domain == group]


def _score(
    domain: str,
    measure: Measure,
    judged: Sequence[Outcome],
    kept: Sequence[Outcome],
    official: Mapping[int, Estimate],
) -> MeasuredScore:
    """Count what is ``kept`` of all with a verdict; a task with fewer than k trials has no say."""
    verdicts = {(each.domain, each.task_id, each.trial): each.passed for each in judged}
    trials, places = counted_tasks(kept)
    differing = sum(each.passed != verdicts[each.domain, each.task_id, each.trial] for each in kept)
    pass_hat = official  # what is the same is estimated once
    if differing or len(kept) < len(judged):
        pass_hat = {}
        # Only a verdict passes or fails, so only it has a chance that k trials all pass.
        for k in official if measure.kind == "verdict" else [1]:
            enough = [at for at, each in enumerate(trials) if each.total >= k]
            if enough:
                at_places = None if places is None else [places[at] for at in enough]
                pass_hat[k] = estimate([trials[at] for at in enough], k, places=at_places)
    return MeasuredScore(
        domain,
        measure,
        len(trials),
        len(kept),
        pass_hat,
        len({(each.domain, each.task_id) for each in judged}) - len(trials),
        len(judged) - len(kept),
        differing,
    )


def recorded_scores(recording: Recording, outcomes: Sequence[Outcome]) -> list[MeasuredScore]:
    """Return the numbers that evaluators recorded, below the official one; nothing without any."""
    recorded = [each for each in declared_measures(recording) if not each.by_findings]
    return measured_scores(outcomes, {}, recorded, recording.planned) if recorded else []


def declared_measures(recording: Recording) -> Sequence[Measure]:
    """Return the measures of a run's benchmark; raise unless each has its own name."""
    found = support_for(recording).measures(recording)
    names = [OFFICIAL, *(each.name for each in found)]
    for name in names:
        if names.count(name) > 1:
            raise ConfigurationError(
                f"the benchmark of {recording.path} has two measures {name!r}; give each of its "
                "measures a name of its own"
            )
    deciding = [repr(each.name) for each in found if each.decides]
    if len(deciding) > 1:
        raise ConfigurationError(
            f"by the benchmark of {recording.path}, {' and '.join(deciding)} decide; let the one "
            "do so that the verdict is"
        )
    return found


def measure_named(recording: Recording, name: str) -> Measure | None:
    """Return a measure of a run's benchmark by its name; None for that which the verdict is."""
    declared = declared_measures(recording)
    for each in declared:
        if each.name == name:
            return None if each.decides else each
    known = ", ".join(each.name for each in declared) or "no measure beside its verdict"
    raise ConfigurationError(
        f"{recording.path} has no measure {name!r}; its benchmark declares {known}"
    )


def beside_official(scores: Sequence[MeasuredScore]) -> list[MeasuredScore]:
    """Return the numbers beside the official one over all domains.

    That in which every undecided case is a breach is omitted where it changes nothing.
    """
    # The last group is that of all domains together.
    others = [e for e in scores if not e.is_official and e.domain == scores[-1].domain]
    decided = sum(each.differing for each in others if each.counted == WITHOUT_BREACHES.name)
    return [e for e in others if e.counted != IF_UNDECIDED.name or e.differing > decided]


def describe_verdict(scores: Sequence[MeasuredScore]) -> list[str]:
    """Say what the official number over all domains counts, where the benchmark says so."""
    official = [each.verdict for each in scores if each.is_official]
    return [official[-1]] if official and official[-1] else []


def describe_beside(others: Sequence[MeasuredScore]) -> list[str]:
    """Say what each number beside the official one means or changes; in one line if nothing."""
    told = [each.told for each in others if not each.same]
    if same := ", ".join(each.counted for each in others if each.same):
        told.append(f"{same}: no verdict differs")
    return told


def measure_rows(scores: Sequence[MeasuredScore]) -> list[dict[str, Any]]:
    """Return the measures that differ in the form of the HTML report."""
    return [
        {
            "name": each.counted,
            "tasks": each.tasks,
            "simulations": each.simulations,
            **{f"pass^{k}": value.in_brief() for k, value in each.pass_hat.items()},
        }
        for each in beside_official(scores)
        if not each.same and not each.is_quantity
    ]


def measure_notes(scores: Sequence[MeasuredScore]) -> list[str]:
    """Say what each measure means or changes, if there are any."""
    notes = [f"{verdict}." for verdict in describe_verdict(scores)]
    if told := "; ".join(describe_beside(beside_official(scores))):
        words = "These are additional numbers; the official one is unchanged."
        notes.append(f"{told[0].upper()}{told[1:]}. {words}")
    return notes
