"""The stretches of a conversation: a report's messages, cut where the speaker changes.

An environment that records the whole conversation with its times is asked first, because it sees
the agents of all frameworks alike. Otherwise every agent's own messages are read. Frameworks hand
these over when a turn is finished, so their times are not used: the times between those that are
known are spread evenly, and marked as estimated.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from maseval.core.outcome import recorded_simulation
from maseval.core.shapes import Shape, entries, mapping
from maseval.interface.telemetry.span import began_and_ended, lasting, moment, spread

USER = "user"


@dataclass
class Step:
    """One message of a participant, or a tool's answer to it, and when it was complete."""

    message: Shape
    end: int

    @property
    def role(self) -> object:
        return self.message.get("role")


@dataclass
class Stretch:
    """The steps of one participant between messages of others, from ``heard`` to its answer."""

    name: str
    start: int
    end: int
    steps: Sequence[Step]
    heard: Shape = field(default_factory=dict)
    estimated: bool = False


def stretches(report: Shape) -> list[Stretch]:
    recorded = _messages(recorded_simulation(report))
    found = _of_conversation(report, recorded) if recorded else _of_agents(report)
    return sorted(found, key=lambda each: each.start)


def bounds(report: Shape) -> tuple[int, int]:
    """Return the times at which the repetition began and ended."""
    start = moment(report.get("started_at"))
    if start is None:  # in a file of another program
        start = moment(recorded_simulation(report).get("start_time")) or 0
    return start, start + lasting(report.get("duration_seconds"))


def counts_its_tokens(report: Shape, agent: str) -> bool:
    """Tell whether an agent asks its model itself, as those of frameworks do."""
    return "input_tokens" in mapping(report, "usage", "agents", agent)


def _messages(trace: Shape) -> list[Shape]:
    return [mapping(each) for each in entries(trace.get("messages"))]


def _of_conversation(report: Shape, messages: Sequence[Shape]) -> Iterator[Stretch]:
    name = next(iter(mapping(report, "traces", "agents")), "agent")
    last = moment(recorded_simulation(report).get("start_time")) or bounds(report)[0]
    heard: Shape = {}
    groups = [(who, list(group)) for who, group in groupby(messages, _speaker)]
    for position, (who, group) in enumerate(groups):
        steps = _time_steps(group, last)
        # What a conversation is opened with is not the agent's own.
        is_greeting = position == 0 and who != USER and len(groups) > 1
        if not is_greeting:
            spoken = USER if who == USER else name
            yield Stretch(spoken, last, steps[-1].end, steps, heard)
        last, heard = steps[-1].end, group[-1]


def _speaker(message: Shape) -> object:
    # A tool's answer belongs to the caller of the tool.
    return message.get("requestor") if message.get("role") == "tool" else message.get("role")


def _time_steps(messages: Sequence[Shape], start: int) -> list[Step]:
    steps: list[Step] = []
    for message in messages:
        start = max(start, moment(message.get("timestamp")) or start)
        steps.append(Step(message, start))
    return steps


def _of_agents(report: Shape) -> Iterator[Stretch]:
    for name in mapping(report, "traces", "agents"):
        trace = mapping(report, "traces", "agents", name)
        turns = list(_turns(_messages(trace)))
        if counts_its_tokens(report, name):
            yield from _estimated_stretches(
                name, turns, _known_times(trace, len(turns), bounds(report))
            )
        else:
            yield from _stretches_as_logged(name, turns, bounds(report)[0])


def _turns(messages: Sequence[Shape]) -> Iterator[tuple[Shape, list[Shape]]]:
    """Yield each message of a user that was answered, and all answers up to the next one."""
    heard: Shape = {}
    answers: list[Shape] = []
    for message in messages:
        if message.get("role") in ("assistant", "tool"):
            answers.append(message)
            continue
        if answers:
            yield heard, answers
            answers = []
        heard = message
    if answers:
        yield heard, answers


def _stretches_as_logged(
    name: str, turns: Sequence[tuple[Shape, list[Shape]]], start: int
) -> Iterator[Stretch]:
    for heard, answers in turns:
        start = max(start, moment(heard.get("timestamp")) or start)
        steps = _time_steps(answers, start)
        yield Stretch(name, start, steps[-1].end, steps, heard)
        start = steps[-1].end


def _known_times(trace: Shape, turns: int, whole: tuple[int, int]) -> list[tuple[int, int]]:
    """Return the times of each turn: as logged, else in equal parts of the whole."""
    logs = (began_and_ended(mapping(entry)) for entry in entries(trace.get("logs")))
    known = [each for each in logs if each is not None]
    if len(known) == turns:
        return known
    first = min([start for start, _ in known], default=whole[0])
    last = max([end for _, end in known], default=whole[1])
    ends = spread(first, last, turns) if turns else []
    return list(zip([first, *ends], ends, strict=False))


def _estimated_stretches(
    name: str,
    turns: Sequence[tuple[Shape, list[Shape]]],
    times: Sequence[tuple[int, int]],
) -> Iterator[Stretch]:
    for (heard, answers), (start, end) in zip(turns, times, strict=True):
        ends = spread(start, end, len(answers))
        steps = [Step(message, at) for message, at in zip(answers, ends, strict=True)]
        yield Stretch(name, start, end, steps, heard, estimated=True)
