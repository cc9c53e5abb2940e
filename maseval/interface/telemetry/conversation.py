"""The stretches of a conversation: a report's messages, cut where the speaker changes.

An environment that records the whole conversation with its times is asked first, because it sees
the agents of all frameworks alike. Otherwise every agent's own messages are read; frameworks hand
these over when a turn is finished, so that the steps of a turn may seem to take no time.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from maseval.core.outcome import RecordedReport
from maseval.core.recorded import RecordedMessage
from maseval.interface.telemetry.span import lasting, moment

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
    """Return True if an agent asks its model itself, as those of frameworks do."""
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
        start = bounds(report)[0]
        for heard, answers in _turns(trace.messages):
            start = max(start, moment(heard.timestamp) or start)
            steps = _time_steps(answers, start)
            yield Stretch(name, start, steps[-1].end, steps, heard)
            start = steps[-1].end


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
