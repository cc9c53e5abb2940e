"""``maseval export --format tau2-bench``: a run as results files of the original."""

import os
from pathlib import Path

from maseval.app.benchmarks import ExportedPath
from maseval.app.results.names import open_run
from maseval.benchmark.tau2.app.results.support import TAU2, RecordedSetup
from maseval.benchmark.tau2.results import ExportSummary, export_results
from maseval.benchmark.tau2.scoring.rule import RULE
from maseval.core.exceptions import ConfigurationError, NotRunError
from maseval.core.perturbation import mark_of_perturbation
from maseval.core.words import count_of


def export(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
) -> list[ExportSummary]:
    """Write one results file for each domain of a run, by default into the run's folder.

    ``output`` is the file for a run of one domain, and the folder for one of several.
    """
    folder = open_run(run, TAU2)
    if RecordedSetup.of(folder.config.values).judge == RULE:
        raise ConfigurationError(
            f"the verdicts of {folder.path} are those of a rule, not the official ones, which the "
            "form cannot say; run it with --judge-model MODEL"
        )
    domains = list(dict.fromkeys(simulation.domain for simulation in folder.recorded))
    if not domains:
        raise NotRunError(f"{folder.path} has no finished simulation yet; nothing to export")
    target = None if output is None else Path(output)
    subset, stopped = folder.config.subset, folder.config.stopped
    return [
        export_results(
            (folder.report(one) for one in folder.recorded if one.domain == domain),
            _file(target or folder.path, domain, alone=target is not None and len(domains) == 1),
            domain=domain,
            overwrite=overwrite,
        )._replace(
            subset=subset,
            stopped=None if stopped is None else stopped.note,
            perturbed=mark_of_perturbation(folder.config.values),
        )
        for domain in domains
    ]


def export_with_notes(
    run: str | os.PathLike[str], output: Path | None, *, overwrite: bool
) -> list[ExportedPath]:
    """Write the results files, and say of each what must be known about it."""
    found = []
    for each in export(run, output, overwrite=overwrite):
        marks = (each.subset and each.subset.note, each.stopped, each.perturbed)
        notes = [*filter(None, marks)]
        if each.omitted:
            notes.append(
                f"{count_of(len(each.omitted), 'simulation')} of {each.domain} ended in a way "
                f"that v0.2.0 cannot represent, listed in {each.omitted_path}"
            )
        found.append(ExportedPath(each.path, notes))
    return found


def _file(target: Path, domain: str, *, alone: bool) -> Path:
    return target if alone and not target.is_dir() else target / f"tau2-{domain}.json"
