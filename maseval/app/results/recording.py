"""Recordings as commands read them: one line for each simulation, and facts about the whole."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from maseval.core.agent import HUMAN
from maseval.core.outcome import Outcome, RecordedReport, Simulation
from maseval.core.recorded import mapping
from maseval.core.report import Report
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import doubt_about


def lines_of(folder: Recording) -> list[Outcome]:
    """Return a line for every recorded simulation, in the order of the plan."""
    return [RecordedReport(report).outcome for report in folder.reports()]


class ReadOnce:
    """A recording whose reports are read once, for a command that goes through them repeatedly."""

    def __init__(self, recording: Recording) -> None:
        self.path, self.config = recording.path, recording.config
        self.damaged = recording.damaged
        self.planned, self.recorded = recording.planned, recording.recorded
        self._reports = list(recording.reports())
        self._places = {Simulation.of(each): at for at, each in enumerate(self._reports)}
        self._recording = recording
        self.notes = notes_on(recording)
        self.doubt = doubt_about(recording)

    def reports(self) -> Iterator[Report]:
        return iter(self._reports)

    def report(self, simulation: Simulation) -> Report:
        return self._reports[self._places[simulation]]

    def content_key(self, simulation: Simulation) -> str:
        return self._recording.content_key(simulation)


def beside(recording: Recording, name: str) -> Path:
    """Return the path for a file about a recording: in the run's folder, or next to the file."""
    path = recording.path
    return path / name if path.is_dir() else path.with_name(f"{name_of(recording)}-{name}")


def name_of(recording: Recording) -> str:
    """Return the name of the folder, or of the file without its suffix."""
    path = recording.path
    return path.name if path.is_dir() else path.stem


def notes_on(recording: Recording) -> list[str]:
    """Return notes on how the verdicts of a results file came about, or on damage to a folder."""
    return list(getattr(recording, "notes", ()))


_SIDES = {"agent": "agent", "user": "customer"}


def human_sides(config: Mapping[str, object]) -> list[str]:
    """List the sides that a person played, who must not be taken for a model."""
    return [
        who
        for side, who in _SIDES.items()
        if HUMAN in (mapping(config, side).get(key) for key in ("player", "model"))
    ]


def warnings_on(config: Mapping[str, object]) -> Iterator[str]:
    """Yield what must accompany the numbers of a run: no model was measured, a person took part."""
    from maseval.app.benchmarks import support_by_name  # help must not load it

    if player := mapping(config, "agent").get("rehearse"):
        yield f"A rehearsal: the agent's model was played by {player}."
    for who in human_sides(config):
        yield f"Human: a person played the {who}."
    yield from support_by_name(config.get("benchmark")).warnings(config)


def facts_of(config: Mapping[str, object]) -> list[tuple[str, str]]:
    """Return what a page says of a run by its configuration: its command, origin and seed."""
    facts = {
        "Command": config.get("command"),
        "Origin": origin_in_words(config),
        "Seed": config.get("seed"),
    }
    return [(name, str(value)) for name, value in facts.items() if value not in (None, "")]


ORIGIN = "origin"
"""The key of a run's configuration that names the simulation it continues."""


def origin_in_words(config: Mapping[str, object]) -> str | None:
    """Describe the simulation that a run continues; None if it continues none."""
    origin = mapping(config, ORIGIN)
    if not origin:
        return None
    return (
        f"{origin.get('run')}, {origin.get('task')}, trial {origin.get('trial')}, "
        f"after message {origin.get('at')}"
    )
