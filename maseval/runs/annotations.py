"""Tags and a note that people write about a run: beside its log, never in it.

They are no part of its results, and nothing that is checked depends on them: a file of their own in
the run's folder, or next to a results file. Everyone who changes it takes a lock and reads it anew,
so that people who edit at the same time lose nothing.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from maseval.core.exceptions import ConfigurationError
from maseval.core.storage import strict_json
from maseval.core.storage.files import write_json
from maseval.core.words import excerpt, visible
from maseval.runs.exceptions import RunFolderError, RunWriteError
from maseval.runs.lock import FolderLock

ANNOTATIONS = "annotations.json"
MAX_TAG = 60
_ATTEMPTS = 400  # to lock it, for whoever waits while others write


@dataclass(frozen=True)
class Annotations:
    tags: tuple[str, ...] = ()
    note: str | None = None

    def with_tags(self, add: Iterable[str] = (), remove: Iterable[str] = ()) -> "Annotations":
        """Add and remove tags; their order is that in which they were given."""
        gone = {check_tag(tag) for tag in remove}
        tags = dict.fromkeys([*self.tags, *map(check_tag, add)])
        return replace(self, tags=tuple(tag for tag in tags if tag not in gone))

    def with_note(self, text: str | None) -> "Annotations":
        """Replace the note; a blank one removes it."""
        return replace(self, note=check_note(text) if text and text.strip() else None)


def check_tag(tag: str) -> str:
    """Return the tag without blanks around it; raises for what cannot be one."""
    name = " ".join(tag.split(" ")).strip()
    if not name or len(name) > MAX_TAG or visible(name) != name or set(name) & set(",\n\t"):
        raise ConfigurationError(
            f"{excerpt(tag, MAX_TAG)!r} cannot be a tag; give 1 to {MAX_TAG} characters in one "
            "line, without commas and control characters"
        )
    return name


def check_note(text: str) -> str:
    """Return the note with plain line ends; raises for what cannot be one."""
    note = text.replace("\r\n", "\n").rstrip()
    if note != visible(note):
        raise ConfigurationError(
            f"the note {excerpt(note, 60)!r} has control characters; remove them"
        )
    return note


def annotations_path(run: str | os.PathLike[str]) -> Path:
    """Return the file of a run folder, or beside a results file."""
    path = Path(run)
    beside = f"{path.name}.{ANNOTATIONS.removesuffix('.json')}"
    return path / ANNOTATIONS if path.is_dir() else path.with_name(beside)


def read_annotations(run: str | os.PathLike[str]) -> Annotations:
    """Return the tags and the note of a run folder or a results file."""
    path = annotations_path(run)
    try:
        stored = strict_json.loads(path.read_bytes())
        return Annotations().with_tags(list(stored["tags"])).with_note(stored["note"])
    except FileNotFoundError:
        return Annotations()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFolderError(
            f"{path} is damaged ({excerpt(error)}); restore a copy, or delete it to start over"
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
    with locked(path):
        # Anew under the lock, as somebody else may have changed them.
        before = read_annotations(run)
        after = change(before)
        if after != before:
            write_json(path, {"tags": list(after.tags), "note": after.note})
    return after


def change_tags(
    run: str | os.PathLike[str], add: Iterable[str] = (), remove: Iterable[str] = ()
) -> Annotations:
    """Add and remove tags; others that were added meanwhile stay."""
    return change_annotations(run, lambda present: present.with_tags(add, remove))


def change_note(run: str | os.PathLike[str], text: str | None) -> Annotations:
    """Replace the note; None removes it."""
    return change_annotations(run, lambda present: present.with_note(text))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock a file that will be replaced, so that its lock is a file of its own."""
    try:
        held = FolderLock(path.with_name(f".{path.name}.lock"), _ATTEMPTS)
        try:
            yield
        finally:
            held.release()
    except OSError as error:
        raise RunWriteError(
            f"{path} cannot be written: {error.strerror or error}; make the folder writable, or "
            "use a copy of it",
            errno=error.errno,
        ) from error
