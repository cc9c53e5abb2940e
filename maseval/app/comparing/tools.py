"""Count how often each tool was called in a run, and how often the call failed."""

from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple

from maseval.app.results.examined import CALLS, ExaminedRun
from maseval.runs import Simulation
from maseval.runs.recording import Recording


class ToolUse(NamedTuple):
    """The calls of each tool, and those that were answered with an error."""

    calls: Mapping[str, int]
    errors: Mapping[str, int]


def tool_use(recording: Recording, simulations: Collection[Simulation]) -> ToolUse:
    """Count the tool calls in these simulations of a run."""
    run, wanted = ExaminedRun(recording), [one for one in recording.recorded if one in simulations]
    calls, errors = Counter[str](), Counter[str]()
    for found in run.examine_all(wanted, CALLS):
        for name, (made, failed) in (found.calls or {}).items():
            calls[name] += made
            errors[name] += failed
    run.save()
    return ToolUse(calls, +errors)
