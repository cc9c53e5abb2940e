"""``maseval compare``: runs side by side, on the tasks that they share.

The comparison is one object for the terminal, for JSON and for the page; ``page`` gives it the form
that the page shows.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from maseval.app.benchmarks import OnProgress, RecordedOutcomes
from maseval.app.comparing.cells import ComparedGrid, compare_cells, expand_grids
from maseval.app.comparing.compared_runs import (
    FIXED_SIZE,
    compared_keys,
    differing_settings,
    keep_equal_tasks,
    load_run,
    names_of,
    notes_on_runs,
    some,
)
from maseval.app.results.examined import REVIEW, ExaminedRun
from maseval.app.results.explained import cause_in
from maseval.app.results.measured import declared_measures
from maseval.app.results.names import Files, open_recording
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, RecordedReport, Simulation, TaskKey
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import in_percent, in_points, percent
from maseval.report.checks import shown_verdicts
from maseval.report.conversation import conversation
from maseval.runs.config import cell_of
from maseval.runs.recording import Recording
from maseval.stats import Comparison, Difference, Measure, Pair, Summary, compare_all, summarise
from maseval.stats.comparison import SURE, quantity_difference, runs_by_tasks
from maseval.stats.intervals import LEVEL
from maseval.stats.measures import measured
from maseval.stats.settings import ANYWAY
from maseval.stats.summary import with_gaps

# Simulations that agent or user ended; all others were cut off.
_OWN_ENDS = (None, "agent_stop", "user_stop")
_CUT_OFF = {"max_steps": "step limit reached", "too_many_errors": "limit of errors reached"}
_NOT_MADE = "reference call not made"
_REFUSED, _REPEATED = "call refused", "call repeated"


class FailureReasons(NamedTuple):
    """The simulations of a run that failed, of so many with a verdict, by what was wrong.

    ``labels`` has who failed and how; ``checks`` counts for each kind the simulations in which one
    that counts was not met. ``proven`` counts the labels that are recomputed, the limits at which a
    simulation was cut off, and of the cell of a grid also simulations with a call that was refused
    or repeated.
    """

    failed: int
    verdicts: int
    labels: Mapping[str, int]
    checks: Mapping[str, int]
    proven: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class RunComparison:
    """Runs compared; ``table`` has the numbers.

    ``differing`` has the settings and the code that differ, which is what is compared. ``notes``
    say what is wrong with the records. ``texts`` says, if so, that models read different texts,
    which makes it another experiment. ``cautions`` name what else may explain a difference,
    ``incomplete`` those of them that lack verdicts, ``dropped`` tasks and domains that are not
    compared. The runs have so many ``tasks`` together, comparable or not. ``why`` has the reasons
    of each run's failures, if they were asked for; ``missing`` says what the tasks that some run
    lacks leave open. Of runs that are the cells of one grid, ``grid`` has the effects of its
    factors. Of two runs whose benchmark has further measures, ``beside`` has these.
    """

    runs: Mapping[str, RecordedOutcomes]
    table: Comparison
    cautions: Sequence[str]
    texts: str | None = None
    differing: Sequence[str] = ()
    notes: Sequence[str] = ()
    dropped: Sequence[str] = ()
    incomplete: Sequence[str] = ()
    tasks: int = 0
    why: Mapping[str, FailureReasons] = field(default_factory=dict)
    missing: str | None = None
    grid: ComparedGrid | None = None
    beside: Sequence[Difference] = ()

    @property
    def two(self) -> Comparison | None:
        """The numbers, if two runs are compared, of which they have more."""
        return self.table if len(self.runs) == 2 else None

    @property
    def measure(self) -> str:
        return self.grid.effects.measure if self.grid else self.table.pairs[0].main.name

    @property
    def headline(self) -> str:
        """A sentence on which run is better, by how much, and whether that is sure.

        Where tasks are missing, it begins with the range that they leave.
        """
        if self.grid is not None:
            words = self.grid.effects.headline
        elif self.two is None:
            words = headline_of_many(self.table, self.measure)
        else:
            words = headline(self.two.pairs[0], self.measure)
        if self.two is not None and any(FIXED_SIZE in note for note in self.notes):
            words += ", by a test for runs of a fixed size; see the note"
        if any(ANYWAY in caution for caution in self.cautions):
            words += f"; {ANYWAY}"
        return words if self.missing is None else f"{self.missing}. On the tasks in common, {words}"

    def reasons(self, most: int | None = None) -> list[tuple[str, list[int]]]:
        """Return causes and unmet checks with the count of each run, those first that differ most.

        At ``most`` so many of either.
        """
        causes = side_by_side(each.labels for each in self.why.values())
        checks = side_by_side(each.checks for each in self.why.values())
        # A check without a kind is called a check.
        unmet = [(f"check {name}".removesuffix(" check") + " not met", c) for name, c in checks]
        return [*causes[:most], *unmet[:most]]

    @property
    def summaries(self) -> Mapping[str, Summary]:
        return self.table.runs

    def to_dict(self) -> dict[str, object]:
        return {
            **({} if self.texts is None else {"texts": self.texts}),
            **self.table.to_dict(),
            "paths": {name: str(run.recording.path) for name, run in self.runs.items()},
            "runs": {name: summary.to_dict() for name, summary in self.summaries.items()},
            **({} if self.missing is None else {"missing": self.missing}),
            **({} if self.grid is None else {"grid": self.grid.to_dict()}),
            **({"beside": [each.to_dict() for each in self.beside]} if self.beside else {}),
            "headline": self.headline,
            "differing": list(self.differing),
            "why": {name: each._asdict() for name, each in self.why.items()},
            "cautions": list(self.cautions),
            "dropped": list(self.dropped),
            "notes": [*self.notes, *self.table.notes],
        }


def compare(
    runs: Files,
    *,
    k: int = 1,
    options: ScoringOptions | None = None,
    level: float = LEVEL,
    margin: float = 0.0,
    anyway: bool = False,
    explain: bool = True,
    measure: str | None = None,
    on_progress: OnProgress | None = None,
) -> RunComparison:
    """Compare two runs or more, each a run folder or a results file of tau2-bench, or a grid.

    Differences are in pass^k of verdicts that are recomputed, unless ``options`` say otherwise.
    Runs under different rules, or whose evaluators have other code, are refused, or with ``anyway``
    marked; what they are called does not matter. Domains with different data, and tasks that differ
    or that some run lacks, are left out and listed. ``level`` is that of the intervals of two runs,
    and ``margin`` the largest negligible difference. With ``explain`` the reasons of failures
    are counted. ``measure`` names the number of the benchmark that is compared in the place of its
    verdict. ``on_progress`` gets how many simulations of a run are scored, and of how many.
    """
    named, without = expand_grids(runs)
    if len(named) < 2:
        more = f" ({'; '.join(without)})" if without else ""
        raise ConfigurationError(f"{len(named)} run cannot be compared; name two or more{more}")
    scoring = options or ScoringOptions()
    recordings = [open_recording(run, scoring, on_progress) for run in named]
    named_runs = dict(zip(names_of(recordings), recordings, strict=True))
    found = compare_outcomes(
        {n: load_run(each, scoring, on_progress, measure) for n, each in named_runs.items()},
        k=k,
        level=level,
        margin=margin,
        anyway=anyway,
    )
    found = replace(found, notes=[*without, *found.notes])
    return look_into(found) if explain else found


def compare_outcomes(
    whole: Mapping[str, RecordedOutcomes],
    *,
    k: int = 1,
    level: float = LEVEL,
    margin: float = 0.0,
    anyway: bool = False,
) -> RunComparison:
    """Compare runs by their names; nothing is explained."""
    other_verdicts = _different_verdicts(whole, anyway)
    loaded, other_tasks, on_tasks = keep_equal_tasks(whole)
    outcomes = {name: run.outcomes for name, run in loaded.items()}
    configs = {name: run.config for name, run in loaded.items()}
    # Only cells of a grid may have no task in common, as each may be of another domain.
    apart = len(loaded) > 2 and all(cell_of(config) for config in configs.values())
    measure = next(iter(loaded.values())).measure
    label = None if measure is None else measure.label
    table = compare_all(
        outcomes,
        configs=configs,
        k=k,
        level=level,
        margin=margin,
        anyway=anyway,
        apart=apart,
        label=label,
    )
    alike = len(runs_by_tasks(outcomes)) == 1 and _share_tasks(outcomes)
    missing = _missing_tasks(loaded, table, k) if alike else None
    incomplete = _missing_verdicts(loaded, None if missing else k, table.pairs[0].main.name)
    return RunComparison(
        loaded,
        table,
        [*incomplete, *other_verdicts, *on_tasks, *notes_on_runs(loaded), *table.cautions],
        texts=_different_texts(loaded),
        differing=differing_settings(loaded),
        notes=[f"{name}: {note}" for name, run in loaded.items() for note in run.notes],
        dropped=[*other_tasks, *table.dropped],
        incomplete=incomplete,
        tasks=len({each.key for run in whole.values() for each in run.outcomes}),
        missing=missing,
        grid=compare_cells(loaded, table.runs, k, label),
        beside=compare_beside(loaded),
    )


def _different_verdicts(runs: Mapping[str, RecordedOutcomes], anyway: bool) -> list[str]:
    """Say that verdicts count different measures; raise, as their difference says nothing."""
    deciding = {
        name: each.name
        for name, run in runs.items()
        for each in declared_measures(run.recording)
        # A run that is compared by a chosen measure does not use its verdict.
        if each.decides and run.measure is None
    }
    if len(set(deciding.values())) < 2:
        return []
    said = ", ".join(f"{measure!r} in {name}" for name, measure in deciding.items())
    text = f"the verdict says something else in each run: {said}"
    if anyway:
        return [f"{text}; {ANYWAY}"]
    common = [each.name for each in common_measures(runs.values()) if each.kind != "quantity"]
    way = (
        f"compare by --measure {common[0]} (measure={common[0]!r})" if common else "run them alike"
    )
    raise ConfigurationError(f"{text}; {way}")


def compare_beside(runs: Mapping[str, RecordedOutcomes]) -> list[Difference]:
    """Compare the other measures of two runs that evaluators recorded in both."""
    if len(runs) != 2:
        return []
    first, second = runs.values()
    found = [
        _difference_in(measure, first.outcomes, second.outcomes)
        for measure in common_measures(runs.values())
        if not measure.decides and not measure.by_findings and measure != first.measure
    ]
    return [each for each in found if each is not None]


def common_measures(runs: Iterable[RecordedOutcomes]) -> list[Measure]:
    """Return the measures that the benchmark of every run declares, as the first declares them."""
    declared = [declared_measures(run.recording) for run in runs]
    shared = set.intersection(*({each.name for each in measures} for measures in declared))
    return [each for each in declared[0] if each.name in shared]


def _difference_in(
    measure: Measure, first: Sequence[Outcome], second: Sequence[Outcome]
) -> Difference | None:
    if measure.kind == "quantity":
        return quantity_difference(first, second, measure)
    try:
        # The names do not matter: nothing but the difference is taken from this comparison.
        runs = {name: measured(run, measure) for name, run in (("a", first), ("b", second))}
        return compare_all(runs, label=measure.name).main
    except ConfigurationError:  # no task has a value in both, or one is impossible: `show` says so
        return None


def _share_tasks(runs: Mapping[str, Iterable[Outcome]]) -> bool:
    """Return True if runs have tasks in common, and are not paired by their clusters."""
    return bool(set.intersection(*({each.key for each in run} for run in runs.values())))


def look_into(found: RunComparison) -> RunComparison:
    """Add why simulations failed in the compared tasks, and which tools were used there."""
    shared = compared_keys({n: run.outcomes for n, run in found.runs.items()}, found.table)
    why = {}
    for name, run in found.runs.items():
        counted = [each for each in run.outcomes if each.key in shared]
        why[name] = failure_reasons(run.recording, counted)
    return replace(found, why=why)


def failure_reasons(recording: Recording, outcomes: Iterable[Outcome]) -> FailureReasons:
    """Find out why the ``outcomes`` of a run that did not pass are failures."""
    labels, checks, proven = Counter[str](), Counter[str](), Counter[str]()
    judged = [each for each in outcomes if each.passed is not None]
    failed = [each for each in judged if not each.passed]
    run = ExaminedRun(recording)
    for each in failed:
        one = each.simulation
        report = recording.report(one)
        cause = cause_in(run.examine(one, REVIEW, report).findings)
        labels.update([] if cause is None else [cause.name])
        # What an agent did wrong has rows of its own below.
        is_fact = cause is not None and cause.grade == "proven" and cause.who != "agent"
        proven.update([cause.name] if cause is not None and is_fact else [])
        proven.update([_CUT_OFF.get(each.ended, each.ended)] if each.ended not in _OWN_ENDS else [])
        shown = shown_verdicts(RecordedReport(report), ())
        unmet = [check for e in shown for check in e.get("checks", ()) if not check["met"]]
        checks.update({check["kind"] for check in unmet if check["counts"]})
        proven.update([_NOT_MADE] if any(check["kind"] == "ACTION" for check in unmet) else [])
    if cell_of(recording.config.values):
        wanted = {each.simulation for each in judged}
        proven.update({_REFUSED: 0, _REPEATED: 0})  # in this order, whichever comes first
        for one in wanted.intersection(recording.recorded):
            proven.update(_wrong_calls(RecordedReport(recording.report(one))))
    run.save()
    return FailureReasons(len(failed), len(judged), labels, checks, proven)


def _wrong_calls(report: RecordedReport) -> set[str]:
    """Say if a call of a conversation was refused, and if one repeats the call just before."""
    found: set[str] = set()
    before: object = None
    for call in (call for each in conversation(report) for call in each.get("calls", ())):
        made = call["name"], call["arguments"]
        found |= {_REPEATED} if made == before else set()
        found |= {_REFUSED} if call["result"] and call["result"]["failed"] else set()
        before = made
    return found


def side_by_side(counts: Iterable[Mapping[str, int]]) -> list[tuple[str, list[int]]]:
    """Put the counts of several runs into rows, those that differ most first."""
    runs = list(counts)
    names = dict.fromkeys(name for each in runs for name in each)
    rows = [(name, [each.get(name, 0) for each in runs]) for name in names]
    # Both keys are negative, so the widest difference comes first, then the most frequent.
    return sorted(rows, key=lambda row: (min(row[1]) - max(row[1]), -max(row[1])))


def headline(pair: Pair, measure: str) -> str:
    """Say in words which run is better, by how much, and whether that may be chance."""
    main, (first, second) = pair.main, pair.names
    size, span = in_percent(abs(main.difference), 0), main.interval
    if not main.difference:
        words = f"no difference seen between {second} and {first} ({measure} {percent(main.first)})"
        # The interval need not be symmetric; its farther end is what cannot be excluded.
        return f"{words}; it could be {in_percent(max(-span.low, span.high), 0)} points either way"
    which = "better" if main.difference > 0 else "worse"
    words, sure = f"{second} is {size} points {which} than {first}", main.test.p_value <= SURE
    # Without zero in it an interval has a near and a far end, else one on either side.
    if span.low * span.high > 0:
        near, far = sorted((abs(span.low), abs(span.high)))
        reach = f"{in_percent(near, 0)} to {in_percent(far, 0)}"
    else:
        reach = f"{in_percent(-span.low, 0)} worse to {in_percent(span.high, 0)} better"
        if sure:  # the test is about these tasks, and tells more than the interval over others
            return f"{words} on these tasks: sure; on tasks like these, {reach}"
    return f"{words} ({reach}): {'sure' if sure else 'this may be chance'}"


def headline_of_many(table: Comparison, measure: str) -> str:
    """Say in words which of several runs leads, and against which others that is sure."""
    scores: dict[str, float] = {}
    for pair in table.pairs:
        scores |= zip(pair.names, (pair.main.first, pair.main.second), strict=True)
    top = max(scores.values())
    leaders = [name for name, score in scores.items() if score == top]
    # One leader stands for all of them, as they have the same score.
    own = [each for each in table.pairs if leaders[0] in each.names]
    beaten = {name for each in own if each.sure for name in each.names}
    others = [name for name in scores if name not in leaders]
    sure = [name for name in others if name in beaten]
    rest = [name for name in others if name not in beaten]
    words = (
        f"{some(leaders)} {'leads' if len(leaders) == 1 else 'lead'} by {measure}, {percent(top)}"
    )
    parts = []
    if sure:
        parts.append(f"sure against {'every other run' if not rest else some(sure)}")
    if rest:
        parts.append(f"against {some(rest) if sure else 'every other run'} this may be chance")
    return f"{words}: {'; '.join(parts)}" if parts else f"{words}; no difference seen between them"


def _missing_tasks(runs: Mapping[str, RecordedOutcomes], table: Comparison, k: int) -> str | None:
    """Say what the tasks that some run lacks leave open: another has them, or its file's split."""
    domains = {each.group for summary in table.runs.values() for each in summary.groups}
    own = {name: {each.key for each in run.outcomes} for name, run in runs.items()}
    unlisted = {key for run in runs.values() for key in run.unlisted}
    # Domains that are left out of the comparison leave nothing open in it.
    every = {key for key in unlisted.union(*own.values()) if key.domain in domains}
    lacking = [f"{name} lacks {len(every - keys)}" for name, keys in own.items() if every - keys]
    if not lacking:
        return None
    words = _range_in_words(_ranges(runs, every, k), table.pairs[0].main.name)
    return f"Over all {len(every)} tasks, of which {' and '.join(lacking)}, {words}"


def _ranges(
    runs: Mapping[str, RecordedOutcomes], tasks: Collection[TaskKey], k: int
) -> dict[str, tuple[float, float]]:
    """Return pass^k of runs over these tasks if all that is missing fails, and if it passes."""
    # A task needs k trials for a pass^k, however many were planned for it.
    needed, found = [Simulation(*key, trial) for key in tasks for trial in range(k)], {}
    for name, run in runs.items():
        whole = with_gaps([each for each in run.outcomes if each.key in tasks], needed)
        estimate = summarise(whole, ks=sorted({1, k})).overall.estimate(k)
        value = estimate.value or 0.0
        found[name] = estimate.bounds or (value, value)
    return found


def _range_in_words(ranges: Mapping[str, tuple[float, float]], measure: str) -> str:
    """Say what runs, or the difference of two, can come to if each lies in its range."""
    if len(ranges) != 2:
        each = (f"{n} {percent(low)} to {percent(high)}" for n, (low, high) in ranges.items())
        return f"{measure} is {', '.join(each)}"
    # The difference is smallest if all that is missing passes in the first run and fails in the
    # second, and largest the other way round.
    (first, (low, high)), (second, (lowest, highest)) = ranges.items()
    return (
        f"{measure} of {second} \u2212 {first} lies between {in_points(lowest - high)} and "
        f"{in_points(highest - low)} percentage points"
    )


def _missing_verdicts(
    runs: Mapping[str, RecordedOutcomes], k: int | None, measure: str
) -> list[str]:
    """Say for each run which verdicts it lacks, and with ``k`` what they leave of a difference."""
    overall = {name: summarise(run.outcomes).overall for name, run in runs.items()}
    found = [f"{name}: {each.shortfall}" for name, each in overall.items() if each.shortfall]
    found += [
        f"{name}: {len(run.outcomes)} of {run.planned} simulations are there"
        for name, run in runs.items()
        if len(run.outcomes) < run.planned
    ]
    shared = _share_tasks({name: run.outcomes for name, run in runs.items()})
    if found and len(runs) == 2 and shared and k is not None:
        every = {each.key for run in runs.values() for each in run.outcomes}
        words = _range_in_words(_ranges(runs, every, k), measure)
        found.append(f"whatever the missing verdicts are, {words}")
    return found


def _different_texts(runs: Mapping[str, RecordedOutcomes]) -> str | None:
    read = {name: run.config["texts"] for name, run in runs.items() if "texts" in run.config}
    if len(set(read.values())) < 2:
        return None
    each = ", ".join(f"{name} {texts}" for name, texts in read.items())
    return f"Different texts: {each}. Models read different words: different experiments."
