"""Notes: what people write about single simulations, one synced line each, beside the run's log.

A note may disagree with a finding or label, which it names. Notes are no part of the results, and
no number depends on them. A line is never changed; everyone who adds one takes a lock, so that
people who write at the same time lose nothing.
"""

import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.core.storage.files import path_about
from maseval.core.storage.records import RecordWriter, iter_records
from maseval.core.tracing import now
from maseval.core.words import excerpt
from maseval.runs.annotations import check_note, locked
from maseval.runs.exceptions import RunFolderError
from maseval.runs.labels import check_labeller

NOTES = "notes.jsonl"
MOST_LETTERS = 4000
_LONGEST_NAME = 200


@dataclass(frozen=True)
class SimulationNote:
    """A note by a person; ``about`` is the finding or label that it ``disagrees`` with, if any."""

    simulation: Simulation
    by: str
    text: str
    about: str = ""
    disagrees: bool = False
    at: str = ""

    def to_record(self) -> dict[str, Any]:
        return {**asdict(self), "simulation": list(self.simulation)}

    @classmethod
    def read(cls, record: dict[str, Any]) -> "SimulationNote":
        domain, task, trial = record["simulation"]
        one = Simulation(str(domain), str(task), int(trial))
        words = {key: str(record[key]) for key in ("by", "text", "about", "at")}
        return cls(simulation=one, disagrees=record["disagrees"] is True, **words)


def read_notes(run: str | os.PathLike[str]) -> list[SimulationNote]:
    """Return the notes on the simulations of a run folder or results file, in their order."""
    path = path_about(Path(run), NOTES)
    if not path.is_file():
        return []
    try:
        return [
            SimulationNote.read(record) for record in iter_records(path, on_torn=lambda line: None)
        ]
    except (KeyError, TypeError, ValueError) as error:
        raise RunFolderError(
            f"{path} has a line that is no note ({excerpt(error)}); remove that line, or restore "
            "a copy of the file"
        ) from error


def add_note(run: str | os.PathLike[str], note: SimulationNote) -> SimulationNote:
    """Write a note to the disk and return it as it was written."""
    text, about = check_note(note.text).strip(), check_note(note.about).strip()
    if len(text) > MOST_LETTERS or len(about) > _LONGEST_NAME:
        raise ConfigurationError(f"a note has at most {MOST_LETTERS:,} characters; shorten it")
    if not text and not note.disagrees:
        raise ConfigurationError("the note is empty; write something")
    by = check_labeller(note.by)
    stamped = SimulationNote(note.simulation, by, text, about, note.disagrees, note.at or now())
    path = path_about(Path(run), NOTES)
    with locked(path), RecordWriter(path, resume=True) as file:
        file.append(stamped.to_record())
    return stamped
