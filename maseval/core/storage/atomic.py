"""Files that appear whole or not at all: a reader sees the old file or the new one, never a part.

The content is written to a hidden file in the same folder and flushed to the disk before it takes
the target's name. A process that is killed leaves at most such a hidden file, ``.<random>.tmp``.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from uuid import uuid4

from maseval.core.exceptions import OutputExistsError
from maseval.core.storage import strict_json

SUFFIX = ".tmp"
"""The end of the names of hidden files."""


@contextmanager
def atomic_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write to that becomes ``path`` at the end; after an error nothing has changed."""
    if path.is_dir():
        raise OutputExistsError(f"{path} is a folder; give the name of a file")
    make_room(path)
    hidden = path.with_name(f".{uuid4().hex}{SUFFIX}")
    try:
        with _created(hidden, path) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        hidden.replace(path)
    except BaseException:
        with suppress(OSError):
            hidden.unlink()
        raise
    sync_folder(path.parent)


def make_room(path: Path) -> None:
    """Make the folders on the way to a new file or folder."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise OutputExistsError(
            f"{path} cannot be written: {path.parent} is not a folder"
        ) from None


def _created(hidden: Path, path: Path) -> BinaryIO:
    try:
        return hidden.open("xb")
    except OSError as error:  # whoever reads it knows only the name that the file is to get
        raise OSError(error.errno, error.strerror, str(path)) from error


def write_bytes(path: Path, content: bytes) -> None:
    """Write ``content`` to ``path``, and make the folders on the way."""
    with atomic_file(path) as file:
        file.write(content)


def write_json(path: Path, value: object) -> None:
    """Write ``value`` as indented JSON, and make the folders on the way."""
    write_bytes(path, (strict_json.dumps(value, indent=2) + "\n").encode("ascii"))


def sync_folder(folder: Path) -> None:
    """Have the folder's list of names survive a power failure, where the platform can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
