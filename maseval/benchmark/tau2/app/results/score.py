"""``maseval score``, ``tau2 certify`` and ``verify``: recorded conversations judged again.

A certificate is a record of recomputed numbers.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Unpack

from maseval.app.results.finding import Files, each_of
from maseval.benchmark.tau2.app.results.sources import (
    judge_for,
    open_source,
    own_judge,
    simulations_in,
)
from maseval.benchmark.tau2.certify import Certificate
from maseval.benchmark.tau2.certify import certify as certify_source
from maseval.benchmark.tau2.certify import verify as verify_source
from maseval.benchmark.tau2.rescoring.findings import record_findings
from maseval.benchmark.tau2.rescoring.record import SimulationRecord
from maseval.benchmark.tau2.rescoring.rescore import (
    NO_RECORDED_VERDICT,
    RescoredRecord,
    rescore_record,
)
from maseval.benchmark.tau2.rescoring.verdict import NEEDS_JUDGE
from maseval.benchmark.tau2.scoring.rule import MEASURED, RULE
from maseval.core.exceptions import NotRunError, OutputExistsError
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.storage.files import atomic_file
from maseval.runs import RunFolder
from maseval.runs.config import mark_of_perturbation
from maseval.runs.config_file import is_run_folder, read_config
from maseval.runs.recording import Recording
from maseval.stats.trials import by_task


class FileScore:
    """The answer of ``maseval score`` on one file or run: what follows from the verdicts ``found``.

    ``verdicts`` planned simulations have a new verdict, and ``passes`` passed; of the others,
    ``open`` ones wait for a judge. ``agreeing`` of ``compared`` recorded verdicts were confirmed.
    ``not_replayable`` conversations count as failures. ``findings`` are the faults of the record.
    """

    def __init__(self, path: Path, found: RescoredRecord) -> None:
        self.path, self.found = path, found
        self.planned, verdicts = len(found.slots), found.passes.values()
        self.passes = sum(passed is True for passed in verdicts)
        self.verdicts = sum(passed is not None for passed in verdicts)
        self.open = sum(each.reason == NEEDS_JUDGE for each in found.outcomes)
        self.pass_hat = found.summary.pass_hat if found.summary else {}
        self.shortfall = found.summary.shortfall if found.summary else None
        self.recorded_passes = sum(each.passed_as_recorded for each in found.simulations)
        self.compared = len(found.compared)
        self.agreeing = sum(each.agrees for each in found.simulations)
        self.not_replayable = sum(each.fault is not None for each in found.simulations)
        self.findings = record_findings(found)
        config = read_config(path).config.values if is_run_folder(path) else {}
        perturbed = mark_of_perturbation(config)
        self.marks = [*found.options.marks, *([perturbed] if perturbed else [])]

    @property
    def trials_differ(self) -> tuple[int, int] | None:
        """The least and the most trials of a task that have a verdict, if these differ."""
        totals = [trials.total for trials in by_task(self.found.outcomes).values() if trials.total]
        return (min(totals), max(totals)) if len({*totals}) > 1 else None

    @property
    def skipped(self) -> Mapping[str, int]:
        """The reasons why simulations were not compared, with their numbers."""
        without = sum(each.recorded is None and not each.problem for each in self.found.simulations)
        return self.found.problems | ({NO_RECORDED_VERDICT: without} if without else {})

    @property
    def disagreements(self) -> list[dict[str, Any]]:
        """Every simulation whose verdict differs, and where."""
        found = []
        for each in self.found.disagreeing:
            replay = [] if each.fault is None else [f"it cannot be replayed: {each.fault.error}"]
            named = {"task_id": each.slot.task_id, "trial": each.slot.trial}
            found.append({**named, "differences": [*each.differences, *replay]})
        return found

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
    def agrees(self) -> bool:
        """True if something was compared, and the record has no fault; a caution is none."""
        return bool(self.compared) and all(each.weight == "remark" for each in self.findings)

    @property
    def judge_words(self) -> list[str]:
        """Say which judge decided, and how often it was asked."""
        judge = self.found.model
        if judge is None:
            return []
        if judge.model == RULE:
            return [f"judge: rule, not the official number; {MEASURED}"]
        file = f" from {judge.record.path.name}" if judge.record else ""
        return [f"judge {judge.model_id}: {judge.asked} asked, {judge.known} known{file}"]

    def to_dict(self) -> dict[str, object]:
        judge = self.found.model
        asked = judge and {
            "model": judge.model_id,
            "asked": judge.asked,
            "known": judge.known,
        }
        return {
            "path": str(self.path),
            "version": self.found.version,
            "version_from": self.found.record.version_from,
            "marks": self.marks,
            "findings": [each.to_dict() for each in self.findings],
            "planned": self.planned,
            "simulations": len(self.found.simulations),
            "missing": list(map(str, self.found.missing)),
            "compared": self.compared,
            "agreeing": self.agreeing,
            "passed_as_recorded": self.recorded_passes,
            "verdicts": self.verdicts,
            "passed": self.passes,
            "needs_judge": self.open,
            **({"judges": [asked]} if asked else {}),
            "not_replayable": self.not_replayable,
            "skipped": dict(self.skipped),
            "disagreements": self.disagreements,
            **{f"pass^{k}": each.in_brief() for k, each in self.pass_hat.items()},
            "over_split": self.over_split,
        }


def score(
    files: Files,
    *,
    judge_model: str | None = None,
    base_url: str | None = None,
    on_progress: Callable[[int], object] | None = None,
    **scoring: Unpack[ScoringKeywords],
) -> list[FileScore]:
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

    def judge(source: Recording) -> FileScore:
        asked = judge_for(source, judge_model, base_url)
        record = simulations_in(source, options.domain, options.data_version)
        found = rescore_record(record, options, judge=asked, on_progress=on_progress)
        return FileScore(source.path, found)

    # Every file is opened before any is judged, so that a wrong name is told at once.
    return [judge(each) for each in [open_source(file) for file in each_of(files)]]


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
    if target is not None and target.exists() and not overwrite:
        text = f"{target} already exists; --overwrite (overwrite=True) replaces it"
        raise OutputExistsError(text)
    found, simulations = _open_certifiable(source, domain, data_version)
    certificate = certify_source(simulations, partial=partial, judge=own_judge(found))
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(target) as file:
            file.write(certificate.to_json().encode())
    return certificate


def _open_certifiable(
    file: str | os.PathLike[str], domain: str | None = None, data_version: str | None = None
) -> tuple[Recording, SimulationRecord]:
    """Return a results file or a run, and its simulations."""
    source = open_source(file)
    if isinstance(source, RunFolder) and not source.recorded:
        raise NotRunError(f"{source.path} has no finished simulation yet; nothing to certify")
    return source, simulations_in(source, domain, data_version)


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
    found, simulations = _open_certifiable(source, domain, given.version)
    return verify_source(given, simulations, judge=own_judge(found))
