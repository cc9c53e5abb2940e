"""Files that several versions have in common are kept once: the cache of one lends to another's."""

import os
from collections.abc import Iterable
from contextlib import suppress

from maseval.data.files import DataFile
from maseval.data.folder import DataFolder


def link_equal_files(
    folder: DataFolder, missing: Iterable[DataFile], others: Iterable[DataFolder]
) -> None:
    """Give ``folder`` those of the ``missing`` files that one of the ``others`` has, by hard links.

    What cannot be linked is left to the sources, and so is a wrong file that is in the way.
    """
    sought = list(missing)
    for other in others:
        equals = {file.sha256: file for file in other.manifest.files.values()}
        for file in sought:
            equal = equals.get(file.sha256)
            if equal and other.root != folder.root and not other.lacking([equal]):
                _link(other, equal, folder, file)


def _link(other: DataFolder, equal: DataFile, folder: DataFolder, file: DataFile) -> None:
    target = folder.path(file)
    with suppress(OSError):
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(other.path(equal), target)
