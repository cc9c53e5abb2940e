"""``maseval plots``: a run to be looked at."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from maseval.benchmark.tau2.trust.labels import LabelSummary
from maseval.commands.drawing import write_svg
from maseval.commands.finding import open_run
from maseval.commands.tau2.diagnosis import OnProgress, diagnoses, is_tau2, label_summary
from maseval.core.exceptions import NotRunError
from maseval.runs import RunFolder
from maseval.stats import Outcome, label_bars, outcomes_of, pass_curves, summarise, trial_map


def plots(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    explain: bool = True,
    on_progress: OnProgress | None = None,
) -> list[Path]:
    """Draw a run into SVG files of a folder, by default ``plots`` in the run's own.

    These are pass^k against k, the trials of each task, and with ``explain`` the labels of what
    failed.
    """
    folder = open_run(run)
    labels = None
    if explain and is_tau2(folder):
        labels = label_summary(diagnoses(folder, on_progress))
    target = folder.path / "plots" if output is None else Path(output)
    return [
        write_svg(svg, target / f"{name}.svg") for name, svg in drawings(folder, labels).items()
    ]


def drawings(folder: RunFolder, labels: LabelSummary | None = None) -> dict[str, str]:
    """The plots of a run by their names."""
    outcomes = outcomes_of(folder.reports())
    if not outcomes:
        raise NotRunError(f"{folder.path} has no finished simulation yet; nothing to draw")
    drawn = {
        "pass_curves": pass_curves({n: summarise(each) for n, each in _groups(outcomes).items()}),
        "trial_map": trial_map([*outcomes, *_missing(folder, outcomes)]),
    }
    if labels is not None:
        drawn["failure_labels"] = label_bars(labels["by_what"])
    return drawn


def _groups(outcomes: Sequence[Outcome]) -> Mapping[str, list[Outcome]]:
    """Each domain, and all together if there are several."""
    names = dict.fromkeys(outcome.group for outcome in outcomes)
    groups = {name: [each for each in outcomes if each.group == name] for name in names}
    if len(groups) == 1:
        return {name or "all": each for name, each in groups.items()}
    return {**groups, "all": list(outcomes)}


def _missing(folder: RunFolder, outcomes: Sequence[Outcome]) -> list[Outcome]:
    there = {(each.group, each.task, each.trial) for each in outcomes}
    return [Outcome(*one, passed=None) for one in folder.planned if tuple(one) not in there]
