"""Which files the benchmark consists of: names, sizes and SHA-256, and how to tell a wrong one.

Source: tau2-bench v0.2.0, ``data/tau2/`` (MIT). The package carries none of these files; they are
obtained by ``sources`` and count only if they agree with this manifest byte for byte.
"""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from maseval.core.exceptions import MASEvalError

DEFAULT_VERSION = "v0.2.0"


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


@dataclass(frozen=True)
class DataFile:
    """One file of the benchmark; ``name`` is its path below ``data/tau2/``."""

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
    """All files of one version of the benchmark."""

    version: str
    files: Mapping[str, DataFile]

    @classmethod
    def of(cls, version: str, files: Iterable[DataFile]) -> "Manifest":
        return cls(version, {file.name: file for file in files})

    def below(self, *folders: str) -> list[DataFile]:
        """The files in any of these folders, in the manifest's order."""
        starts = tuple(f"{folder}/" for folder in folders)
        return [file for name, file in self.files.items() if name.startswith(starts)]


# For each folder: name, bytes and SHA-256 of its files.
_V0_2_0 = {
    "domains/airline": """
db.json 7042725 1af9fea6e03ca7ca15a22bb3fcaf3e351393e3fc9070b6777947da8996f7531b
policy.md 7676 10dc0525421521208be39cee235bba84a16e2bcba9899eb93d92cd81d2f62fc4
tasks.json 149096 40d692b3fca780f46b56d48b447fd8db79a653f216667b8ed7c1a88380544532
""",
    "domains/retail": """
db.json 2811616 413a65160adbdb5fde0ffc0015c49b6d70250b10c18128de169b597af7766765
policy.md 6699 2c9652afbce57d6e087768d37cda64d31c53d50b3e3225cfdb791bac66466467
tasks.json 328166 76e1fa649a359bef2d2fd30eae834b99d261d84e2e5d364856f6632fdf778dfd
""",
    "domains/telecom": """
db.toml 9628 562d647ef9d7df8df91eafd8ee76036e707c8f9e32aaedc4a7fde06975aea2c0
user_db.toml 933 4886107ea0c16f8e16d74bef91cfb557de61822afe9361f5a9b241806aea2e4c
main_policy.md 5699 95943844a0cf11fdf0e2842b483b81d9f9338aa53235712ed131db075d086ed7
main_policy_solo.md 5200 781296ae5419169cb64aac0c4fa2aa6129c78f3c1592f64abd80df6fbabb7042
tech_support_manual.md 17589 015a3ee49ec8c199c5e1a059c922081937b92cf3a5ea74fedbc4357816f389ba
tech_support_workflow.md 16390 64f3ccd13875d14f358b21b9af221dab09e0e7bf5690d0e4322fb91855a43a4d
tech_support_workflow_solo.md 15470 b174d1f9705b5d7df49468daf99560a5633f86d23e10499a1166a7753706a412
tasks.json 659069 192a2c143b3b512c37c3775fdf6c5040c33717388620c38b140c731dc6153cd7
tasks_full.json 13977063 37e562e1ae3242577407e1303b1548bc64e7ea68e37d36173e6747990ceaf8a4
tasks_small.json 83833 c8ea6f75adc18a8ad363974292cbd26b6e8b0e348ec87d265a4188e0088a8f24
""",
    "user_simulator": """
simulation_guidelines.md 1449 05f4f48e5beefcb527d81fdee6271ce0e997fa4721e8d3ae4db0e820fb0a9013
simulation_guidelines_tools.md 2747 7b0cdb574909a15bb16e75296eb7a0c6b371fbe385a1b23a2fc8ea3751ee4b3b
""",
}


def _parsed(folders: Mapping[str, str]) -> Iterable[DataFile]:
    for folder, table in folders.items():
        for line in table.strip().splitlines():
            name, size, sha256 = line.split()
            yield DataFile(f"{folder}/{name}", int(size), sha256)


MANIFEST = Manifest.of(DEFAULT_VERSION, _parsed(_V0_2_0))
