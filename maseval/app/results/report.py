"""``maseval report``: a run, or two of them, as one HTML file."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Unpack

from maseval.app.benchmarks import (
    OnProgress,
    RunDiagnosis,
    complete_report,
    support_for,
)
from maseval.app.comparing.compare import compare
from maseval.app.comparing.page import comparison_plots, for_report, tasks_for_report
from maseval.app.results.clean import RunCompliance, clean_note, clean_rows
from maseval.app.results.finding import holds_reports, open_recording, warn_of_damage
from maseval.app.results.plots import drawings
from maseval.app.results.recomputed import recompute_verdicts
from maseval.app.results.recording import (
    ReadOnce,
    beside,
    facts_of,
    lines_of,
    name_of,
    notes_on,
    simulation_in,
)
from maseval.app.results.results import run_summary
from maseval.app.results.sound import SoundCheck, notes_beside, rows_beside, scores_beside
from maseval.app.results.user_faults import UserCheck, played_users, user_scores, users_note
from maseval.core.callbacks import read_reports
from maseval.core.exceptions import NotRunError
from maseval.core.outcome import RecordedReport, TaskKey
from maseval.core.recorded import entries
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.report import write_report
from maseval.runs import Simulation
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import UNCONFIRMED, VerdictCheck


def report(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    explain: bool = True,
    audit: bool = True,
    against: str | os.PathLike[str] | None = None,
    on_progress: OnProgress | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> Path:
    """Write the report of a run or a results file, by default beside it, and return where it is.

    Args:
        run: The run, a results file of tau2-bench, or a file of a ``FileResultLogger``.
        output: The file to write.
        title: What the page is called.
        explain: Label and explain every failed simulation, if the benchmark can do that.
        audit: Mark the tasks in which an audit of the benchmark finds something.
        against: A second run, to be compared with the first: its trials stand below.
        on_progress: Called with how many simulations have been explained.
        scoring: How a results file is scored, as the fields of ``ScoringOptions``.
    """
    if against is None and holds_reports(run):
        return _report_of_file(Path(run), output, title)
    names = [run] if against is None else [run, against]
    options = ScoringOptions(**scoring)
    recordings = [open_recording(each, options) for each in names]
    for each in recordings:
        warn_of_damage(each)
    opened = [ReadOnce(each) for each in recordings]
    sources = [_diagnose(each, explain, on_progress) for each in opened]
    if against is None:
        summary, plots = _summarise(sources[0])
        tasks = None
    else:
        found = compare(names, options=options, explain=explain)
        summary, plots = for_report(found), comparison_plots(found)
        tasks = tasks_for_report(found)
        sources = [each._replace(name=n) for each, n in zip(sources, found.runs, strict=True)]
    audited = opened if audit else ()
    return write_report(
        (each for one in sources for each in _page_reports(one)),
        output or beside(opened[0], "report.html" if against is None else "comparison.html"),
        title=title or " and ".join(map(name_of, opened)),
        summary=summary,
        plots=plots,
        findings={k: v for each in audited for k, v in support_for(each).findings(each).items()},
        facts=_facts(sources),
        compared=tasks,
    )


def _facts(sources: Sequence["_Source"]) -> Iterator[tuple[str, str]]:
    """Yield the facts of each run, with its name if there are several."""
    for one in sources:
        whose = "" if one.name is None else f" of {one.name}"
        yield from ((name + whose, value) for name, value in facts_of(one.folder.config.values))


class _Source(NamedTuple):
    """A run, the diagnosis of its failures if there is one, and its name if there are two.

    ``check`` compares its recorded verdicts with recomputed ones, ``compliance`` says which
    simulations kept the policy, ``sound`` has the sound verdicts, and ``users`` the faults of the
    simulated users.
    """

    folder: Recording
    found: RunDiagnosis | None
    unexplained: str | None
    name: str | None = None
    check: VerdictCheck | None = None
    compliance: RunCompliance | None = None
    sound: Mapping[Simulation, SoundCheck] | None = None
    users: Mapping[Simulation, UserCheck] | None = None


def _diagnose(folder: Recording, explain: bool, on_progress: OnProgress | None) -> _Source:
    if not folder.recorded:
        raise NotRunError(
            f"{folder.path} has no finished simulation yet; there is nothing to report"
        )
    folder, check = recompute_verdicts(folder)
    support = support_for(folder)
    unexplained = support.explanation_obstacle(folder) if explain else None
    found = compliance = sound = users = None
    if explain and not unexplained:
        found = support.run_diagnosis(folder, on_progress)
        compliance = support.compliance(folder)
        sound = support.sound_checks(folder)
        users = support.user_checks(folder, found)
    return _Source(folder, found, unexplained, None, check, compliance, sound, users)


def _summarise(source: _Source) -> tuple[dict[str, Any], list[str]]:
    folder, found = source.folder, source.found
    lines = lines_of(folder)
    conventions = support_for(folder).conventions(folder, lines)
    summary = run_summary(lines, folder.planned, conventions, folder.config).for_report()
    note = None if source.check is None else source.check.note_on_recomputed
    summary["notes"] = [*filter(None, [note]), *notes_on(folder), *summary["notes"]]
    summary["notes"] += [f"Note: {source.unexplained}"] if source.unexplained else []
    beside = scores_beside(
        [line.to_outcome() for line in lines],
        folder.planned,
        user_faults=None if found is None else found.user_faults,
        checks=source.sound,
    )
    summary["rows"] += rows_beside(beside)
    summary["notes"] += notes_beside(beside)
    if source.compliance is not None:
        scores = source.compliance.scores
        summary["rows"] += clean_rows(
            scores, len({one[:2] for one in folder.planned}), len(folder.planned)
        )
        summary["notes"].append(clean_note(scores))
    if source.users:
        passes = [simulation_in(line) for line in lines if line.passed]
        note = users_note(user_scores(played_users(source.users, passes)))
        summary["notes"] += filter(None, [note])
    labels = None if found is None else found.labels
    return summary, list(drawings(folder, labels, lines).values())


def _page_reports(source: _Source) -> Iterator[Mapping[str, object]]:
    """Yield the reports, each with its task's title and the diagnosis that the page shows."""
    support = support_for(source.folder)
    titles: dict[TaskKey, str | None] = {}
    for each in source.folder.reports():
        key = RecordedReport(each).task
        if key not in titles:
            titles[key] = support.task_title(each)
        one = Simulation.of(each)
        diagnosis = source.found.found.get(one) if source.found else None
        policy = source.compliance.found.get(one) if source.compliance else None
        sound = source.sound.get(one) if source.sound else None
        user = source.users.get(one) if source.users else None
        shown = complete_report(each, titles[key], diagnosis, policy, sound, user)
        if source.name is not None:
            shown["run"] = source.name
        if source.check and one in source.check.differing:
            shown["labels"] = [*entries(shown.get("labels")), UNCONFIRMED]
        yield shown


def _report_of_file(path: Path, output: str | os.PathLike[str] | None, title: str | None) -> Path:
    """Write the page of a ``FileResultLogger``'s reports; without a plan it has no pass^k."""
    reports = read_reports(path)
    if not reports:
        raise NotRunError(f"{path} holds no finished repetition yet; there is nothing to report")
    return write_report(reports, output or path.with_suffix(".html"), title=title or path.stem)
