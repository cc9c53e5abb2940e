"""``maseval score``, ``tau2 certify`` and ``verify``: recorded conversations judged again.

A certificate is a record of recomputed numbers.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

from maseval.app.results.questions import Files, files_below
from maseval.benchmark.tau2.app.results.sources import (
    judge_for,
    open_source,
    own_judge,
    simulations_in,
)
from maseval.benchmark.tau2.certify import Certificate, CertificateError
from maseval.benchmark.tau2.certify import certify as certify_source
from maseval.benchmark.tau2.certify import verify as verify_source
from maseval.benchmark.tau2.rescoring.findings import record_findings
from maseval.benchmark.tau2.rescoring.record import SimulationRecord
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord, rescore_record
from maseval.benchmark.tau2.rescoring.verdict import NEEDS_JUDGE
from maseval.benchmark.tau2.scoring.judge import RememberingJudge
from maseval.core.exceptions import NotRunError, OutputExistsError
from maseval.core.finding import Finding
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.files import atomic_file
from maseval.interface.signing import is_signed, signature
from maseval.runs import RunFolder
from maseval.stats.summary import Estimate


class FileScore:
    """One file or run, judged again.

    Of the ``planned`` simulations, ``verdicts`` have a new verdict, and ``passes`` passed; of the
    others, which ``shortfall`` accounts for, ``open`` ones wait for a judge. The record calls
    ``recorded_passes`` passed. ``agreeing`` of ``compared`` recorded verdicts were confirmed.
    ``not_replayable`` conversations count as failures. ``marks`` say how it was judged, if not by
    the benchmark's tasks.
    """

    def __init__(self, path: Path, found: RescoredRecord) -> None:
        self.path, self.found = path, found
        self.planned = len(found.slots)
        self.simulations = len(found.simulations)
        self.missing = [str(slot) for slot in found.missing]
        self.passes = found.passed
        self.verdicts = sum(passed is not None for passed in found.passes.values())
        self.open = sum(each.reason == NEEDS_JUDGE for each in found.outcomes)
        self.shortfall = None if found.summary is None else found.summary.shortfall
        self.recorded_passes = sum(each.passed_as_recorded for each in found.simulations)
        self.compared = len(found.compared)
        self.agreeing = sum(each.agrees for each in found.simulations)
        self.not_replayable = sum(each.fault is not None for each in found.simulations)
        self.marks = found.options.marks
        self.judge = found.model

    @property
    def skipped(self) -> Mapping[str, int]:
        """The reasons why simulations were not compared, with their numbers."""
        without = sum(each.recorded is None and not each.problem for each in self.found.simulations)
        return self.found.problems | ({"no recorded verdict": without} if without else {})

    @cached_property
    def disagreements(self) -> list[dict[str, Any]]:
        """Every simulation whose verdict differs, and where."""
        found = []
        for each in self.found.disagreeing:
            replay = [] if each.fault is None else [f"it cannot be replayed: {each.fault.error}"]
            named = {"task_id": each.slot.task_id, "trial": each.slot.trial}
            found.append({**named, "differences": [*each.differences, *replay]})
        return found

    @cached_property
    def findings(self) -> list[Finding]:
        """The faults of the record, with the evidence."""
        return record_findings(self.found)

    @property
    def over_split(self) -> dict[str, float] | None:
        """The range of pass^1 over whole splits, with their tasks; None if no task is missing."""
        if not (unlisted := self.found.unlisted):
            return None
        missing = sum(len(absent) for _, _, absent in unlisted.values())
        tasks = missing + len({slot.task for slot in self.found.slots})
        worst, best = self.found.bounds_over_split(self.found.domains)
        return {"tasks": tasks, "missing": missing, "worst": worst, "best": best}

    @property
    def pass_hat(self) -> Mapping[int, Estimate]:
        """pass^k of what has a verdict."""
        return self.found.pass_hat

    @property
    def agrees(self) -> bool:
        """True if something was compared, and the record has no fault; a caution is none."""
        return bool(self.compared) and all(each.weight == "remark" for each in self.findings)

    def to_dict(self) -> dict[str, object]:
        return {
            "path": str(self.path),
            "version": self.found.version,
            "version_from": self.found.record.version_from,
            "marks": self.marks,
            "findings": [each.to_dict() for each in self.findings],
            "planned": self.planned,
            "simulations": self.simulations,
            "missing": self.missing,
            "compared": self.compared,
            "agreeing": self.agreeing,
            "passed_as_recorded": self.recorded_passes,
            "verdicts": self.verdicts,
            "passed": self.passes,
            "needs_judge": self.open,
            **_judge_in_json(self.judge),
            "not_replayable": self.not_replayable,
            "skipped": dict(self.skipped),
            "disagreements": self.disagreements,
            **{f"pass^{k}": estimate.in_brief() for k, estimate in self.pass_hat.items()},
            "over_split": self.over_split,
        }


def _judge_in_json(judge: RememberingJudge | None) -> dict[str, object]:
    if judge is None:
        return {}
    used = {"model": judge.model_id, "asked": judge.asked, "remembered": judge.remembered}
    return {"judges": [used]}


def score(
    files: Files,
    *,
    strict: bool = False,
    judge_model: str | None = None,
    base_url: str | None = None,
    on_progress: Callable[[int], object] | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> list[FileScore]:
    """Judge the simulations of run folders and results files again, by the benchmark's rules.

    Of a folder that is not a run, all results files below it are judged.

    Args:
        strict: A conversation that cannot be replayed raises what the original raises, and is
            shown as a disagreement; without it the reward is 0.
        judge_model: Model that judges natural-language assertions, where the reward depends on
            them. Replies are kept with the run or beside the file, and nothing is asked twice.
        base_url: The address of an OpenAI-compatible server for the judge.
        on_progress: Gets the number of simulations judged so far of the file at hand.
        scoring: The fields of ``ScoringOptions``. Without ``data_version``, runs are scored by the
            release that they were made with, files in the form of v1.0.x by v1.0.1, and other
            files by v0.2.0.
    """
    options = ScoringOptions(strict=strict, **scoring)

    def judge(source: RunFolder | Path) -> FileScore:
        path = source if isinstance(source, Path) else source.path
        asked = judge_for(source, judge_model, base_url)
        record = simulations_in(source, options.domain, options.data_version)
        return FileScore(
            path, rescore_record(record, options, judge=asked, on_progress=on_progress)
        )

    # Every file is opened before any is judged, so that a wrong name is told at once.
    return [judge(each) for each in [open_source(file) for file in files_below(files)]]


@dataclass(frozen=True)
class Certified:
    """A certificate, and the file it was written to."""

    certificate: Certificate
    written: Path | None


def certify(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    domain: str | None = None,
    partial: bool = False,
    sign: str | os.PathLike[str] | None = None,
    data_version: str | None = None,
    overwrite: bool = False,
) -> Certified:
    """Score every simulation of a results file or a run anew, and write down what came out.

    ``domain`` is used whatever the file calls its own. Every task of the split should be there,
    or with ``partial`` every task that the file lists. ``sign`` is a file with an Ed25519 private
    key, with which the certificate is signed. ``data_version`` names the release by whose tasks and
    rules a file is judged.
    """
    target = None if output is None else Path(output)
    if target is not None and target.exists() and not overwrite:
        raise OutputExistsError(f"{target} already exists; choose another file, or overwrite it")
    found, simulations = _open_certifiable(source, domain, data_version)
    certificate = certify_source(simulations, partial=partial, judge=own_judge(found))
    if sign is not None:
        certificate = certificate.with_signature(signature(certificate.signed_text, Path(sign)))
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as file:
            file.write(certificate.to_json().encode())
    return Certified(certificate, target)


def _open_certifiable(
    file: str | os.PathLike[str], domain: str | None = None, data_version: str | None = None
) -> tuple[RunFolder | Path, SimulationRecord]:
    """Return a results file or a run, and its simulations."""
    source = open_source(file)
    if isinstance(source, RunFolder) and not source.recorded:
        raise NotRunError(f"{source.path} has no finished simulation yet; nothing to certify")
    return source, simulations_in(source, domain, data_version)


def certificate_of(folder: RunFolder) -> str:
    """Return the certificate of what a run holds."""
    return certify(folder.path, partial=True).certificate.to_json()


def certificate_differences(certificate: Path, folder: RunFolder) -> list[str]:
    """Return the differences between a run and its certificate."""
    return verify(certificate, folder.path).differences


@dataclass(frozen=True)
class Verification:
    """A check of simulations against a certificate; ``differences`` lists all.

    ``signed`` if the certificate's signature was checked, too.
    """

    certificate: Path
    path: Path
    differences: list[str]
    signed: bool = False

    @property
    def holds(self) -> bool:
        """True if nothing differs."""
        return not self.differences

    def to_dict(self) -> dict[str, object]:
        return {
            "certificate": str(self.certificate),
            "path": str(self.path),
            "holds": self.holds,
            "signed": self.signed,
            "differences": self.differences,
        }


def verify(
    certificate: str | os.PathLike[str],
    source: str | os.PathLike[str],
    *,
    domain: str | None = None,
    key: str | os.PathLike[str] | None = None,
) -> Verification:
    """Certify again, and list what differs from the certificate.

    A certificate that was itself changed, or with ``key`` (a file with an Ed25519 public key) is
    not signed by its owner, raises a ``CertificateError``.
    """
    name = Path(certificate)
    given = Certificate.of(name.read_text(encoding="utf-8"))
    if key is not None:
        _check_signature(given, Path(key))
    found, simulations = _open_certifiable(source, domain, given.version)
    differences = verify_source(given, simulations, judge=own_judge(found))
    path = found if isinstance(found, Path) else found.path
    return Verification(name, path, differences, signed=key is not None)


def _check_signature(certificate: Certificate, key: Path) -> None:
    if certificate.signature is None:
        raise CertificateError(
            f"the certificate is not signed, so {key} proves nothing; ask for one made with "
            "`maseval tau2 certify --sign`"
        )
    if not is_signed(certificate.signed_text, certificate.signature, key):
        raise CertificateError(
            f"the certificate was not signed by the owner of {key}, or was changed since; ask for "
            "the right key, or certify the simulations again"
        )
