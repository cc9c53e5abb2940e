"""``maseval gate``: decide if a run is worse than its baseline, beyond what chance explains.

The verdict can be written as Markdown, for a pull request or the summary of a job, and as JUnit
XML, which CI services show as a list of tests. In the XML one test stands for the gate and one for
each task. A task that passes less often is a failure only if the run is worse: within chance it is
shown as skipped, so that a service which turns red at any failure does not contradict the verdict.
"""

import os
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from maseval.app.benchmarks import OnProgress, RecordedOutcomes, support_for
from maseval.app.comparing.blocks import (
    Block,
    TableBlock,
    difference_in_words,
    differences_table,
    flips_table,
    reasons_table,
)
from maseval.app.comparing.compare import RunComparison, compare
from maseval.app.results.examined import outcomes_by
from maseval.app.results.junit import junit_case, junit_suite
from maseval.app.results.measured import measure_named
from maseval.app.results.names import open_recording
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Outcome, TaskKey
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import between, count_of, p_is, percent
from maseval.stats import (
    Comparison,
    Difference,
    Flip,
    GroupSummary,
    Measure,
    Requirement,
    SamplePlan,
    requirement,
    summarise,
)
from maseval.stats.clusters import counted_tasks
from maseval.stats.planning import ALPHA, check_alpha, too_few_tasks
from maseval.stats.trials import by_task

GateVerdict = Literal["worse", "not worse", "undecidable"]
"""``undecidable``: so few tasks, or so few of them that differ, could not show a loss at all."""

# A comment on GitHub holds 65,536 characters; a reader holds less.
_MOST_TASKS = 20
_MOST_CAUTIONS = 10
_LONGEST = 200
_FEW = 3

MIN_COMPARABLE = 0.8
"""The share of the tasks that must be comparable by default, for a verdict on the whole."""


@dataclass(frozen=True)
class Floor:
    """A run held against a pass rate that it must be shown to reach, whatever was before.

    It notices what no comparison with the latest run does: the sum of many small losses.
    """

    requirement: Requirement
    counted: GroupSummary

    @property
    def measure(self) -> str:
        return self.counted.estimate(1).name

    def __str__(self) -> str:
        found = self.requirement
        words = {"met": "reached", "missed": "missed", "undecided": "not decided"}[found.verdict]
        span = between(found.interval.low, found.interval.high)
        advice = f"; {found.advice}" if found.advice else ""
        value = f"{self.measure} {percent(found.value)} {span}"
        return (
            f"{value} ({percent(found.interval.level, 0)} interval), "
            f"at least {percent(found.at_least)} asked for: {words}{advice}"
        )

    def to_case(self, allow_undecidable: bool = False) -> ET.Element:
        """Return the test of a JUnit file; what is not decided is an error unless allowed."""
        tags = {"missed": "failure", "undecided": "skipped" if allow_undecidable else "error"}
        tag = tags.get(self.requirement.verdict)
        return junit_case("maseval.gate", f"{self.measure} at least", tag, str(self))

    def to_junit(self, allow_undecidable: bool = False) -> bytes:
        return junit_suite("floor", [self.to_case(allow_undecidable)])

    def to_markdown(self) -> str:
        mark = {"met": "✅", "missed": "❌", "undecided": "⚠️"}[self.requirement.verdict]
        return f"### {mark} {inline(str(self))}\n"

    def to_dict(self) -> dict[str, object]:
        return {"floor": self.requirement.to_dict()}


def floor_of(
    run: str | os.PathLike[str],
    at_least: float,
    *,
    alpha: float = ALPHA,
    allow_incomplete: bool = False,
    options: ScoringOptions | None = None,
    measure: str | None = None,
) -> Floor:
    """Hold a run against a pass rate alone, where there is no baseline."""
    folder = open_recording(run, options or ScoringOptions())
    chosen = None if measure is None else measure_named(folder, measure)
    found = support_for(folder).run_outcomes(folder, options or ScoringOptions())
    missing = found.planned - sum(each.passed is not None for each in found.outcomes)
    if missing and not allow_incomplete:
        raise ConfigurationError(
            f"{missing} of {count_of(found.planned, 'simulation')} of {run} have no verdict. "
            "Resume the run, or judge what is there with --allow-incomplete (allow_incomplete=True)"
        )
    outcomes = outcomes_by(found.recording, found.outcomes, chosen)
    return floor_under(outcomes, at_least, alpha, chosen)


def floor_under(
    outcomes: Sequence[Outcome], at_least: float, alpha: float, measure: Measure | None = None
) -> Floor:
    """Hold outcomes against a rate; with a ``measure`` they have its values as their verdicts."""
    trials, places = counted_tasks(outcomes)
    asked = requirement(trials, at_least, alpha, places)
    label = None if measure is None else measure.label
    return Floor(asked, summarise(outcomes, label=label).overall)


@dataclass(frozen=True)
class Gate:
    """A run held against its baseline.

    It is worse if the test finds it lower and, with a margin, its interval lies below ``-margin``,
    each with a chance of at most ``alpha`` to err.
    """

    comparison: RunComparison
    two: Comparison
    margin: float
    alpha: float
    floor: Floor | None = None

    @property
    def main(self) -> Difference:
        """The difference that decides: run minus baseline."""
        return self.two.main

    @property
    def plan(self) -> SamplePlan:
        assert self.two.plan is not None  # two runs are compared
        return self.two.plan

    @property
    def verdict(self) -> GateVerdict:
        """Return ``worse`` if a loss is decided, as what would decide it is asked of the plan."""
        if self.passes_nothing:
            return "undecidable"
        loss, decision = self.main.difference < -self.margin, self.plan.decision
        if loss and decision == "decided":
            return "worse"
        # The same two-sided level as in the comparison, whose upper end errs with chance alpha.
        too_few = too_few_tasks(self.main.tasks, 1 - 2 * self.alpha, self.margin)
        return "undecidable" if too_few or (loss and decision == "undecidable") else "not worse"

    @property
    def passes_nothing(self) -> bool:
        return self.main.first == self.main.second == 0

    @property
    def open_question(self) -> str | None:
        """The way to decide whether a loss is one; None if none is seen, or it is decided."""
        if self.passes_nothing:
            return "neither run passes anything, so nothing could get worse; repair the baseline"
        lost = self.main.difference < -self.margin
        is_open = self.verdict == "undecidable" or (lost and self.verdict != "worse")
        return self.plan.advice if is_open else None

    @property
    def run(self) -> RecordedOutcomes:
        return self.comparison.runs[self.two.names[1]]

    @property
    def fell(self) -> list[Flip]:
        return [flip for flip in self.two.flipped if flip.change < 0]

    @property
    def rose(self) -> list[Flip]:
        return [flip for flip in self.two.flipped if flip.change > 0]

    @property
    def cautions(self) -> list[str]:
        """Sentences that a reader should know before believing the verdict."""
        about = self.comparison
        left_out = [f"Left out: {line}" for line in about.dropped]
        first = filter(None, [about.texts, about.missing])
        return [*first, *about.notes, *about.cautions, *left_out]

    def to_dict(self) -> dict[str, object]:
        return {
            "verdict": self.verdict,
            "margin": self.margin,
            "alpha": self.alpha,
            **(self.floor.to_dict() if self.floor else {}),
            **self.comparison.to_dict(),
        }

    def to_markdown(self) -> str:
        why = reasons_table(self.comparison, _MOST_TASKS)
        parts = [
            _headline(self),
            self.floor.to_markdown().strip() if self.floor else "",
            _table(differences_table(self.two)),
            _flips("Tasks that pass less often", self.fell, self),
            _flips("Tasks that pass more often", self.rose, self),
            *(_details("Why simulations failed", _table(each)) for each in why),
            _bullets(self.cautions),
            _method(self),
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def to_junit(self, allow_undecidable: bool = False) -> bytes:
        """Return the verdict as JUnit XML; what cannot be decided is an error unless allowed."""
        first, second = self.two.names
        cases = [_gate_case(self, allow_undecidable), *_task_cases(self)]
        if self.floor:
            # After the test of the gate itself, before the many of single tasks.
            cases.insert(1, self.floor.to_case(allow_undecidable))
        return junit_suite(f"{second} against {first}", cases)


def gate(
    run: str | os.PathLike[str],
    baseline: str | os.PathLike[str],
    *,
    k: int = 1,
    margin: float = 0.0,
    alpha: float = ALPHA,
    allow_incomplete: bool = False,
    anyway: bool = False,
    min_comparable: float = MIN_COMPARABLE,
    at_least: float | None = None,
    explain: bool = True,
    options: ScoringOptions | None = None,
    measure: str | None = None,
    on_progress: OnProgress | None = None,
) -> Gate:
    """Compare ``run`` with ``baseline``, each a run folder or a results file, paired by task.

    ``margin`` is the loss of pass^k that is tolerated, as a share: 0.02 is two percentage points.
    ``alpha`` is the chance that a run which is as good as its baseline is called worse.
    ``allow_incomplete`` judges what has a verdict, and ``anyway`` runs that were judged otherwise.
    ``min_comparable`` is the share of the tasks of both runs that both must have, with the same
    content; with less there is no verdict. ``at_least`` is a pass^1 that the run must be shown to
    reach as well. With ``explain`` the reasons of failures are counted. ``measure`` names the
    number of the benchmark that decides in the place of its verdict.
    """
    check_alpha(alpha)
    if not 0 <= margin < 1:
        raise ConfigurationError(f"margin is {margin!r}; give a share from 0 to 1, like 0.02")
    if not 0 <= min_comparable <= 1:
        raise ConfigurationError(
            f"min_comparable is {min_comparable!r}; give a share from 0 to 1, like 0.8"
        )
    found = compare(
        [baseline, run],
        k=k,
        options=options,
        level=1 - 2 * alpha,  # the upper end of this two-sided interval errs with chance alpha
        margin=margin,
        anyway=anyway,
        explain=explain,
        measure=measure,
        on_progress=on_progress,
    )
    # Verdicts are rarely missing at random: hard tasks run out of time first.
    if found.incomplete and not allow_incomplete:
        raise ConfigurationError(
            f"{'; '.join(line.rstrip('.') for line in [*found.incomplete, *found.notes])}. Resume "
            "the run, or judge what is there with --allow-incomplete (allow_incomplete=True)"
        )
    assert found.two is not None  # two runs were compared
    # A verdict on a few common tasks would be taken for one on the whole benchmark.
    if found.two.comparable < min_comparable * found.tasks:
        raise ConfigurationError(
            f"only {found.two.comparable} of {found.tasks} tasks are comparable, less than "
            f"{percent(min_comparable, 0)}: {'; '.join(found.dropped[:_FEW])}"
            f"{'; ...' if len(found.dropped) > _FEW else ''}. Run the baseline again on the same "
            "tasks, or accept fewer with --min-comparable (min_comparable=...)"
        )
    judged, floor = found.runs[found.two.names[1]], None
    if at_least is not None:
        floor = floor_under(judged.outcomes, at_least, alpha, judged.measure)
    return Gate(found, found.two, margin, alpha, floor)


_HEADLINES: dict[GateVerdict, tuple[str, str]] = {
    "worse": ("❌", "worse than"),
    "not worse": ("✅", "not shown worse than"),
    "undecidable": ("⚠️", "not judged against"),
}


def _headline(gate: Gate) -> str:
    mark, words = _HEADLINES[gate.verdict]
    first, second = map(inline, gate.two.names)
    found = gate.main
    question = f"\n\n{inline(gate.open_question)}" if gate.open_question else ""
    return (
        f"### {mark} {second} is {words} {first}\n\n"
        f"{found.name} {percent(found.first)} → **{percent(found.second)}**: "
        f"{inline(difference_in_words(found))} percentage points on "
        f"{count_of(found.tasks, 'task')}{question}"
    )


def _flips(title: str, flips: Sequence[Flip], gate: Gate) -> str:
    blocks = flips_table(title, flips, gate.two.names, _MOST_TASKS)
    return "".join(_details(f"{title}: {len(flips)}", _table(each)) for each in blocks)


def _details(title: str, content: str) -> str:
    # Inside HTML, Markdown is only read between empty lines.
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>"


def _bullets(lines: Sequence[str]) -> str:
    shown = [f"- {inline(line)}" for line in lines[:_MOST_CAUTIONS]]
    more = len(lines) - len(shown)
    return "\n".join([*shown, *([f"- … and {more} more"] if more > 0 else [])])


def _method(gate: Gate) -> str:
    beyond, interval = "", ""
    if gate.margin:
        points = f"{100 * gate.margin:g}"
        beyond, interval = (
            f" by more than {points} points",
            (f", and the {percent(1 - 2 * gate.alpha, 0)} interval lies below -{points}"),
        )
    return (
        f"<sub>Worse{beyond} means: {gate.main.test.method}, one-sided p ≤ {gate.alpha:g}"
        f"{interval}. p is two-sided.</sub>"
    )


def _table(block: Block) -> str:
    assert isinstance(block, TableBlock)
    columns, *rows = ([*map(inline, row)] for row in (block.columns, *block.rows))
    lines = [columns, ["---"] * len(columns), *rows]
    drawn = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{drawn}\n\n… and {block.more} more" if block.more else drawn


def inline(text: str) -> str:
    """Return foreign text on one line, in which nothing is taken for Markdown or HTML."""
    # Ids and errors may be of any length, and a comment on a pull request is not.
    flat = " ".join(text.split())[:_LONGEST]
    plain = "".join(char for char in flat if char.isprintable())
    escaped = "".join(f"\\{char}" if char in "\\`*_{}[]()#+!|~@" else char for char in plain)
    # The ampersand comes first, or it would escape the entities of the other two.
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _gate_case(gate: Gate, allow_undecidable: bool) -> ET.Element:
    found, tag, words = gate.main, None, ""
    if gate.verdict == "worse":
        tag, p = "failure", p_is(found.test.p_value)
        words = f"{percent(found.first)} before, {percent(found.second)} now, {p}"
    elif gate.verdict == "undecidable":
        tag = "skipped" if allow_undecidable else "error"
        words = f"not decided: {gate.open_question}"
    return junit_case("maseval.gate", f"{found.name} not worse", tag, words)


def _task_cases(gate: Gate) -> Iterator[ET.Element]:
    fallen = {TaskKey(flip.group, flip.task): flip for flip in gate.fell}
    for key, trials in by_task(gate.run.outcomes).items():
        tag, words = (None, "") if trials.total else ("skipped", "no trial has a verdict")
        if key in fallen:
            tag = "failure" if gate.verdict == "worse" else "skipped"
            now, before = fallen[key].second, fallen[key].first
            was = f"{before.passed} of {before.total} before"
            words = f"passed {now.passed} of {now.total} trials, {was}"
        home = f"maseval.{key.domain}" if key.domain else "maseval"
        yield junit_case(home, key.task_id, tag, words)
