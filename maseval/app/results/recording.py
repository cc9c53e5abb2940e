"""Recordings, as the commands go through them: read once, named, and with files beside them."""

from collections.abc import Iterator
from pathlib import Path

from maseval.core.report import Report
from maseval.runs import Simulation
from maseval.runs.recording import Recording


class ReadOnce:
    """A recording whose reports are read once, for a command that goes through them repeatedly."""

    def __init__(self, recording: Recording) -> None:
        self.path, self.config = recording.path, recording.config
        self.damaged = recording.damaged
        self.planned, self.recorded = recording.planned, recording.recorded
        self._reports = list(recording.reports())
        self.notes = notes_on(recording)

    def reports(self) -> Iterator[Report]:
        """The reports in the order of the plan."""
        return iter(self._reports)

    def report(self, simulation: Simulation) -> Report:
        """The report on one simulation."""
        return next(each for each in self._reports if Simulation.of(each) == simulation)


def beside(recording: Recording, name: str) -> Path:
    """Where a file about it belongs: in a run's folder, or next to a results file."""
    path = recording.path
    return path / name if path.is_dir() else path.with_name(f"{name_of(recording)}-{name}")


def name_of(recording: Recording) -> str:
    """What it is called."""
    path = recording.path
    return path.name if path.is_dir() else path.stem


def notes_on(recording: Recording) -> list[str]:
    """How the verdicts came about, where they are not those of a run of our own."""
    return list(getattr(recording, "notes", ()))
