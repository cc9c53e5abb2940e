"""``maseval plots``: a run as SVG, PNG or PDF files."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Unpack

from maseval.app.benchmarks import OnProgress, support_for
from maseval.app.results.finding import open_recording
from maseval.app.results.recomputed import recompute_verdicts
from maseval.app.results.recording import beside, lines_of, notes_on
from maseval.core.exceptions import ConfigurationError, NotRunError
from maseval.core.outcome import SimulationLine
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.files import write_bytes
from maseval.interface.cairosvg import picture_of
from maseval.report.results import well_formed
from maseval.runs.config import mark_of
from maseval.runs.recording import Recording
from maseval.stats import Outcome, label_bars, pass_curves, summarise, trial_map
from maseval.stats.failure_labels import LabelSummary
from maseval.stats.first_failures import first_trials_only
from maseval.stats.plots.svg import in_plain_colours
from maseval.stats.summary import MISSING


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
    folder, check = recompute_verdicts(open_recording(run, ScoringOptions(**scoring)))
    found = support_for(folder).run_diagnosis(folder, on_progress) if explain else None
    drawn = drawings(folder, None if found is None else found.labels)
    target = beside(folder, "plots") if output is None else Path(output)
    files = (write_plot(svg, target / f"{name}.{form}") for name, svg in drawn.items())
    note = None if check is None else check.note_on_recomputed
    return PlotFiles(files, [*filter(None, [note]), *notes_on(folder)])


def drawings(
    folder: Recording,
    labels: LabelSummary | None = None,
    lines: Sequence[SimulationLine] | None = None,
) -> dict[str, str]:
    """Draw the plots of a run, by name; ``lines`` saves reading the run once more."""
    outcomes = [each.to_outcome() for each in (lines_of(folder) if lines is None else lines)]
    if not outcomes:
        raise NotRunError(f"{folder.path} has no finished simulation yet; nothing to draw")
    every = [*outcomes, *_missing(folder, outcomes)]
    mark = f", {found}" if (found := mark_of(folder.config.values)) else ""
    k = folder.config.stops_at_failure
    drawn = {
        "pass_curves": pass_curves(
            {
                f"{name}{mark}": first_trials_only(summarise(each), each, k)
                for name, each in _groups(every).items()
            }
        ),
        "trial_map": trial_map(every),
    }
    if labels is not None:
        drawn["failure_labels"] = label_bars(labels["by_what"])
    return drawn


def _groups(outcomes: Sequence[Outcome]) -> Mapping[str, list[Outcome]]:
    """Group by domain, and all together if there are several."""
    names = dict.fromkeys(outcome.group for outcome in outcomes)
    groups = {name: [each for each in outcomes if each.group == name] for name in names}
    if len(groups) == 1:
        return {name or "all": each for name, each in groups.items()}
    return {**groups, "all": list(outcomes)}


def _missing(folder: Recording, outcomes: Sequence[Outcome]) -> list[Outcome]:
    there = {(each.group, each.task, each.trial) for each in outcomes}
    return [
        Outcome(*one, passed=None, reason=MISSING)
        for one in folder.planned
        if tuple(one) not in there
    ]


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
