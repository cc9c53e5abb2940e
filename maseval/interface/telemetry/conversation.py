"""The stretches of a conversation: a report's messages, cut where the speaker changes.

An environment that records the whole conversation with its times is asked first, because it sees
the agents of all frameworks alike. Otherwise every agent's own messages are read. Frameworks hand
these over when a turn is finished, so their times are not used: the times between those that are
known are spread evenly, and marked as estimated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from maseval.core.outcome import RecordedReport
from maseval.core.recorded import RecordedMessage, RecordedTrace
from maseval.interface.telemetry.span import began_and_ended, lasting, moment, spread

USER = "user"
NOTHING = RecordedMessage({})
"""The message that nobody sent, before the first one."""


@dataclass
class Step:
    """One message of a participant, or a tool's answer to it, and when it was complete."""

    message: RecordedMessage
    end: int


@dataclass
class Stretch:
    """The steps of one participant between messages of others, from ``heard`` to its answer."""

    name: str
    start: int
    end: int
    steps: Sequence[Step]
    heard: RecordedMessage = NOTHING
    estimated: bool = False


def stretches(report: RecordedReport) -> list[Stretch]:
    found = _of_conversation(report) if report.simulation.messages else _of_agents(report)
    return sorted(found, key=lambda each: each.start)


def bounds(report: RecordedReport) -> tuple[int, int]:
    """Return the times at which the repetition began and ended."""
    start = moment(report.started_at)
    if start is None:  # in a file of another program
        start = moment(report.simulation.start_time) or 0
    return start, start + lasting(report.seconds)


def counts_its_tokens(report: RecordedReport, agent: str) -> bool:
    """Tell whether an agent asks its model itself, as those of frameworks do."""
    return "input_tokens" in report.agent_usage.get(agent, {})


def _of_conversation(report: RecordedReport) -> Iterator[Stretch]:
    name = next(iter(report.traced_agents), "agent")
    last = moment(report.simulation.start_time) or bounds(report)[0]
    heard = NOTHING
    groups = [(who, list(group)) for who, group in groupby(report.simulation.messages, _speaker)]
    for position, (who, group) in enumerate(groups):
        steps = _time_steps(group, last)
        # What a conversation is opened with is not the agent's own.
        is_greeting = position == 0 and who != USER and len(groups) > 1
        if not is_greeting:
            spoken = USER if who == USER else name
            yield Stretch(spoken, last, steps[-1].end, steps, heard)
        last, heard = steps[-1].end, group[-1]


def _speaker(message: RecordedMessage) -> str | None:
    # A tool's answer belongs to the caller of the tool.
    return message.requestor if message.role == "tool" else message.role


def _time_steps(messages: Sequence[RecordedMessage], start: int) -> list[Step]:
    steps: list[Step] = []
    for message in messages:
        start = max(start, moment(message.timestamp) or start)
        steps.append(Step(message, start))
    return steps


def _of_agents(report: RecordedReport) -> Iterator[Stretch]:
    for name, trace in report.traced_agents.items():
        turns = list(_turns(trace.messages))
        if counts_its_tokens(report, name):
            yield from _estimated_stretches(
                name, turns, _known_times(trace, len(turns), bounds(report))
            )
        else:
            yield from _stretches_as_logged(name, turns, bounds(report)[0])


_Turn = tuple[RecordedMessage, list[RecordedMessage]]


def _turns(messages: Sequence[RecordedMessage]) -> Iterator[_Turn]:
    """Yield each message of a user that was answered, and all answers up to the next one."""
    heard = NOTHING
    answers: list[RecordedMessage] = []
    for message in messages:
        if message.role in ("assistant", "tool"):
            answers.append(message)
            continue
        if answers:
            yield heard, answers
            answers = []
        heard = message
    if answers:
        yield heard, answers


def _stretches_as_logged(name: str, turns: Sequence[_Turn], start: int) -> Iterator[Stretch]:
    for heard, answers in turns:
        start = max(start, moment(heard.timestamp) or start)
        steps = _time_steps(answers, start)
        yield Stretch(name, start, steps[-1].end, steps, heard)
        start = steps[-1].end


def _known_times(trace: RecordedTrace, turns: int, whole: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the times of each turn: as logged, else in equal parts of the whole."""
    known = [each for each in map(began_and_ended, trace.logs) if each is not None]
    if len(known) == turns:
        return known
    first = min([start for start, _ in known], default=whole[0])
    last = max([end for _, end in known], default=whole[1])
    ends = spread(first, last, turns) if turns else []
    return list(zip([first, *ends], ends, strict=False))


def _estimated_stretches(
    name: str, turns: Sequence[_Turn], times: Sequence[tuple[int, int]]
) -> Iterator[Stretch]:
    for (heard, answers), (start, end) in zip(turns, times, strict=True):
        ends = spread(start, end, len(answers))
        steps = [Step(message, at) for message, at in zip(answers, ends, strict=True)]
        yield Stretch(name, start, end, steps, heard, estimated=True)
