"""A simulation in v0.2.0's form: one conversation, from its beginning to the verdict.

After tau2-bench v0.2.0, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

from enum import StrEnum
from typing import NotRequired

from typing_extensions import TypedDict

from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.formats.reward import RewardInfo


class TerminationReason(StrEnum):
    """Why a simulation ended; v0.2.0 knows the first four reasons only."""

    AGENT_STOP = "agent_stop"
    USER_STOP = "user_stop"
    MAX_STEPS = "max_steps"
    TOO_MANY_ERRORS = "too_many_errors"
    TIMEOUT = "timeout"
    AGENT_ERROR = "agent_error"
    USER_ERROR = "user_error"
    INFRASTRUCTURE_ERROR = "infrastructure_error"
    CONTEXT_WINDOW_EXCEEDED = "context_window_exceeded"
    UNEXPECTED_ERROR = "unexpected_error"


class SimulationForm(TypedDict):
    """One finished simulation; other releases end simulations for reasons of their own."""

    id: str
    task_id: str
    timestamp: NotRequired[str | None]
    start_time: str
    end_time: str
    duration: float
    termination_reason: TerminationReason | str
    agent_cost: NotRequired[float | None]
    user_cost: NotRequired[float | None]
    reward_info: NotRequired[RewardInfo | None]
    messages: list[Tau2Message] | None
    trial: NotRequired[int | None]
    seed: NotRequired[int | None]
