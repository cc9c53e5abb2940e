"""``maseval report``: a run, or several compared, as one HTML file."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, Unpack, cast

from maseval.app.benchmarks import OnProgress, support_for
from maseval.app.comparing.compare import compare
from maseval.app.comparing.page import document_of
from maseval.app.results.examined import REASONS, RunFindings, examine_run
from maseval.app.results.explained import complete_report
from maseval.app.results.finding import holds_reports, open_recording, warn_of_damage
from maseval.app.results.recording import (
    beside,
    facts_of,
    name_of,
    notes_on,
    resume_note,
    warnings_on,
)
from maseval.app.results.results import run_summary
from maseval.app.results.users import users_note
from maseval.app.results.variants import variant_notes, variant_rows, variant_scores
from maseval.core.callbacks import read_reports
from maseval.core.engine.process import rare_garbage_collection
from maseval.core.exceptions import NotRunError
from maseval.core.finding import Finding
from maseval.core.outcome import Outcome, RecordedReport, Simulation, TaskKey
from maseval.core.recorded import entries
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.words import count_of, text_or_none
from maseval.report import write_report
from maseval.report.page import TimelineOf
from maseval.runs.annotations import remarks_by_simulation
from maseval.runs.config import mark_of
from maseval.runs.recording import ReadOnce, Recording, unrecorded_trials
from maseval.runs.verdict_check import doubt_about, doubt_in
from maseval.stats import pass_curves, trial_map
from maseval.stats.summary import Summary, summarise_run, with_gaps


def report(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    explain: bool = True,
    against: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    on_progress: OnProgress | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> Path:
    """Write the report of a run or a results file, by default beside it, and return where it is.

    Args:
        run: The run, a results file of tau2-bench, or a file of a ``FileResultLogger``.
        output: The file to write.
        title: What the page is called.
        explain: Label and explain every failed simulation, if the benchmark can do that.
        against: A second run, or several, to be compared with the first.
        on_progress: Called with how many simulations have been explained.
        scoring: How a results file is scored, as the fields of ``ScoringOptions``.
    """
    others = [against] if isinstance(against, str | os.PathLike) else [*(against or ())]
    if not others and holds_reports(run):
        return _report_of_file(Path(run), output, title)
    names = [run, *others]
    options = ScoringOptions(**scoring)
    recordings = [open_recording(each, options) for each in names]
    # What is read of a run stays in memory until its page is written: there is no garbage to find.
    with rare_garbage_collection():
        for each in recordings:
            warn_of_damage(each)
        opened = [ReadOnce(each) for each in recordings]
        sources = [_diagnose(each, explain, on_progress) for each in opened]
        summary, plots, compared = None, list[str](), None
        if others:
            found = compare(names, options=options, explain=explain)
            compared = document_of(found)
            sources = [each._replace(name=n) for each, n in zip(sources, found.runs, strict=True)]
        else:
            summary, plots = _summarise(sources[0])
        return write_report(
            (each for one in sources for each in _page_reports(one)),
            output or beside(opened[0], "comparison.html" if others else "report.html"),
            title=title or _title(opened),
            summary=summary,
            plots=plots,
            findings={
                k: v for each in opened for k, v in support_for(each).task_findings(each).items()
            },
            facts=_facts(sources),
            compared=compared,
            timeline=_timelines(sources),
            policies=_policies(opened),
            unrecorded={} if others else _unrecorded(sources[0].found),
        )


def _unrecorded(found: RunFindings) -> Mapping[TaskKey, Sequence[str]]:
    failed = (TaskKey(*line.simulation[:2]) for line in found.lines if line.passed is False)
    return unrecorded_trials(found.folder, failed)


def _policies(opened: Sequence[Recording]) -> Mapping[str, Iterable[str]]:
    """Return the policies of all runs, of each domain every one once."""
    found: dict[str, dict[str, None]] = {}
    for each in opened:
        for domain, texts in support_for(each).policies(each).items():
            found.setdefault(domain, {}).update(dict.fromkeys(texts))
    return found


def _timelines(sources: Sequence["_Source"]) -> TimelineOf:
    """Return what finds the timeline of a simulation, in the run that its report names."""
    found = {one.name: one.found.timelines for one in sources}
    return lambda shown: found[text_or_none(shown.get("run"))].get(
        Simulation.of(cast(Report, shown))
    )


def _title(opened: Sequence[Recording]) -> str:
    names = list(map(name_of, opened))
    listed = ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
    return listed if len(names) < 4 else count_of(len(names), "run")


def _facts(sources: Sequence["_Source"]) -> Iterator[tuple[str, str]]:
    """Yield the facts of each run, with its name if there are several."""
    for one in sources:
        whose = "" if one.name is None else f" of {one.name}"
        yield from (
            (name + whose, value) for name, value in facts_of(one.found.folder.config.values)
        )


class _Source(NamedTuple):
    """A run with all that was found out about it, and its name if there are several."""

    found: RunFindings
    name: str | None = None


def _diagnose(folder: Recording, explain: bool, on_progress: OnProgress | None) -> _Source:
    reasons = REASONS if explain else ()
    return _Source(examine_run(folder, reasons, on_progress, timelines=True))


def _summarise(source: _Source) -> tuple[dict[str, Any], list[str]]:
    found = source.found
    folder, lines = found.folder, found.lines
    summary = page_summary(folder, lines, found.unexplained, found.findings)
    check, (_, unreadable) = found.check, remarks_by_simulation(folder.path)
    doubt = doubt_about(folder, check)
    obstacle = None if check is None else check.obstacle
    notes = [*filter(None, [obstacle, unreadable]), *summary["notes"]]
    summary["notes"] = [each for each in notes if not doubt or each not in doubt["reasons"]]
    summary["doubt"] = doubt
    return summary, drawings(folder, lines)


def drawings(
    folder: Recording,
    lines: Sequence[Outcome],
    *,
    marks: bool = True,
    found: Summary | None = None,
) -> list[str]:
    """Draw a run: the trials of each task, and pass^k; ``found`` saves summarising it again.

    Without ``marks``, what has a mark for each simulation is left out.
    """
    if found is None:
        found = summarise_run(lines, folder.planned, folder.config.stops_at_failure)
    drawn = [trial_map(with_gaps(lines, folder.planned))] if marks and lines else []
    if not found.overall.done:  # without a verdict there is no pass^k
        return drawn
    mark = f", {chosen}" if (chosen := mark_of(folder.config.values)) else ""
    *domains, last = found.groups
    groups = {**{each.group or "": each for each in domains}, last.group or "all": last}
    curves = {f"{name}{mark}": replace(found, groups=[each]) for name, each in groups.items()}
    return [*drawn, pass_curves(curves)]


def page_summary(
    run: Recording,
    lines: Sequence[Outcome],
    unexplained: str | None,
    findings: Mapping[Simulation, Sequence[Finding]],
    found: Summary | None = None,
) -> dict[str, Any]:
    """Return the numbers of a run with their notes, as a page shows them.

    Without ``findings`` there are no numbers beside the official one.
    """
    support = support_for(run)
    conventions = support.conventions(run, lines)
    numbers = run_summary(lines, run.planned, conventions, run.config, found)
    summary = numbers.for_report()
    resume = resume_note(run, numbers.overall.missing)
    known = [*warnings_on(run.config.values), *notes_on(run)]
    notes = [*known, *summary["notes"], *filter(None, [resume])]
    summary["notes"] = [*notes, *([f"Note: {unexplained}"] if unexplained else [])]
    if findings:
        scores = variant_scores(lines, findings, support.variants(run), run.planned)
        users = users_note(lines, findings, support.user_model(run.config.values))
        summary["beside"] = variant_rows(scores)
        summary["meaning"] += [*variant_notes(scores), *filter(None, [users])]
    return summary


def _page_reports(source: _Source) -> Iterator[Mapping[str, object]]:
    """Yield the reports, each with its task's title and the findings about it."""
    found = source.found
    support = support_for(found.folder)
    titles: dict[TaskKey, str | None] = {}
    remarks, _ = remarks_by_simulation(found.folder.path)
    for each in found.folder.reports():
        key = RecordedReport(each).task
        if key not in titles:
            titles[key] = support.task_title(each)
        one = Simulation.of(each)
        findings, explanation = found.findings.get(one, ()), found.explanations.get(one)
        shown = complete_report(each, titles[key], findings, explanation)
        if one in remarks:
            shown["remarks"] = [remark.to_dict() for remark in remarks[one]]
        if source.name is not None:
            shown["run"] = source.name
        differing = found.check.differing.get(one) if found.check else None
        if doubt := differing.doubt if differing else doubt_in(each):
            shown["doubt"] = doubt.text
            shown["labels"] = [*entries(shown.get("labels")), doubt.label]
        yield shown


def _report_of_file(path: Path, output: str | os.PathLike[str] | None, title: str | None) -> Path:
    """Write the page of a ``FileResultLogger``'s reports; without a plan it has no pass^k."""
    reports = read_reports(path)
    if not reports:
        raise NotRunError(f"{path} holds no finished repetition yet; there is nothing to report")
    return write_report(reports, output or path.with_suffix(".html"), title=title or path.stem)
