"""BenchmarkReader: tells the viewer the numbers, titles and explanations of benchmarks."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from maseval.app.benchmarks import all_support, complete_report, support_for
from maseval.app.results.clean import clean_note, clean_rows, scores_by_label
from maseval.app.results.plots import drawings
from maseval.app.results.recording import facts_of, notes_on
from maseval.app.results.results import run_summary
from maseval.app.results.sound import (
    OF_USER,
    ScoreBeside,
    check_by_labels,
    notes_beside,
    rows_beside,
    scores_beside,
)
from maseval.app.results.user_faults import (
    checks_by_labels,
    played_users,
    user_scores,
    users_note,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import SimulationLine
from maseval.core.recorded import Shape
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import text_or_none
from maseval.report.index import Entry, TaskFindings
from maseval.runs import Simulation
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import VerdictChecker
from maseval.view.viewed import Overview, RunReader


class BenchmarkReader(RunReader):
    """Asks the benchmark of each run."""

    def __init__(self) -> None:
        self._findings: dict[object, TaskFindings] = {}

    def is_results(self, path: Path) -> bool:
        return any(each.holds_results(path) for each in all_support())

    def open_results(self, path: Path) -> Recording:
        for each in all_support():
            if each.holds_results(path) and (found := each.recording(path, ScoringOptions())):
                return found
        raise ConfigurationError(f"{path} is not a results file")

    def overview(self, run: Recording, known: Sequence[Entry], labelled: bool = False) -> Overview:
        if not known:
            return Overview()
        support, lines = support_for(run), list(map(_line, known))
        summary = run_summary(
            lines, run.planned, support.conventions(run, lines), run.config
        ).for_report()
        unexplained = support.explanation_obstacle(run)
        summary["notes"] = [
            *notes_on(run),
            *summary["notes"],
            *([f"Note: {unexplained}"] if unexplained else []),
        ]
        beside = _scores_beside(run, known) if labelled and not unexplained else ()
        summary["rows"] += rows_beside(beside)
        summary["notes"] += notes_beside(beside)
        if clean := scores_by_label([(_line(each), each.labels) for each in known], run.planned):
            tasks = len({one[:2] for one in run.planned})
            summary["rows"] += clean_rows(clean, tasks, len(run.planned))
            summary["notes"].append(clean_note(clean))
        if labelled and (note := _users_note(run, known)):
            summary["notes"].append(note)
        return Overview(
            summary,
            list(drawings(run, None, lines).values()),
            support.findings(run),
            facts_of(run.config.values),
        )

    def verdict_checker(self, run: Recording) -> VerdictChecker | None:
        support = support_for(run)
        return None if support.verdict_obstacle(run) else support.verdict_checker(run)

    def title(self, run: Recording, report: Shape) -> str | None:
        return support_for(run).task_title(cast(Report, report))

    def complete_report(self, run: Recording, report: Report) -> Shape:
        support, diagnosis, policy, sound, user = support_for(run), None, None, None, None
        if not support.explanation_obstacle(run):
            diagnosis, policy = support.diagnosis(report), support.policy_check(report)
            sound, user = support.sound_check(report), support.user_check(report, diagnosis)
        return complete_report(report, support.task_title(report), diagnosis, policy, sound, user)


def _scores_beside(run: Recording, known: Sequence[Entry]) -> Sequence[ScoreBeside]:
    """Count without user faults and over sound tasks, by the labels of the simulations."""
    support = support_for(run)
    labels = {Simulation(*each.key, int(each.trial)): each.labels for each in known}
    faults = {one for one, own in labels.items() if any(each.startswith(OF_USER) for each in own)}
    checks = {one: check_by_labels(own) for one, own in labels.items()}
    return scores_beside(
        [_line(each).to_outcome() for each in known],
        run.planned,
        user_faults=faults if support.answers("diagnosis") else None,
        checks=checks if support.answers("sound_check") else None,
    )


def _users_note(run: Recording, known: Sequence[Entry]) -> str | None:
    """Say how the simulated user did, by the labels of the simulations."""
    entries = {Simulation(*each.key, int(each.trial)): each for each in known}
    user = run.config.values.get("user")
    model = text_or_none(user.get("model") if isinstance(user, Mapping) else user)
    checks = checks_by_labels([(one, each.labels) for one, each in entries.items()], model)
    passes = [one for one, each in entries.items() if _line(each).passed]
    return users_note(user_scores(played_users(checks, passes)))


def _line(entry: Entry) -> SimulationLine:
    return SimulationLine(
        *entry.key,
        trial=int(entry.trial),
        status=entry.status or "",
        outcome=entry.outcome,
        reward=entry.reward,
        ended=entry.ended,
        seconds=entry.seconds or 0.0,
        cost=entry.cost,
        tokens=entry.tokens,
        error=None,
        answers=entry.answers,
        cached_answers=entry.cached_answers,
    )
