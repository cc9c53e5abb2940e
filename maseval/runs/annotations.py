"""Tags and a note that people give to a run, beside its log and never in it.

They say what somebody thinks of a run, so they are no part of its results: a file of their own in
the run's folder, or next to a results file. Everyone who changes it takes a lock and reads it anew,
so two people who edit at the same time lose nothing.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from maseval.core.exceptions import ConfigurationError
from maseval.core.storage import strict_json
from maseval.core.storage.files import write_json
from maseval.core.words import excerpt, visible
from maseval.runs.exceptions import RunFolderError, RunLockedError, RunWriteError, check_regular
from maseval.runs.lock import FolderLock

ANNOTATIONS = "annotations.json"
BESIDE = ".annotations"
"""The end of the file's name beside a results file."""

MAX_TAGS = 50
MAX_TAG = 60
MAX_NOTE = 20_000
_MAX_BYTES = 1_000_000
_ATTEMPTS, _PAUSE = 50, 0.05


class AnnotationError(ConfigurationError):
    """A tag or a note that cannot be kept."""


@dataclass(frozen=True)
class Annotations:
    """Tags and a note that people have given to a run."""

    tags: tuple[str, ...] = ()
    note: str | None = None

    def with_tags(self, add: Iterable[str] = (), remove: Iterable[str] = ()) -> "Annotations":
        """Add and remove tags; their order is that in which they were given."""
        gone = {check_tag(each) for each in remove}
        tags = dict.fromkeys([*self.tags, *map(check_tag, add)])
        kept = tuple(tag for tag in tags if tag not in gone)
        if len(kept) > MAX_TAGS:
            raise AnnotationError(f"{len(kept)} tags are too many; a run has at most {MAX_TAGS}")
        return replace(self, tags=kept)

    def with_note(self, text: str | None) -> "Annotations":
        """Replace the note; a blank one removes it."""
        return replace(self, note=check_note(text) if text and text.strip() else None)


def check_tag(tag: str) -> str:
    """Return the tag without blanks around it; raises for what cannot be one."""
    name = " ".join(tag.split(" ")).strip()
    if not name or len(name) > MAX_TAG or visible(name) != name or set(name) & set(",\n\t"):
        raise AnnotationError(
            f"{excerpt(tag, MAX_TAG)!r} cannot be a tag; give 1 to {MAX_TAG} characters in one "
            "line, without commas and control characters"
        )
    return name


def check_note(text: str, what: str = "note") -> str:
    """Return the note with plain line ends; raises for what cannot be one."""
    note = text.replace("\r\n", "\n").rstrip()
    if len(note) > MAX_NOTE:
        raise AnnotationError(
            f"the {what} has {len(note):,} characters; it may have {MAX_NOTE:,} at most"
        )
    if note != visible(note):
        raise AnnotationError(
            f"the {what} {excerpt(note, 60)!r} has control characters; remove them"
        )
    return note


def annotations_path(run: str | os.PathLike[str]) -> Path:
    """Return the file of the tags and the note of a run folder or a results file."""
    path = Path(run)
    return path / ANNOTATIONS if path.is_dir() else path.with_name(f"{path.name}{BESIDE}")


def read_annotations(run: str | os.PathLike[str]) -> Annotations:
    """Return the tags and the note of a run folder or a results file."""
    path = annotations_path(run)
    check_regular(path)
    try:
        with path.open("rb") as file:
            stored = strict_json.loads(file.read(_MAX_BYTES))
        return Annotations().with_tags(list(stored["tags"])).with_note(stored["note"])
    except FileNotFoundError:
        return Annotations()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFolderError(
            f"{path} is damaged ({excerpt(error)}); restore it from a copy, or delete it to begin "
            "anew"
        ) from error


def annotations_or_problem(run: str | os.PathLike[str]) -> tuple[Annotations, str | None]:
    """Return the tags and the note, or why they cannot be read; the run may be all right."""
    try:
        return read_annotations(run), None
    except (RunFolderError, OSError) as error:
        return Annotations(), str(error)


def change_annotations(
    run: str | os.PathLike[str], change: Callable[[Annotations], Annotations]
) -> Annotations:
    """Replace the tags and the note by what ``change`` makes of the present ones."""
    path = annotations_path(run)
    try:
        with lock_beside(path):
            before = read_annotations(run)
            after = change(before)
            if after != before:
                write_json(path, {"tags": list(after.tags), "note": after.note})
    except OSError as error:
        raise RunWriteError(f"{path} cannot be written: {error}", errno=error.errno) from error
    return after


def change_tags(
    run: str | os.PathLike[str], add: Iterable[str] = (), remove: Iterable[str] = ()
) -> Annotations:
    """Add and remove tags; others that were added meanwhile stay."""
    return change_annotations(run, lambda present: present.with_tags(add, remove))


def change_note(
    run: str | os.PathLike[str], text: str | None, *, was: str | None = None, check: bool = False
) -> Annotations:
    """Replace the note; with ``check`` only if it still is what it ``was``."""

    def replace_note(present: Annotations) -> Annotations:
        if check and present.note != was:
            raise AnnotationError(
                f"somebody else has changed the note of {run} meanwhile; look at it, and enter "
                "yours again"
            )
        return present.with_note(text)

    return change_annotations(run, replace_note)


@contextmanager
def lock_beside(path: Path) -> Iterator[None]:
    """Lock a file that will be replaced, so that its lock is a file of its own."""
    held = _wait_for(path.with_name(f".{path.name}.lock"), path)
    try:
        yield
    finally:
        held.release()


def _wait_for(guard: Path, path: Path) -> FolderLock:
    for _ in range(_ATTEMPTS):
        with suppress(RunLockedError):
            return FolderLock(guard)
        time.sleep(_PAUSE)
    raise RunFolderError(f"{path} is being changed by another process; try again")
