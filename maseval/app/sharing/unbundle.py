"""``maseval unbundle``: check a bundle, and open it as a run folder."""

import os
from dataclasses import dataclass
from pathlib import Path

from maseval.app.benchmarks import BenchmarkSupport, support_for
from maseval.core.exceptions import MASEvalError
from maseval.core.storage.zip_archive import ArchiveLimits
from maseval.runs import RunFolder, default_root
from maseval.runs.bundle import CERTIFICATE, SUFFIXES, opened_bundle


@dataclass(frozen=True)
class Unbundled:
    """A run folder that was a bundle.

    Its checksums and its log hold, else there would be none. ``certificate`` lists where the
    numbers, computed anew, are not those of its certificate; None if that was not checked, and
    ``unchecked`` says why. ``data`` lists where the benchmark's data differs from the data here.
    """

    path: Path
    simulations: int
    certificate: list[str] | None
    unchecked: str | None
    data: list[str]

    @property
    def holds(self) -> bool:
        """Whether nothing that was checked differs."""
        return not self.certificate and not self.data

    def to_dict(self) -> dict[str, object]:
        """In JSON's terms."""
        return {**vars(self), "path": str(self.path), "holds": self.holds}


def unbundle(
    file: str | os.PathLike[str],
    to: str | os.PathLike[str] | None = None,
    *,
    verify: bool = True,
    limits: ArchiveLimits | None = None,
) -> Unbundled:
    """Check a bundle and make it a run folder, by default below the folder of all runs.

    Refused are archives that hold anything but the files of a bundle, unpack to more than
    ``limits`` allow, or differ in a byte from what they list. ``verify`` computes the rewards anew
    and compares them with the certificate.
    """
    path = Path(file)
    target = Path(to) if to is not None else default_root() / _name(path)
    with opened_bundle(path, target, limits) as folder:
        support = support_for(folder)
        data = support.other_data(folder)
        certificate, unchecked = _certified(folder, support, data, verify)
        count = len(folder.recorded)
    return Unbundled(target, count, certificate, unchecked, data)


def _name(path: Path) -> str:
    return path.name.removesuffix(SUFFIXES) if path.name.endswith(SUFFIXES) else path.stem


def _certified(
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
        return support.uncertified(certificate, folder), None
    except MASEvalError as error:
        return None, str(error)
