"""A team's work in a repetition: who did what and when, the records of all its agents in one order.

The environment records calls of tools and what is said to the user; agents and models keep records
of their own. What stands in both is taken from the environment.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import NamedTuple

from maseval.core.messages import arguments_of
from maseval.core.recorded import LoggedCall, RecordedMessage, RecordedTrace
from maseval.core.words import text

USER = "user"


class RecordedEvent(NamedTuple):
    """A message, or a request to a model: whose it is, and when it was."""

    time: str
    agent: str
    entry: RecordedMessage | LoggedCall


class AgentWork(NamedTuple):
    """The part of one agent: what is not known of it is None.

    ``handovers`` counts how often it took over from another agent, and ``seconds`` the time that
    passed before each of its messages, since whatever came before. The tokens of an agent without
    an adapter of its own are its leader's.
    """

    agent: str
    requests: int
    calls: int
    handovers: int
    input_tokens: float | None
    output_tokens: float | None
    seconds: float


def events_of(name: str, entries: Iterable[RecordedMessage | LoggedCall]) -> list[RecordedEvent]:
    """Return the entries of one record; a tool's answer belongs to the caller before it."""
    events: list[RecordedEvent] = []
    for entry in entries:
        last = events[-1] if events else RecordedEvent("", name, entry)
        within = getattr(entry, "agent_within", None)
        is_answer = entry.raw.get("role") == "tool"
        agent = entry.agent or within or (last.agent if is_answer else name)
        events.append(RecordedEvent(str(entry.timestamp or last.time), agent, entry))
    return events


def own_events(agents: Mapping[str, RecordedTrace]) -> list[RecordedEvent]:
    """Return the messages in the agents' own records, agent by agent."""
    events: list[RecordedEvent] = []
    for name, trace in agents.items():
        events += events_of(name, trace.messages)
        for member, said in trace.members.items():
            events += events_of(member, said)
    return events


def unrecorded(
    own: Iterable[RecordedEvent], recorded: Iterable[RecordedEvent]
) -> Iterator[RecordedEvent]:
    """Yield what the agents' own records have and that of the environment has not."""
    left = Counter(key for event in recorded for key in _keys(event))
    is_known = False
    for event in own:
        if event.entry.raw.get("role") != "tool":  # an answer goes with its call
            keys = Counter(_keys(event))
            is_known = bool(keys) and keys <= left
            left -= keys if is_known else Counter()
        if not is_known:
            yield event


def _keys(event: RecordedEvent) -> Iterator[tuple[str, str]]:
    """Yield what an event of the conversation is recognised by, in whichever record it stands."""
    entry = event.entry
    if isinstance(entry, LoggedCall) or entry.role not in ("assistant", USER):
        return
    who = USER if entry.role == USER else event.agent
    for call in entry.calls:
        given = arguments_of(call.function.get("arguments"))
        yield who, f"{call.name} {json.dumps(given, sort_keys=True, default=str)}"
    if not entry.calls:
        yield who, text(entry.content or "").strip()


def work_of(
    names: Sequence[str],
    events: Sequence[RecordedEvent],
    own: Iterable[RecordedEvent],
    tokens: Mapping[str, tuple[float | None, float | None]],
) -> list[AgentWork]:
    """Return the part of each agent; ``tokens`` are those that agents counted themselves."""
    logged = [event for event in events if isinstance(event.entry, LoggedCall)]
    requests = Counter(event.agent for event in logged)
    answers = Counter(event.agent for event in own if event.entry.raw.get("role") == "assistant")
    calls, handovers = Counter[str](), Counter[str]()
    seconds = dict.fromkeys(names, 0.0)
    worker = None
    # The instructions are as old as the agents: nobody has worked yet.
    events = [event for event in events if event.entry.raw.get("role") != "system"]
    # Nothing comes before the first one, so that no time has passed.
    for before, event in pairwise([RecordedEvent("", "", LoggedCall({})), *events]):
        if isinstance(event.entry, RecordedMessage):
            calls[event.agent] += len(event.entry.calls)
        if event.agent == USER:
            worker = None  # whoever answers the user takes over from no agent
        if event.agent not in names:
            continue
        seconds[event.agent] += _seconds(before.time, event.time)
        handovers[event.agent] += worker not in (None, event.agent)
        worker = event.agent
    return [
        AgentWork(
            name,
            requests[name] or answers[name],
            calls[name],
            handovers[name],
            *_tokens([event.entry for event in logged if event.agent == name], tokens.get(name)),
            round(seconds[name], 3),
        )
        for name in names
    ]


def _tokens(
    logged: Iterable[RecordedMessage | LoggedCall],
    counted: tuple[float | None, float | None] | None,
) -> tuple[float | None, float | None]:
    """Return the tokens that were read and written; None if nobody counted them."""
    used = [(call.input_tokens, call.output_tokens) for call in logged]
    # A framework that reports no tokens has not counted them.
    if counted not in (None, (0, 0), (None, None)) or not used:
        used.append(counted or (None, None))
    known = [[each for each in side if each is not None] for side in zip(*used, strict=True)]
    read, written = (sum(side) if side else None for side in known)
    return read, written


def _seconds(before: str, after: str) -> float:
    try:
        passed = datetime.fromisoformat(after) - datetime.fromisoformat(before)
    except (ValueError, TypeError):  # no time, or one with a zone and one without
        return 0.0
    return max(0.0, passed.total_seconds())
