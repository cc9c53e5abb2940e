"""``maseval score``, ``tau2 certify`` and ``verify``: recorded conversations judged again.

A certificate is a record of recomputed numbers.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Unpack

from maseval.app.results.names import Files, each_of
from maseval.benchmark.tau2.app.results.sources import (
    judge_for,
    open_source,
    own_judge,
    recorded_in,
)
from maseval.benchmark.tau2.certify import Certificate
from maseval.benchmark.tau2.certify import certify as certify_source
from maseval.benchmark.tau2.certify import verify as verify_source
from maseval.benchmark.tau2.rescoring.recount import Recount
from maseval.core.exceptions import NotRunError
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.files import check_free, write_bytes
from maseval.runs import RunFolder
from maseval.runs.recording import Recording


def score(
    files: Files,
    *,
    judge_model: str | None = None,
    base_url: str | None = None,
    on_progress: Callable[[int], object] | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> list[Recount]:
    """Judge the simulations of run folders and results files again, by the benchmark's rules.

    Args:
        judge_model: Model that judges natural-language assertions, where the reward depends on
            them. Replies are kept with the run or beside the file, and nothing is asked twice.
        base_url: The address of an OpenAI-compatible server for the judge.
        on_progress: Gets the number of simulations judged so far of the file at hand.
        scoring: The fields of ``ScoringOptions``. Without ``data_version``, runs are scored by the
            release that they were made with, files in the form of v1.0.x by v1.0.1, and other
            files by v0.2.0.
    """
    options = ScoringOptions(**scoring)

    def recount(source: Recording) -> Recount:
        asked = judge_for(source, judge_model, base_url)
        found = Recount(recorded_in(source), options, path=source.path, judge=asked)
        for number, _ in enumerate(found.judge_all(), 1):
            if on_progress is not None:
                on_progress(number)
        return found

    # Every file is opened before any is judged, so that a wrong name is told at once.
    return [recount(each) for each in [open_source(file, options) for file in each_of(files)]]


def certify(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    domain: str | None = None,
    partial: bool = False,
    data_version: str | None = None,
    overwrite: bool = False,
) -> Certificate:
    """Score every simulation of a results file or a run anew, and write down what came out.

    ``domain`` is used whatever the file calls its own. Every task of the split should be there,
    or with ``partial`` every task that the file lists. ``data_version`` names the release by whose
    tasks and rules a file is judged.
    """
    target = None if output is None else Path(output)
    if target is not None:
        check_free(target, overwrite)
    found = _open_certifiable(source)
    options = ScoringOptions(domain=domain, data_version=data_version)
    certificate = certify_source(
        recorded_in(found), options, partial=partial, judge=own_judge(found)
    )
    if target is not None:
        write_bytes(target, certificate.to_json().encode())
    return certificate


def _open_certifiable(file: str | os.PathLike[str]) -> Recording:
    source = open_source(file)
    if isinstance(source, RunFolder) and not source.recorded:
        raise NotRunError(f"{source.path} has no finished simulation yet; nothing to certify")
    return source


def verify(
    certificate: str | os.PathLike[str],
    source: str | os.PathLike[str],
    *,
    domain: str | None = None,
) -> list[str]:
    """Certify again, and list what differs from the certificate; nothing if it holds.

    A certificate that was itself changed raises a ``CertificateError``.
    """
    given = Certificate.of(Path(certificate).read_text(encoding="utf-8"))
    found = _open_certifiable(source)
    options = ScoringOptions(domain=domain, data_version=given.version)
    return verify_source(given, recorded_in(found), options, judge=own_judge(found))
