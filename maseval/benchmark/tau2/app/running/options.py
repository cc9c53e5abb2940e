"""The options of ``maseval tau2 run``, ``mcp``, ``play``, ``branch`` and ``submit``."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from maseval.app.results.results import RunResult
from maseval.app.running.options import EXECUTION, OUTPUT, PARTICIPANTS, TASKS, ExtraArguments, Flag
from maseval.app.running.run_options import FolderRunOptions, OutputOptions, check_timeout
from maseval.benchmark.tau2.agent_brief import MakeAgent
from maseval.benchmark.tau2.data import VERSIONS_IN_WORDS
from maseval.core.agent import HUMAN
from maseval.core.exceptions import ConfigurationError

SUBMISSION, BRANCH = "Submission", "Branch"
SAME = "same"
"""Stands for the value in the simulation that is continued."""

# The original's limits; ours for an agent behind MCP is longer, as a person may sit beside it.
DATA_VERSION = "0.2.0"
MAX_STEPS = 200
MAX_ERRORS = 10
SEED = 300
TIMEOUT = 600.0
MCP_TIMEOUT = 3600.0

OnResult = Callable[[RunResult, str], None]
"""Called with the result of a run, and how the conversation ended."""


@dataclass(frozen=True)
class Human:
    """A person who plays one side."""

    side: Literal["assistant", "user"]

    def to_config(self) -> dict[str, object]:
        """Return the entry of the run's configuration; it says nothing about the person."""
        return {"player": HUMAN}


@dataclass(frozen=True, kw_only=True)
class ConversationOptions(OutputOptions):
    """The user, the judge and the limits of a conversation, and the folder it is kept in."""

    split: Annotated[
        str, Flag("Task split: base; telecom: small, full; 1.0.1: train, test", TASKS)
    ] = "base"
    data_version: Annotated[
        str,
        Flag(f"Release of tau2-bench whose tasks and rules are used: {VERSIONS_IN_WORDS}", TASKS),
    ] = DATA_VERSION
    user: Annotated[
        str | None, Flag("llm or scripted (the default if the agent is scripted)", PARTICIPANTS)
    ] = None
    user_model: Annotated[
        str | None, Flag("Model that plays the user", PARTICIPANTS, env=True, alias="user_llm")
    ] = None
    judge_model: Annotated[
        str | None, Flag("Model that judges natural-language assertions", PARTICIPANTS)
    ] = None
    user_args: Annotated[
        ExtraArguments | None,
        Flag(
            "JSON or key=value for the user's model: temperature=0",
            PARTICIPANTS,
            env=True,
            alias="user_llm_args",
            typed=list[str],
        ),
    ] = None
    texts: Annotated[
        str | None,
        Flag(
            "Prompts and descriptions: original or ours (default: original if fetched)",
            PARTICIPANTS,
        ),
    ] = None
    base_url: Annotated[
        str | None,
        Flag("URL of an OpenAI-compatible server, for all models", PARTICIPANTS, env=True),
    ] = None
    max_steps: Annotated[
        int, Flag("Maximum number of steps of a conversation", EXECUTION, recorded=True)
    ] = MAX_STEPS
    max_errors: Annotated[
        int, Flag("Failed tool calls that end a conversation; 0.2.0 does not count them", EXECUTION)
    ] = MAX_ERRORS
    seed: Annotated[
        int | None,
        Flag("Seed of scripted agents and of models that take one", EXECUTION, recorded=True),
    ] = SEED
    timeout: Annotated[
        float | None,
        Flag(
            "Seconds per simulation (0: no limit); then 1.0.1 ends it, and under 0.2.0, which has "
            "no such limit, it is an error",
            EXECUTION,
            recorded=True,
        ),
    ] = TIMEOUT
    probe: Annotated[bool, Flag("Ask each model once before the first simulation", EXECUTION)] = (
        True
    )

    def __post_init__(self) -> None:
        check_timeout(self.timeout)
        for name in ("max_steps", "max_errors"):
            if (limit := getattr(self, name)) < 1:
                raise ConfigurationError(f"{name} is {limit}; give at least 1")

    def shared_with_run(self) -> dict[str, Any]:
        """Return the options that a run has as well, by name."""
        return {each.name: getattr(self, each.name) for each in fields(ConversationOptions)}


@dataclass(frozen=True, kw_only=True)
class RunOptions(ConversationOptions, FolderRunOptions):
    """The options of ``run``.

    ``patience`` is how long a conversation that hangs is waited for, in seconds; by default as long
    as its ``timeout``, and longer where the release's rules end it by that. ``human`` is a person
    who plays one side, see ``play``. ``agent_prompt`` is the system prompt of the reference agent,
    if not the benchmark's; ``{policy}`` in it stands for the domain's policy.
    """

    domain: Annotated[
        str | Sequence[str],
        Flag(
            "airline, retail, telecom, ... or your own: FILE.py:NAME (repeatable)",
            TASKS,
            short="-d",
            typed=list[str],
        ),
    ]
    agent: Annotated[
        str | MakeAgent,
        Flag(
            "llm; a scripted agent: gold, noop, noisy; or your own: FILE.py:FUNCTION",
            PARTICIPANTS,
            typed=str,
        ),
    ] = "llm"
    agent_model: Annotated[
        str | None,
        Flag("Model of the agent, e.g. openai/gpt-4.1", PARTICIPANTS, env=True, alias="agent_llm"),
    ] = None
    agent_args: Annotated[
        ExtraArguments | None,
        Flag(
            "JSON or key=value for the agent: temperature=0, error_rate=0.2",
            PARTICIPANTS,
            env=True,
            alias="agent_llm_args",
            typed=list[str],
        ),
    ] = None
    reasoning: Annotated[
        str | None,
        Flag(
            "Which of its own thoughts the agent's model is sent again: keep, drop or auto "
            "(default: none, as the original, unless its API requires them)",
            PARTICIPANTS,
        ),
    ] = None
    rehearse: Annotated[
        str | None, Flag("Replace the model of your own agent by gold, noop or noisy", PARTICIPANTS)
    ] = None
    mode: Annotated[str, Flag("normal, solo or oracle-plan", PARTICIPANTS)] = "normal"
    patience: float | None = None
    human: Human | None = None
    agent_prompt: str | None = None

    def __post_init__(self) -> None:
        ConversationOptions.__post_init__(self)
        FolderRunOptions.__post_init__(self)

    @property
    def domains(self) -> list[str]:
        """The domains without repetition."""
        return list(dict.fromkeys([self.domain] if isinstance(self.domain, str) else self.domain))


@dataclass(frozen=True, kw_only=True)
class McpOptions(ConversationOptions):
    """The options of ``mcp``."""

    domain: Annotated[str, Flag("Domain of the task", TASKS, short="-d")]
    task_id: Annotated[str, Flag("The task", TASKS, typed=list[str])]
    agent_name: Annotated[str, Flag("Name of the agent in reports", PARTICIPANTS)] = "mcp_agent"
    transport: Annotated[str, Flag("stdio or http", EXECUTION)] = "stdio"
    host: str = "127.0.0.1"
    port: Annotated[int, Flag("For http (0: any free port)", EXECUTION)] = 0
    timeout: Annotated[
        float | None,
        Flag("Seconds from the customer's first words (0: no limit)", EXECUTION, recorded=True),
    ] = MCP_TIMEOUT
    on_address: Callable[[str], object] = lambda url: None
    on_result: OnResult = lambda result, how: None


@dataclass(frozen=True, kw_only=True)
class PlayOptions(ConversationOptions):
    """The options of ``play``; ``side`` is the one that the person plays."""

    domain: str | None = None
    side: str = "agent"
    resume: Annotated[
        bool, Flag("Continue a conversation that was interrupted; else it begins anew", EXECUTION)
    ] = True
    task_id: str | None = None
    agent: Annotated[
        str | MakeAgent | None,
        Flag(
            "If you play the customer: gold (default), noop, noisy, llm or FILE.py:FUNCTION",
            PARTICIPANTS,
            typed=str,
        ),
    ] = None
    agent_model: Annotated[
        str | None,
        Flag(
            "Model of the agent, if you play the customer",
            PARTICIPANTS,
            env=True,
            alias="agent_llm",
        ),
    ] = None
    agent_args: Annotated[
        ExtraArguments | None,
        Flag("JSON or key=value for the agent", PARTICIPANTS, typed=list[str]),
    ] = None
    user: Annotated[
        str | None, Flag("If you play the agent: scripted (default) or llm", PARTICIPANTS)
    ] = None
    timeout: Annotated[
        float | None,
        Flag("Seconds for the whole conversation (0: no limit)", EXECUTION, recorded=True),
    ] = None


@dataclass(frozen=True, kw_only=True)
class SubmitOptions:
    """The options of ``submit``: the runs, their details, and the folder to write.

    Details that are required and not given are reported with every other broken rule.
    """

    runs: Sequence[str | os.PathLike[str]]
    output: Annotated[
        str | os.PathLike[str],
        Flag("Folder to write; it must not exist yet", OUTPUT, short="-o", typed=Path),
    ]
    model_name: Annotated[str | None, Flag("Name on the leaderboard (required)", SUBMISSION)] = None
    model_organization: Annotated[str | None, Flag("Who made the model (required)", SUBMISSION)] = (
        None
    )
    submitting_organization: Annotated[str | None, Flag("Who ran it (required)", SUBMISSION)] = None
    email: Annotated[str | None, Flag("Address for questions (required)", SUBMISSION)] = None
    contact_name: Annotated[str | None, Flag("Name of the contact", SUBMISSION)] = None
    github: Annotated[str | None, Flag("GitHub account of the contact", SUBMISSION)] = None
    submission_type: Annotated[
        str | None,
        Flag("standard or custom (default: standard for the reference agent)", SUBMISSION),
    ] = None
    date: Annotated[str | None, Flag("Day of the submission (default: today)", SUBMISSION)] = None
    notes: Annotated[str | None, Flag("What readers should know", SUBMISSION)] = None


@dataclass(frozen=True, kw_only=True)
class BranchOptions(RunOptions):
    """The options of ``branch``.

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
    # The origin gives these.
    domain: str | Sequence[str] = ""
    split: str = "base"
    data_version: str = ""
    task_id: Sequence[str] = ()
    num_tasks: int | None = None
    anchor_points: None = None
    trials: int = 1
    max_steps: int = MAX_STEPS
    max_errors: int = MAX_ERRORS
    seed: int | None = SEED

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.repeats < 1:
            raise ConfigurationError(f"repeats is {self.repeats}; give at least 1")
