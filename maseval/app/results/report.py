"""``maseval report``: a run, or several compared, as one HTML file."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, cast

from maseval.app.benchmarks import OnProgress, support_for
from maseval.app.comparing.compare import compare
from maseval.app.comparing.page import document_of
from maseval.app.results.examined import REVIEW, TIMELINE, TITLE, RunFindings, examine_run
from maseval.app.results.explained import Review, complete_report
from maseval.app.results.finding import (
    Files,
    each_of,
    holds_reports,
    open_recording,
    warn_of_damage,
)
from maseval.app.results.measured import measure_notes, measure_rows
from maseval.app.results.recording import (
    beside,
    facts_of,
    judging_in_words,
    name_of,
    notes_on,
    resume_note,
    warnings_on,
)
from maseval.app.results.results import run_summary
from maseval.core.callbacks import read_reports
from maseval.core.exceptions import NotRunError
from maseval.core.outcome import Simulation
from maseval.core.recorded import entries
from maseval.core.report import Report
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.words import count_of, text_or_none
from maseval.report import write_report
from maseval.runs.config import mark_of
from maseval.runs.recording import ReadOnce, Recording, unrecorded_trials
from maseval.runs.verdict_check import doubt_about, doubt_in
from maseval.stats import pass_plot
from maseval.stats.plots import Drawing
from maseval.stats.summary import Summary


def report(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    explain: bool = True,
    against: Files | None = None,
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
    others = each_of(against or ())
    if not others and holds_reports(run):
        return _report_of_file(Path(run), output, title)
    names = [run, *others]
    options = ScoringOptions(**scoring)
    recordings = [open_recording(each, options) for each in names]
    for each in recordings:
        warn_of_damage(each)
    opened = [ReadOnce(each) for each in recordings]
    parts = (*(REVIEW if explain else ()), *TITLE, *TIMELINE)
    found = [examine_run(each, parts, on_progress) for each in opened]
    runs: dict[str | None, RunFindings] = {None: found[0]}
    summary, plots, compared = None, list[Drawing](), None
    if others:
        comparison = compare(names, options=options, explain=explain)
        compared = document_of(comparison)
        runs = dict(zip(comparison.runs, found, strict=True))
    else:
        summary, plots = _summarise(found[0])
    return write_report(
        (each for name, one in runs.items() for each in _page_reports(one, name)),
        output or beside(opened[0], "comparison.html" if others else "report.html"),
        title=title or _title(opened),
        summary=summary,
        plots=plots,
        findings={k: v for one in opened for k, v in support_for(one).task_findings(one).items()},
        facts=_facts(runs),
        compared=compared,
        # The report on the page names its run.
        timeline=lambda shown: (
            runs[text_or_none(shown.get("run"))].each[Simulation.of(cast(Report, shown))].timeline
        ),
        policies=_policies(opened),
        unrecorded={} if others else unrecorded_trials(found[0].folder),
    )


def _policies(opened: Sequence[Recording]) -> Mapping[str, Iterable[str]]:
    """Return the policies of all runs, of each domain every one once."""
    found: dict[str, dict[str, None]] = {}
    for each in opened:
        for domain, texts in support_for(each).policies(each).items():
            found.setdefault(domain, {}).update(dict.fromkeys(texts))
    return found


def _title(opened: Sequence[Recording]) -> str:
    names = list(map(name_of, opened))
    listed = ", ".join(names[:-1]) + " and " * (len(names) > 1) + names[-1]
    return listed if len(names) < 4 else count_of(len(names), "run")


def _facts(runs: Mapping[str | None, RunFindings]) -> Iterator[tuple[str, str]]:
    """Yield the facts of each run, with its name if there are several."""
    for name, one in runs.items():
        whose = "" if name is None else f" of {name}"
        yield from ((fact + whose, value) for fact, value in facts_of(one.folder.config.values))


def _summarise(found: RunFindings) -> tuple[dict[str, Any], list[Drawing]]:
    folder, summary = found.folder, page_summary(found)
    check = found.check
    doubt = doubt_about(folder, check)
    obstacle = None if check is None else check.obstacle
    notes = [*filter(None, [obstacle]), *summary["notes"]]
    summary["notes"] = [each for each in notes if not doubt or each not in doubt["reasons"]]
    summary["doubt"] = doubt
    return summary, drawings(folder, found.summary)


def drawings(folder: Recording, found: Summary) -> list[Drawing]:
    """Draw the pass^k of a run."""
    if not found.overall.done:  # without a verdict there is no pass^k
        return []
    mark = f", {chosen}" if (chosen := mark_of(folder.config.values)) else ""
    *domains, last = found.groups
    groups = {**{each.group or "": each for each in domains}, last.group or "all": last}
    curves = {f"{name}{mark}": replace(found, groups=[each]) for name, each in groups.items()}
    return [pass_plot(curves)]


def page_summary(run: RunFindings, found: Summary | None = None) -> dict[str, Any]:
    """Return the numbers of a run with their notes, as a page shows them.

    Without findings there are no numbers beside the official one.
    """
    config = run.folder.config
    numbers = run_summary(run.lines, run.folder.planned, config, found) if found else run.summary
    summary = numbers.for_report()
    notes = [
        *warnings_on(config.values),
        *notes_on(run.folder),
        *filter(None, [judging_in_words(run.folder)]),
        *(run.checklist.lines() if run.checklist else ()),
        *summary["notes"],
        resume_note(run.folder, numbers.overall.missing),
        *map(str, run.judged_shares),
    ]
    summary["notes"] = [*filter(None, notes)]
    if run.findings:
        summary["beside"] = measure_rows(run.scores)
        summary["meaning"] += measure_notes(run.scores)
    return summary


def _page_reports(found: RunFindings, name: str | None) -> Iterator[Mapping[str, object]]:
    """Yield the reports, each with its task's title and the findings about it."""
    for each in found.folder.reports():
        one = Simulation.of(each)
        shown = complete_report(each, found.each[one].title, found.each[one].review or Review())
        if name is not None:
            shown["run"] = name
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
