"""Which files each version of the benchmark consists of, and how to tell a wrong one.

Source: tau2-bench v0.2.0 and v1.0.1, ``data/tau2/`` (MIT). The package carries none of these files,
only their names, sizes and SHA-256 (``manifests/``); they are obtained by ``sources`` and count
only if they agree with the manifest byte for byte.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files as resources

from maseval.core.exceptions import ConfigurationError, MASEvalError

DEFAULT_VERSION = "v0.2.0"
VERSIONS = ("0.2.0", "1.0.1")


class Tau2DataError(MASEvalError, RuntimeError):
    """The benchmark's data files cannot be had or cannot be trusted."""


class SourceError(Tau2DataError):
    """One source could not deliver; the message is what it answered."""


class DataUnavailableError(Tau2DataError, FileNotFoundError):
    """A data file is nowhere to be had."""


class ChecksumError(Tau2DataError):
    """A data file is not the one that belongs to this version of the benchmark."""


class CacheError(Tau2DataError, OSError):
    """Data files cannot be written where they should be kept."""


class UnknownVersionError(ConfigurationError):
    """The checksums of that version of the benchmark are not known."""


@dataclass(frozen=True)
class DataFile:
    """One file of the benchmark; ``name`` is its path below the manifest's folder."""

    name: str
    size: int
    sha256: str

    def verify(self, content: bytes) -> None:
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise ChecksumError(self.mismatch(found, len(content)))

    def mismatch(self, sha256: str, size: int) -> str:
        return (
            f"{self.name} is not the file of the benchmark: expected {self.size:,} bytes with "
            f"SHA-256 {self.sha256}, found {size:,} bytes with {sha256}"
        )


@dataclass(frozen=True)
class Manifest:
    """All files of one version of the benchmark.

    ``inside`` is the folder of the original's repository that the names begin in, ``packaged``
    whether a package on the Python index carries the files, ``fetched_by`` the call that gets them.
    """

    version: str
    files: Mapping[str, DataFile]
    inside: str = "data/tau2"
    packaged: bool = True
    fetched_by: str = "ensure_data_exists()"

    @classmethod
    def of(cls, version: str, files: Iterable[DataFile]) -> "Manifest":
        return cls(version, {file.name: file for file in files})

    def below(self, *folders: str) -> list[DataFile]:
        """The files in any of these folders, in the manifest's order."""
        starts = tuple(f"{folder}/" for folder in folders)
        return [file for name, file in self.files.items() if name.startswith(starts)]

    @property
    def layout(self) -> str:
        """What a folder with all the files has in it."""
        tops = (name.partition("/") for name in self.files)
        return ", ".join(dict.fromkeys(top + ("/..." if slash else "") for top, slash, _ in tops))


def known_version(version: str) -> str:
    """The version as in ``VERSIONS``; it may be given as the original's tag, ``v1.0.1``."""
    plain = version.removeprefix("v")
    if plain not in VERSIONS:
        raise UnknownVersionError(
            f"version is {version!r}; choose one whose checksums are known: {', '.join(VERSIONS)}"
        )
    return plain


@cache
def manifest_of(version: str) -> Manifest:
    """The data files of a version."""
    plain = known_version(version)
    default = f"v{plain}" == DEFAULT_VERSION
    call = "ensure_data_exists()" if default else f'ensure_data_exists(version="{plain}")'
    return Manifest(f"v{plain}", listed(f"v{plain}.txt"), packaged=default, fetched_by=call)


def listed(name: str) -> dict[str, DataFile]:
    """The files of one listing in ``manifests/``: SHA-256, bytes and name on each line."""
    text = (resources("maseval.benchmark.tau2.data") / "manifests" / name).read_text("utf-8")
    rows = (line.split(" ", 2) for line in text.splitlines())
    return {name: DataFile(name, int(size), sha256) for sha256, size, name in rows}


MANIFEST = manifest_of(DEFAULT_VERSION)
