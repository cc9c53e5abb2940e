"""Tags, a note and remarks that people write about a run: beside its log, never in it.

Remarks are on simulations or messages, and may say whether a verdict is right. All this is what
somebody thinks of a run and no part of its results, and nothing that is checked depends on it: two
files of their own in the run's folder, or next to a results file. Everyone who changes one takes a
lock and reads it anew, so people who edit at the same time lose nothing; what somebody else has
changed meanwhile is not overwritten unseen.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, get_args
from uuid import uuid4

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.core.storage import strict_json
from maseval.core.storage.files import json_bytes, write_bytes, write_json
from maseval.core.tracing import now
from maseval.core.words import excerpt, visible
from maseval.runs.exceptions import RunFolderError, RunLockedError, RunWriteError, check_regular
from maseval.runs.lock import FolderLock

ANNOTATIONS, REMARKS = "annotations.json", "remarks.json"
MAX_TAGS = 50
MAX_TAG = 60
MAX_NOTE = 20_000
_MOST_BYTES = 1_000_000
MOST_REMARKS = 32 << 20
"""In bytes."""
_ATTEMPTS, _PAUSE = 50, 0.05

StoredT = TypeVar("StoredT")


@dataclass(frozen=True)
class Annotations:
    tags: tuple[str, ...] = ()
    note: str | None = None

    def with_tags(self, add: Iterable[str] = (), remove: Iterable[str] = ()) -> "Annotations":
        """Add and remove tags; their order is that in which they were given."""
        gone = {check_tag(each) for each in remove}
        tags = dict.fromkeys([*self.tags, *map(check_tag, add)])
        kept = tuple(tag for tag in tags if tag not in gone)
        if len(kept) > MAX_TAGS:
            raise ConfigurationError(f"{len(kept)} tags are too many; a run has at most {MAX_TAGS}")
        return replace(self, tags=kept)

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


def check_note(text: str, what: str = "note") -> str:
    """Return the note with plain line ends; raises for what cannot be one."""
    note = text.replace("\r\n", "\n").rstrip()
    if len(note) > MAX_NOTE:
        raise ConfigurationError(
            f"the {what} has {len(note):,} characters; it may have {MAX_NOTE:,} at most"
        )
    if note != visible(note):
        raise ConfigurationError(
            f"the {what} {excerpt(note, 60)!r} has control characters; remove them"
        )
    return note


def annotations_path(run: str | os.PathLike[str]) -> Path:
    """Return the file of the tags and the note of a run folder or a results file."""
    return _path(run, ANNOTATIONS)


def _path(run: str | os.PathLike[str], name: str) -> Path:
    """Return a file in a run folder; of a results file, one beside it with its name in front."""
    path = Path(run)
    beside = f"{path.name}.{name.removesuffix('.json')}"
    return path / name if path.is_dir() else path.with_name(beside)


def _read(path: Path, most: int, parse: Callable[[Any], StoredT]) -> StoredT | None:
    """Return what a file holds; None if there is none."""
    check_regular(path)
    try:
        with path.open("rb") as file:
            return parse(strict_json.loads(file.read(most)))
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFolderError(
            f"{path} is damaged ({excerpt(error)}); restore a copy, or delete it to start over"
        ) from error


def read_annotations(run: str | os.PathLike[str]) -> Annotations:
    """Return the tags and the note of a run folder or a results file."""

    def parse(stored: Any) -> Annotations:
        return Annotations().with_tags(list(stored["tags"])).with_note(stored["note"])

    return _read(annotations_path(run), _MOST_BYTES, parse) or Annotations()


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
    with _locked(path, f"{path} cannot be written"):
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


def change_note(
    run: str | os.PathLike[str], text: str | None, *, was: str | None = None, check: bool = False
) -> Annotations:
    """Replace the note; with ``check`` only if it still is what it ``was``."""

    def replace_note(present: Annotations) -> Annotations:
        if check and present.note != was:
            raise ConfigurationError(
                f"someone else has changed the note of {run} since; look at it, and enter yours "
                "again"
            )
        return present.with_note(text)

    return change_annotations(run, replace_note)


@contextmanager
def _locked(path: Path, failure: str) -> Iterator[None]:
    """Lock a file that will be replaced, so that its lock is a file of its own.

    A disk that refuses is a ``RunWriteError`` that begins with ``failure``.
    """
    try:
        for _ in range(_ATTEMPTS):
            with suppress(RunLockedError):
                held = FolderLock(path.with_name(f".{path.name}.lock"))
                break
            time.sleep(_PAUSE)
        else:
            raise RunFolderError(f"{path} is being changed by another process; try again")
        try:
            yield
        finally:
            held.release()
    except OSError as error:
        raise RunWriteError(
            f"{failure}: {error.strerror or error}; make the folder writable, or use a copy of it",
            errno=error.errno,
        ) from error


Opinion = Literal["agree", "disagree"]


@dataclass(frozen=True)
class Remark:
    """Something that a reader wrote about a simulation, or about one of its ``message``s.

    With an ``opinion`` it says whether the verdict is right; ``outcome`` is the verdict that the
    reader saw, since a simulation may be judged again. ``written`` is when it was last changed.
    """

    simulation: Simulation
    text: str = ""
    message: int | None = None
    opinion: Opinion | None = None
    outcome: str | None = None
    id: str = ""
    written: str = ""

    def __str__(self) -> str:
        where = "" if self.message is None else f" on message {self.message}"
        head = f"Reader {self.opinion}s" if self.opinion else f"Remark{where}"
        return f"{head}: {self.text}" if self.text else head

    def to_dict(self) -> dict[str, object]:
        known = {**self.simulation._asdict(), **vars(self)}
        return {key: known[key] for key in _FIELDS}

    @classmethod
    def from_dict(cls, stored: Mapping[str, object]) -> "Remark":
        """Return the remark that was stored; raises ``ValueError`` for what is none."""
        parts: dict[str, Any] = {key: stored.get(key) for key in _FIELDS}
        fits = all(isinstance(parts[key], kind) for key, kind in _FIELDS.items())
        is_opinion = parts["opinion"] in (None, *get_args(Opinion))
        if not fits or not is_opinion or bool in map(type, parts.values()):
            raise ValueError(f"not a remark: {excerpt(stored, 80)}")
        return cls(Simulation(*(parts.pop(key) for key in Simulation._fields)), **parts)


_FIELDS: Mapping[str, type | UnionType] = {
    "id": str,
    "domain": str,
    "task_id": str,
    "trial": int,
    "message": int | None,
    "opinion": str | None,
    "outcome": str | None,
    "text": str,
    "written": str,
}
"""The parts of a stored remark."""


def read_remarks(run: str | os.PathLike[str]) -> list[Remark]:
    """Return the remarks on a run folder or a results file, in the order they were first made."""

    def parse(stored: Any) -> list[Remark]:
        return [Remark.from_dict(each) for each in stored["remarks"]]

    return _read(_path(run, REMARKS), MOST_REMARKS, parse) or []


def remarks_by_simulation(
    run: str | os.PathLike[str],
) -> tuple[Mapping[Simulation, Sequence[Remark]], str | None]:
    """Return the remarks on each simulation, or why they cannot be read."""
    found: dict[Simulation, list[Remark]] = {}
    try:
        for each in read_remarks(run):
            found.setdefault(each.simulation, []).append(each)
    except (RunFolderError, OSError) as error:
        return {}, str(error)
    return found, None


def keep_remark(run: str | os.PathLike[str], remark: Remark) -> list[Remark]:
    """Add a remark, or replace the one of its ``id``; return all that there are now.

    One without a text and an opinion is removed. A remark to be replaced must still be of the time
    that the given one was ``written``, and a simulation has one opinion on its verdict; otherwise
    somebody else was faster, and an error says so.
    """
    path = _path(run, REMARKS)
    text = check_note(remark.text, "remark").strip()
    with _locked(path, f"the remark cannot be kept in {path}"):
        after = _with_remark(read_remarks(run), replace(remark, text=text))
        content = json_bytes({"remarks": [each.to_dict() for each in after]})
        if len(content) >= MOST_REMARKS:
            raise ConfigurationError(
                f"the remarks on {run} would take {len(content):,} bytes; {MOST_REMARKS:,} are the "
                "most, so remove some of them"
            )
        write_bytes(path, content)
    return after


def _with_remark(present: Sequence[Remark], remark: Remark) -> list[Remark]:
    known = {each.id: each for each in present}
    before = known.get(remark.id)
    seen = (before.written if before else "") == remark.written
    rival = remark.opinion and any(
        each.opinion and each.simulation == remark.simulation and each.id != remark.id
        for each in present
    )
    if not seen or rival:
        raise ConfigurationError(
            f"someone else has changed the remarks on {remark.simulation} since; reload the page, "
            "and enter yours again"
        )
    key = remark.id or uuid4().hex
    known[key] = replace(remark, id=key, written=now())
    if not remark.text and not remark.opinion:
        del known[key]
    return list(known.values())
