"""``maseval report --format svg``: a run as SVG, PNG or PDF files."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from maseval.app.benchmarks import OnProgress
from maseval.app.results.examined import FINDINGS, examine_run
from maseval.app.results.finding import open_recording
from maseval.app.results.recording import beside, lines_of, notes_on
from maseval.core.exceptions import ConfigurationError, NotRunError
from maseval.core.outcome import Outcome
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.files import write_bytes
from maseval.interface.cairosvg import picture_of
from maseval.report.results import well_formed
from maseval.runs.config import mark_of
from maseval.runs.recording import Recording
from maseval.stats import label_bars, pass_curves, trial_map
from maseval.stats.summary import Summary, summarise_run, with_gaps
from maseval.stats.svg import in_plain_colours


class PlotFiles(list[Path]):
    """The files that were written; ``notes`` say what is wrong with the record of the run."""

    def __init__(self, files: Iterable[Path], notes: Sequence[str] = ()) -> None:
        super().__init__(files)
        self.notes = notes


def plots(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    form: str = "svg",
    explain: bool = True,
    on_progress: OnProgress | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> PlotFiles:
    """Draw a run into files of a folder, by default ``plots`` in the run's own.

    These are pass^k against k, the trials of each task, and with ``explain`` the labels of what
    failed. ``form`` is svg, png or pdf; the last two need the extra ``plots``. ``scoring``
    says how a results file is scored, as the fields of ``ScoringOptions``.
    """
    opened = open_recording(run, ScoringOptions(**scoring))
    found = examine_run(opened, FINDINGS if explain else (), on_progress)
    folder, check = found.folder, found.check
    if not found.lines:
        raise NotRunError(f"{folder.path} has no finished simulation yet; nothing to draw")
    drawn = drawings(folder, found.causes, found.lines)
    target = beside(folder, "plots") if output is None else Path(output)
    files = (write_plot(svg, target / f"{name}.{form}") for name, svg in drawn.items())
    note = None if check is None else check.note_on_recomputed
    return PlotFiles(files, [*filter(None, [note]), *notes_on(folder)])


def drawings(
    folder: Recording,
    causes: Mapping[str, int] | None = None,
    lines: Sequence[Outcome] | None = None,
    *,
    marks: bool = True,
    found: Summary | None = None,
) -> dict[str, str]:
    """Draw the plots of a run, by name; ``lines`` and ``found`` save reading the run once more.

    Without ``marks``, those that have a mark for each simulation are left out.
    """
    outcomes = lines_of(folder) if lines is None else lines
    if found is None:
        found = summarise_run(outcomes, folder.planned, folder.config.stops_at_failure)
    mark = f", {chosen}" if (chosen := mark_of(folder.config.values)) else ""
    drawn = {}
    if found.overall.done:  # without a verdict there is no pass^k
        curves = {f"{name}{mark}": each for name, each in _by_group(found).items()}
        drawn["pass_curves"] = pass_curves(curves)
    if marks and outcomes:
        drawn["trial_map"] = trial_map(with_gaps(outcomes, folder.planned))
    if causes:
        drawn["failure_labels"] = label_bars(causes)
    return drawn


def for_page(drawn: Mapping[str, str]) -> list[str]:
    """Return drawings in the order of a page, which begins with the trials of each task."""
    return [drawn[name] for name in sorted(drawn, key=lambda name: name != "trial_map")]


def _by_group(found: Summary) -> Mapping[str, Summary]:
    """Return the summary of each domain, and that of all together if there are several."""
    *domains, last = found.groups
    groups = {**{each.group or "": each for each in domains}, last.group or "all": last}
    return {name: replace(found, groups=[each]) for name, each in groups.items()}


def write_plot(drawing: str, path: str | os.PathLike[str]) -> Path:
    """Write a drawing as SVG, PNG or PDF, in place of an older one; folders on the way are made."""
    target = Path(path)
    if target.is_dir():
        raise ConfigurationError(f"{target} is a folder; name the file: {target / 'plot.svg'}")
    form, whole = target.suffix.lower().removeprefix("."), well_formed(drawing)
    match form:
        case "svg":
            content = whole.encode()
        case "png" | "pdf":
            content = picture_of(in_plain_colours(whole), form)
        case _:
            raise ConfigurationError(
                f"{target} is not an SVG, PNG or PDF file; "
                f"name it {target.with_suffix('.svg').name}"
            )
    write_bytes(target, content)
    return target
