"""A verdict in v0.2.0's form: the reward, and what each check found.

After tau2-bench v0.2.0, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

from collections.abc import Mapping
from typing import NotRequired, cast

from typing_extensions import TypedDict


class DBCheck(TypedDict):
    """Whether the databases ended as the reference solution leaves them."""

    db_match: bool
    db_reward: float


class EnvAssertionCheck(TypedDict):
    """Whether an assertion about the end state holds."""

    env_assertion: dict[str, object]
    met: bool
    reward: float


class ActionCheck(TypedDict):
    """Whether an action of the reference solution was taken; v0.2.0 has no ``tool_type``."""

    action: dict[str, object]
    action_match: bool
    action_reward: float
    tool_type: NotRequired[str | None]


class NLCheck(TypedDict):
    """Whether a natural-language assertion is met, and why."""

    nl_assertion: str
    met: bool
    justification: str


class CommunicateCheck(TypedDict):
    """Whether the agent said something it had to say."""

    info: str
    met: bool
    justification: str


class ReplayProblem(TypedDict):
    """Where and why a conversation cannot be replayed; v0.2.0 raises an exception instead."""

    message_index: int | None
    call: Mapping[str, object] | None
    expected: str | None
    found: str | None
    error: str
    error_type: str


class RewardInfo(TypedDict):
    """A verdict, key for key as v0.2.0 writes it."""

    reward: float
    db_check: NotRequired[DBCheck | None]
    env_assertions: NotRequired[list[EnvAssertionCheck] | None]
    action_checks: NotRequired[list[ActionCheck] | None]
    nl_assertions: NotRequired[list[NLCheck] | None]
    communicate_checks: NotRequired[list[CommunicateCheck] | None]
    reward_basis: NotRequired[list[str] | None]
    reward_breakdown: NotRequired[dict[str, float] | None]
    info: NotRequired[dict[str, object] | None]


def replay_problem(verdict: RewardInfo) -> ReplayProblem | None:
    """Why the conversation could not be replayed, in a verdict of ours; None if it could be."""
    return cast(ReplayProblem | None, (verdict.get("info") or {}).get("replay_error"))
