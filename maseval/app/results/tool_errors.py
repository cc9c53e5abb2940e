"""The errors that tools answered with in a run, by tool and text."""

from collections.abc import Iterator
from typing import NamedTuple

from maseval.core.outcome import RecordedReport, Simulation
from maseval.core.recorded import RecordedMessage
from maseval.core.words import excerpt
from maseval.runs.recording import Recording


class ToolError(NamedTuple):
    """An error that a tool answered with: how often, in how many simulations, first in which."""

    tool: str
    text: str
    times: int
    simulations: int
    first: Simulation

    def to_dict(self) -> dict[str, object]:
        return {**self._asdict(), "first": list(self.first)}


def tool_errors(recording: Recording) -> list[ToolError]:
    """List the errors of tools in a run, the most frequent first."""
    found: dict[tuple[str, str], list[Simulation]] = {}
    for report in recording.reports():
        for error in _errors_in(RecordedReport(report).simulation.messages):
            found.setdefault(error, []).append(Simulation.of(report))
    errors = [ToolError(*key, len(each), len({*each}), each[0]) for key, each in found.items()]
    return sorted(errors, key=lambda each: -each.times)


def _errors_in(messages: list[RecordedMessage]) -> Iterator[tuple[str, str]]:
    names: dict[object, str] = {}
    for message in messages:
        names |= {call.id: str(call.name) for call in message.calls}
        if message.role == "tool" and message.error:
            yield names.get(message.call_id, "?"), excerpt(message.content)
