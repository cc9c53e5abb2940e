"""Reports read without their traces, which are most of a line: for an index of a long log.

What is found must be exactly what reading the whole line finds. So a line is cut only where its
own syntax proves that the cut is right, and everything else is read whole.
"""

import json
from typing import Any

_TRACES = b', "traces": {'
_CONFIG = b', "config": {'
_ENVIRONMENT = b'"environment": '
_SIMULATION = b', "simulation": '
_MESSAGES = b', "messages": ['


def skimmed(line: bytes) -> dict[str, Any] | None:
    """The record of a report, of its traces only why the conversation ended.

    The line must be as it was written. None if it has to be read whole.
    """
    begin = line.find(_TRACES)
    end = line.find(_CONFIG, begin)
    if begin < 0 or end < 0:
        return None
    try:
        # Each half is an object of its own only if it was cut between two items of the record: in
        # JSON no quote inside of a text looks like these, and braces would not match elsewhere.
        head = json.loads(line[:begin] + b"}")
        tail = json.loads(b"{" + line[end + 2 :])
        ended = _ended(line[begin:end])
    except (ValueError, RecursionError):
        return None
    environment = {"simulation": {"termination_reason": ended}}
    return {**head, "traces": {"environment": environment}, **tail}


def _ended(traces: bytes) -> object:
    """Why the conversation ended; raises ``ValueError`` if that cannot be told from a part."""
    place = traces.find(_ENVIRONMENT)
    # All traces that are collected name an environment: one that is named once is theirs.
    if place < 0 or traces.find(_ENVIRONMENT, place + 1) >= 0:
        raise ValueError("it names several environments, or none")
    place += len(_ENVIRONMENT)
    if traces.startswith(b"null", place):
        return None
    begin = traces.find(_SIMULATION, place)
    end = traces.find(_MESSAGES, begin)
    json.loads(traces[place:begin] + b"}")  # the simulation is an item of the environment
    reason = json.loads(traces[begin + len(_SIMULATION) : end] + b"}").get("termination_reason")
    if not isinstance(reason, str):
        raise ValueError("it says elsewhere why it ended")
    return reason
