"""``maseval tau2 certify``: numbers recomputed, and held together by a hash."""

import os
from dataclasses import dataclass
from pathlib import Path

from maseval.benchmark.tau2.trust.certify import Certificate
from maseval.benchmark.tau2.trust.certify import certify as certify_source
from maseval.benchmark.tau2.trust.certify.sources import Certifiable
from maseval.commands.tau2.sources import open_source
from maseval.core.exceptions import NotRunError, OutputExistsError


@dataclass(frozen=True)
class Certified:
    """A certificate, and the file it was written to."""

    path: Path
    certificate: Certificate
    written: Path | None


def certify(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    domain: str | None = None,
    overwrite: bool = False,
) -> Certified:
    """Score every simulation of a results file or a run anew, and write down what came out.

    ``domain`` is that of simulations that do not name theirs.
    """
    target = None if output is None else Path(output)
    if target is not None and target.exists() and not overwrite:
        raise OutputExistsError(f"{target} already exists; choose another file, or overwrite it")
    path, simulations = certifiable(source)
    certificate = certify_source(simulations, domain=domain)
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(certificate.to_json(), encoding="utf-8")
    return Certified(path, certificate, target)


def certifiable(file: str | os.PathLike[str]) -> tuple[Path, Certifiable]:
    """The path and the simulations of a results file or a run."""
    source = open_source(file)
    if source.results is not None:
        return source.path, source.results
    assert source.folder is not None
    if not source.folder.recorded:
        raise NotRunError(f"{source.path} has no finished simulation yet; nothing to certify")
    return source.path, source.folder.reports()
