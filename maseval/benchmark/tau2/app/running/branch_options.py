"""The options of ``maseval tau2 branch``: those of a run, as far as the origin leaves a choice."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from maseval.app.running.folder_options import PARTICIPANTS
from maseval.app.running.options import Flag
from maseval.benchmark.tau2.app.running.options import MAX_ERRORS, MAX_STEPS, SEED, RunOptions
from maseval.benchmark.tau2.app.running.own_agents import MakeAgent
from maseval.core.exceptions import ConfigurationError

BRANCH = "Branch"
SAME = "same"
"""As in the simulation that is continued."""


@dataclass(frozen=True, kw_only=True)
class BranchOptions(RunOptions):
    """What ``branch`` is asked to do.

    The task, the release and the limits are those of the origin. So are the agent, its model, the
    user, the mode and the texts, unless others are named.
    """

    run: str | os.PathLike[str]
    task: str
    trial: int | None = None
    at: Annotated[
        int, Flag("Continue after this message, as the report and the viewer number them", BRANCH)
    ]
    repeats: Annotated[int, Flag("Simulations from that point on", BRANCH, short="-k")] = 1
    lenient: Annotated[
        bool, Flag("Where a tool answers otherwise than recorded, use the new answer", BRANCH)
    ] = False
    of_domain: str | None = None
    agent: Annotated[
        str | MakeAgent,
        Flag(
            "same; llm; a scripted agent: gold, noop, noisy; or your own: FILE.py:FUNCTION",
            PARTICIPANTS,
            typed=str,
        ),
    ] = SAME
    prompt: Annotated[
        str | os.PathLike[str] | None,
        Flag(
            "File with another system prompt for the reference agent; {policy} in it stands for "
            "the domain's policy",
            PARTICIPANTS,
            typed=Path,
        ),
    ] = None
    mode: Annotated[str, Flag("same, normal, solo or oracle-plan", PARTICIPANTS)] = SAME
    user: Annotated[
        str | None, Flag("llm or scripted (default: as in the original)", PARTICIPANTS)
    ] = None
    # What the origin says.
    domain: str | Sequence[str] = ""
    split: str = "base"
    data_version: str = ""
    task_id: Sequence[str] = ()
    num_tasks: int | None = None
    trials: int = 1
    max_steps: int = MAX_STEPS
    max_errors: int = MAX_ERRORS
    seed: int | None = SEED

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.repeats < 1:
            raise ConfigurationError(f"repeats is {self.repeats}; give at least 1")
