"""``maseval tau2 export``: a run in the form of tau2-bench v0.2.0."""

import os
from pathlib import Path

from maseval.app.results.finding import open_run
from maseval.benchmark.tau2.results import ExportSummary, export_results
from maseval.core.exceptions import NotRunError


def export(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
) -> list[ExportSummary]:
    """Write one results file for each domain of a run, by default into the run's folder.

    ``output`` is the file for a run of one domain, and the folder for one of several.
    """
    folder = open_run(run)
    domains = list(dict.fromkeys(simulation.domain for simulation in folder.recorded))
    if not domains:
        raise NotRunError(f"{folder.path} has no finished simulation yet; nothing to export")
    target = None if output is None else Path(output)
    return [
        export_results(
            (folder.report(one) for one in folder.recorded if one.domain == domain),
            _file(target or folder.path, domain, alone=target is not None and len(domains) == 1),
            domain=domain,
            overwrite=overwrite,
        )
        for domain in domains
    ]


def _file(target: Path, domain: str, *, alone: bool) -> Path:
    return target if alone and not target.is_dir() else target / f"tau2-{domain}.json"
