"""``maseval bundle`` and ``unbundle``: a run as one archive that others can check and open."""

import os
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from maseval.app.benchmarks import BenchmarkSupport, support_for
from maseval.app.results.examined import examine_run
from maseval.app.results.finding import run_path, warn_of_damage
from maseval.app.results.report import report
from maseval.core.exceptions import MASEvalError, NotRunError, OutputExistsError
from maseval.core.storage.files import write_bytes
from maseval.core.storage.zip_archive import ArchiveLimits
from maseval.runs import RunFolder, RunLockedError, default_root, run_state
from maseval.runs.bundle import (
    CERTIFICATE,
    REPORT,
    SUFFIXES,
    BundleError,
    BundleManifest,
    describe_gaps,
    open_bundle,
    simulations_of,
    write_bundle,
)


@dataclass(frozen=True)
class BundleFile:
    path: Path
    manifest: BundleManifest

    def to_dict(self) -> dict[str, object]:
        return {"path": str(self.path), "bundle": self.manifest}


def bundle(
    run: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    overwrite: bool = False,
) -> BundleFile:
    """Write a run, its certificate and its report into one archive.

    Without ``output`` it is ``NAME.maseval.zip`` in the current folder.

    The certificate is left out, with a note, where the benchmark has none or its data is not here.
    """
    path = run_path(run)
    target = Path(output or f"{path.resolve().name}{SUFFIXES}")
    if target.exists() and not overwrite:
        raise OutputExistsError(
            f"{target} already exists; choose another file with --output, or --overwrite it"
        )
    folder = _finished_run(path)
    warn_of_damage(folder)
    made = {REPORT: _page(folder, path.resolve().name)}
    marks = (folder.config.subset, folder.config.stopped)
    notes = [each.note for each in marks if each is not None]
    try:
        certificate = support_for(folder).certificate(folder)
    except MASEvalError as error:
        notes.append(f"no certificate: {error}")
    else:
        if certificate is None:
            notes.append("no certificate: this benchmark has none")
        else:
            made[CERTIFICATE] = certificate.encode()
    check = examine_run(folder, ()).check
    if check is not None and check.differing and check.note:
        notes.append(check.note)
    notes += describe_gaps(simulations_of(folder))
    return BundleFile(target, write_bundle(folder, target, made, notes))


def _finished_run(path: Path) -> RunFolder:
    """Return the run if nobody writes to it and nothing of it is damaged, else raise."""
    state = run_state(path)
    if state.holder is not None:
        raise RunLockedError(f"{path} is still running ({state.holder}); bundle it when it ends")
    folder = RunFolder.read(path)
    if folder.damaged:
        raise BundleError(
            f"the log of {path} is damaged ({folder.damaged[0]}), so nobody could check a bundle "
            "of it; resume the run to make the damaged simulations again"
        )
    if not folder.recorded:
        raise NotRunError(f"{path} has no finished simulation yet; there is nothing to bundle")
    return folder


def _page(folder: RunFolder, title: str, *, explain: bool = True) -> bytes:
    with tempfile.TemporaryDirectory() as scratch:
        page = Path(scratch) / REPORT
        return report(folder.path, page, title=title, explain=explain).read_bytes()


@dataclass(frozen=True)
class UnbundledRun:
    """A run folder that was a bundle.

    Its checksums and its log hold, else there would be none. ``certificate`` lists where the
    numbers, computed anew, are not those of its certificate; None if that was not checked, and
    ``unchecked`` says why. ``data`` lists where the benchmark's data differs from the data here,
    and ``verdicts`` says which of its recorded verdicts do not hold when they are recomputed.
    ``notes`` say what the run lacks of its plan, of its end and of its report.
    """

    path: Path
    simulations: int
    certificate: list[str] | None
    unchecked: str | None
    data: list[str]
    verdicts: str | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def holds(self) -> bool:
        """True if nothing that was checked differs."""
        return not self.certificate and not self.data and not self.verdicts

    def to_dict(self) -> dict[str, object]:
        return {**vars(self), "path": str(self.path), "holds": self.holds}


def unbundle(
    file: str | os.PathLike[str],
    to: str | os.PathLike[str] | None = None,
    *,
    verify: bool = True,
    limits: ArchiveLimits | None = None,
) -> UnbundledRun:
    """Check a bundle and make it a run folder, by default below the folder of all runs.

    Refused are archives that hold anything but the files of a bundle, unpack to more than
    ``limits`` allow, or differ in a byte from what they list. ``verify`` computes the rewards anew
    and compares them with the certificate. The report is made anew, too, with explanations if
    ``verify`` is set: nobody can tell whether that of the archive was changed.
    """
    path = Path(file)
    name = path.name.removesuffix(SUFFIXES) if path.name.endswith(SUFFIXES) else path.stem
    target = Path(to) if to is not None else default_root() / name
    with open_bundle(path, target, limits) as folder:
        support = support_for(folder)
        data = support.other_data(folder)
        certificate, unchecked = _check_certificate(folder, support, data, verify)
        count, notes = len(folder.recorded), describe_gaps(simulations_of(folder))
        check = examine_run(folder, ()).check if verify and not data else None
        try:
            write_bytes(folder.path / REPORT, _page(folder, target.name, explain=verify))
        except MASEvalError as error:
            notes.append(f"no report: {error}")
    verdicts = check.note if check is not None and check.differing else None
    return UnbundledRun(target, count, certificate, unchecked, data, verdicts, notes)


def _check_certificate(
    folder: RunFolder, support: BenchmarkSupport, data: list[str], verify: bool
) -> tuple[list[str] | None, str | None]:
    certificate = folder.path / CERTIFICATE
    if not verify:
        return None, "not asked for"
    if not certificate.exists():
        return None, "the bundle has no certificate"
    if data:
        return None, "the data here is not that of the run"
    try:
        return support.certificate_differences(certificate, folder), None
    except MASEvalError as error:
        return None, str(error)
