"""replay_fault: why a conversation could not be replayed, in words."""

from collections.abc import Mapping
from dataclasses import dataclass

from maseval.benchmark.tau2.formats.simulation import RewardInfo, replay_problem


@dataclass(frozen=True)
class ReplayFault:
    """The reason why a conversation could not be replayed."""

    message_index: int | None
    call: Mapping[str, object] | None
    expected: str | None
    found: str | None
    error: str
    meaning: str


def replay_fault(reward_info: RewardInfo) -> ReplayFault | None:
    """Return the reason why a conversation could not be replayed, or None."""
    problem = replay_problem(reward_info)
    if problem is None:
        return None
    expected, found = problem["expected"], problem["found"]
    if found is not None:
        meaning = f"the tool answers differently: {_first_difference(expected, found)}"
    elif problem["call"] is not None and "func_name" in problem["call"]:
        meaning = "an assertion of the task raises in the end state"
    else:
        meaning = "calls and answers are out of order"
    return ReplayFault(
        problem["message_index"], problem["call"], expected, found, problem["error"], meaning
    )


def _first_difference(expected: str | None, found: str) -> str:
    recorded = expected or ""
    at = next(
        (i for i, (a, b) in enumerate(zip(recorded, found, strict=False)) if a != b),
        min(len(recorded), len(found)),
    )
    start = max(0, at - 20)
    return f"recorded …{recorded[start : at + 40]!r}, the tool returns …{found[start : at + 40]!r}"
