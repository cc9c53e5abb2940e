"""The ``info`` of a results file in v0.2.0's form: what all its simulations have in common.

After tau2-bench v0.2.0, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

from typing import NotRequired

from typing_extensions import TypedDict


class SideInfo(TypedDict):
    """Who played the agent."""

    implementation: str
    llm: NotRequired[str | None]
    llm_args: NotRequired[dict[str, object] | None]


class UserInfo(SideInfo):
    """Who played the user, and by which guidelines."""

    global_simulation_guidelines: NotRequired[str | None]


class EnvironmentInfo(TypedDict):
    """The domain and its policy."""

    domain_name: str
    policy: str
    tool_defs: NotRequired[object]


class RunInfo(TypedDict):
    """The configuration of a run."""

    git_commit: str
    num_trials: int
    max_steps: int
    max_errors: int
    user_info: UserInfo
    agent_info: SideInfo
    environment_info: EnvironmentInfo
    seed: NotRequired[int | None]
