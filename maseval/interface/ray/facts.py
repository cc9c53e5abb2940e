"""What must be the same on every machine: maseval, Python, and the data of the benchmark."""

import hashlib
import platform
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError

_PACKAGE = sys.modules["maseval"]


class NodeMismatchError(ConfigurationError):
    """A machine of the cluster has another maseval, another Python or other data."""


class Facts(NamedTuple):
    """What a process runs: versions, and a hash of maseval's code."""

    maseval: str
    code: str
    python: str

    @classmethod
    def here(cls) -> "Facts":
        """Those of this process."""
        python = ".".join(platform.python_version_tuple()[:2])
        return cls(str(_PACKAGE.__version__), code_hash(), python)


@cache
def code_hash() -> str:
    """Of all of maseval's code, as a version says little of a checkout."""
    home, digest = Path(str(_PACKAGE.__file__)).parent, hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        digest.update(path.relative_to(home).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def check_code(node: str, theirs: Facts, ours: Facts) -> None:
    """Raise unless the machine runs what is run here."""
    if theirs.python != ours.python:
        way = "start the cluster with the same minor version"
        raise _mismatch(node, "Python", theirs.python, ours.python, way)
    if theirs.maseval != ours.maseval:
        way = "install the same version on every machine"
        raise _mismatch(node, "maseval", theirs.maseval, ours.maseval, way)
    if theirs.code != ours.code:
        way = "install the same code on every machine"
        raise _mismatch(node, f"the code of maseval {ours.maseval}", theirs.code, ours.code, way)


def check_data(node: str, theirs: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Raise unless the machine has the data that is used here."""
    for name in sorted({*theirs, *ours}):
        their, our = theirs.get(name, "(none)"), ours.get(name, "(none)")
        if their != our:
            way = "fetch the data of the same release there, and verify it"
            raise _mismatch(node, f"{name!r}", their, our, way)


def _mismatch(node: str, what: str, theirs: str, ours: str, way: str) -> NodeMismatchError:
    return NodeMismatchError(
        f"node {node} is refused: {what} is {theirs} there and {ours} here; {way}"
    )
