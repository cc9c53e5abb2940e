"""Remarks of readers on simulations and messages, and whether they agree with a verdict.

They are kept in a file of their own, beside the log of a run or next to a results file, and never
in the log: they are no part of the results, and nothing that is checked depends on them. Everyone
who writes takes a lock and reads the file anew, so readers who write at the same time lose nothing;
what somebody else has changed meanwhile is not overwritten unseen.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, get_args
from uuid import uuid4

from maseval.core.storage import strict_json
from maseval.core.storage.files import json_bytes, write_bytes
from maseval.core.tracing import now
from maseval.core.words import excerpt
from maseval.runs.annotations import AnnotationError, check_note, lock_beside
from maseval.runs.config import Simulation
from maseval.runs.exceptions import RunFolderError, RunWriteError, check_regular

REMARKS = "remarks.json"
BESIDE = ".remarks"
"""The end of the file's name beside a results file."""

Opinion = Literal["agree", "disagree"]
MAX_BYTES = 32 << 20


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
        """Return the remark as JSON values."""
        return {
            "id": self.id,
            **self.simulation._asdict(),
            "message": self.message,
            "opinion": self.opinion,
            "outcome": self.outcome,
            "text": self.text,
            "written": self.written,
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, object]) -> "Remark":
        """Return the remark that was stored; raises ``ValueError`` for what is none."""
        names = ("id", "domain", "task_id", "text", "written")
        texts = {name: stored.get(name) for name in names}
        trial, message = stored.get("trial"), stored.get("message")
        opinion, outcome = stored.get("opinion"), stored.get("outcome")
        if (
            not all(isinstance(each, str) for each in texts.values())
            or type(trial) is not int
            or not (message is None or type(message) is int)
            or opinion not in (None, *get_args(Opinion))
            or not (outcome is None or isinstance(outcome, str))
        ):
            raise ValueError(f"not a remark: {excerpt(stored, 80)}")
        key, domain, task_id, text, written = map(str, texts.values())
        simulation = Simulation(domain, task_id, trial)
        return cls(simulation, text, message, opinion, outcome, key, written)  # type: ignore[arg-type]


def remarks_path(run: str | os.PathLike[str]) -> Path:
    """Return the file of the remarks on a run folder or a results file."""
    path = Path(run)
    return path / REMARKS if path.is_dir() else path.with_name(f"{path.name}{BESIDE}")


def read_remarks(run: str | os.PathLike[str]) -> list[Remark]:
    """Return the remarks on a run folder or a results file, in the order they were first made."""
    path = remarks_path(run)
    check_regular(path)
    try:
        with path.open("rb") as file:
            stored = strict_json.loads(file.read(MAX_BYTES))
        return [Remark.from_dict(each) for each in stored["remarks"]]
    except FileNotFoundError:
        return []
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFolderError(
            f"{path} is damaged ({excerpt(error)}); restore it from a copy, or delete it to begin "
            "anew"
        ) from error


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
    somebody else was faster, and a ``AnnotationError`` says so.
    """
    path = remarks_path(run)
    text = check_note(remark.text, "remark").strip()
    try:
        with lock_beside(path):
            after = _with_remark(read_remarks(run), replace(remark, text=text))
            content = json_bytes({"remarks": [each.to_dict() for each in after]})
            if len(content) >= MAX_BYTES:
                raise AnnotationError(
                    f"the remarks on {run} would take {len(content):,} bytes; {MAX_BYTES:,} are "
                    "the most, so remove some of them"
                )
            write_bytes(path, content)
    except OSError as error:
        raise RunWriteError(
            f"the remark cannot be kept in {path}: {error.strerror or error}; make the folder "
            "writable, or view a copy of it",
            errno=error.errno,
        ) from error
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
        raise AnnotationError(
            f"somebody else has changed the remarks on {remark.simulation} meanwhile; load the "
            "page again, and enter yours again"
        )
    key = remark.id or uuid4().hex
    known[key] = replace(remark, id=key, written=now())
    if not remark.text and not remark.opinion:
        del known[key]
    return list(known.values())
