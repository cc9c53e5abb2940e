"""Labels: what people say of a run's conversations, one synced line each, beside the run's log.

They are no part of the results. The file begins with a random salt, from which the order follows in
which conversations are drawn: it is random, the same for everybody and after each break, and nobody
can choose. A line is never changed; the last one of a labeller on a conversation counts. Everyone
who adds a line takes a lock, so that people who label at the same time lose nothing.
"""

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.core.storage.records import RecordWriter, iter_records, mend
from maseval.core.tracing import now
from maseval.core.words import excerpt, visible
from maseval.runs.annotations import check_note, locked
from maseval.runs.exceptions import RunFolderError

LABELS = "labels.jsonl"
MOST_LETTERS = 60


@dataclass(frozen=True)
class Label:
    """An answer of a person to a question about one conversation.

    ``content`` identifies the record that was read: a conversation that is run again needs a new
    label. ``drawn_by`` is the judge by whose answers it was drawn, empty if it was drawn among all.
    """

    question: str
    simulation: Simulation
    by: str
    answer: str
    content: str
    drawn_by: str = ""
    note: str | None = None
    at: str = ""

    def to_record(self) -> dict[str, Any]:
        record = asdict(self)
        record["simulation"] = list(self.simulation)
        return {key: value for key, value in record.items() if value is not None}

    @classmethod
    def read(cls, record: Mapping[str, Any]) -> "Label":
        domain, task, trial = record["simulation"]
        words = {key: str(record[key]) for key in ("question", "by", "answer", "content")}
        note = record.get("note")
        return cls(
            simulation=Simulation(str(domain), str(task), int(trial)),
            drawn_by=str(record.get("drawn_by", "")),
            note=None if note is None else str(note),
            at=str(record.get("at", "")),
            **words,
        )


def check_labeller(name: str) -> str:
    """Return a labeller's name without blanks around it; raise for what cannot be one."""
    found = name.strip()
    if not found or len(found) > MOST_LETTERS or visible(found) != found or "\n" in found:
        raise ConfigurationError(
            f"{excerpt(name, MOST_LETTERS)!r} cannot be a labeller's name; give 1 to "
            f"{MOST_LETTERS} characters in one line"
        )
    return found


class LabelFile:
    """The labels of a run, or of a results file; without one until the first label is made."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._salt: str | None = None
        self._labels: dict[tuple[str, Simulation, str], Label] = {}
        self._read()

    @property
    def labels(self) -> list[Label]:
        return list(self._labels.values())

    def order(self, simulations: Iterable[Simulation]) -> list[Simulation]:
        """Return conversations in the random order in which they are drawn."""
        salt = self._prepare()

        def rank(one: Simulation) -> bytes:
            # By its name alone: conversations that are added later leave the order of the others.
            return hashlib.sha256(f"{salt}\0{one!r}".encode()).digest()

        return sorted(simulations, key=rank)

    def add(self, label: Label) -> Label:
        """Write a label to the disk and return it as it was written."""
        if label.note is not None:
            check_note(label.note)
        check_labeller(label.by)
        stamped = Label(**{**vars(label), "at": label.at or now()})
        self._prepare()
        with locked(self.path), RecordWriter(self.path, resume=True) as file:
            file.append(stamped.to_record())
        self._keep(stamped)
        return stamped

    def _prepare(self) -> str:
        """Return the salt; begin the file, or repair its end, when it is first needed."""
        if self._salt is not None:
            return self._salt
        with locked(self.path):
            # Somebody else may have begun the file since it was looked for.
            self._read()
            if self._salt is None:
                self._salt = secrets.token_hex(16)
                with RecordWriter(self.path, overwrite=True) as file:
                    file.append({"labels": 1, "salt": self._salt})
            else:
                mend(self.path)
        return self._salt

    def _read(self) -> None:
        self._labels.clear()
        for number, record in enumerate(self._records()):
            try:
                if number == 0:
                    self._salt = str(record["salt"])
                else:
                    self._keep(Label.read(record))
            except (KeyError, TypeError, ValueError) as error:
                raise RunFolderError(
                    f"{self.path}, line {number + 1} is not a label ({excerpt(error)}); remove "
                    "that line, or restore a copy of the file"
                ) from error

    def _records(self) -> Iterator[dict[str, Any]]:
        if self.path.is_file():
            yield from iter_records(self.path, on_torn=lambda line: None)

    def _keep(self, label: Label) -> None:
        self._labels[label.question, label.simulation, label.by] = label
