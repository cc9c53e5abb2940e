"""The options of ``maseval tau2 run``, ``mcp``, ``play`` and ``branch``."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from maseval.app.results.run_summary import RunResult
from maseval.app.running.options import (
    EXECUTION,
    PARTICIPANTS,
    REQUIRED,
    TASKS,
    ExtraArguments,
    option,
)
from maseval.app.running.run_options import FolderRunOptions, OutputOptions
from maseval.benchmark.tau2.data import VERSIONS_IN_WORDS
from maseval.core.agent_brief import MakeAgent
from maseval.core.exceptions import ConfigurationError

BRANCH = "Branch"
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


@dataclass(frozen=True, kw_only=True)
class ConversationOptions(OutputOptions):
    """The user, the judge and the limits of a conversation, and the folder it is kept in."""

    split: str = option("base", "Task split: base; telecom: small, full; 1.0.1: train, test", TASKS)
    data_version: str = option(
        DATA_VERSION,
        f"Release of tau2-bench whose tasks and rules are used: {VERSIONS_IN_WORDS}",
        TASKS,
    )
    user: str | None = option(
        None, "llm or scripted (the default if the agent is scripted)", PARTICIPANTS
    )
    user_model: str | None = option(
        None, "Model that plays the user", PARTICIPANTS, env=True, alias="user_llm"
    )
    judge_model: str | None = option(
        None,
        "Model that judges natural-language assertions; rule: no model, for retail of 1.0.1",
        PARTICIPANTS,
        alias="judge",
    )
    user_args: ExtraArguments | None = option(
        None,
        "JSON or key=value for the user's model: temperature=0",
        PARTICIPANTS,
        env=True,
        alias="user_llm_args",
        typed=list[str],
    )
    texts: str | None = option(
        None,
        "Prompts and descriptions: original or ours (default: original if fetched)",
        PARTICIPANTS,
    )
    base_url: str | None = option(
        None, "URL of an OpenAI-compatible server, for all models", PARTICIPANTS, env=True
    )
    max_steps: int = option(
        MAX_STEPS, "Maximum number of steps of a conversation", EXECUTION, recorded=True
    )
    max_errors: int = option(
        MAX_ERRORS,
        "Failed tool calls after which a conversation ends (not counted under 0.2.0)",
        EXECUTION,
    )
    seed: int | None = option(
        SEED, "Seed of scripted agents and of models that take one", EXECUTION, recorded=True
    )
    timeout: float | None = option(
        TIMEOUT,
        "Seconds per simulation (0: no limit); 1.0.1 then ends the conversation, under 0.2.0 "
        "it is an error",
        EXECUTION,
        recorded=True,
    )


@dataclass(frozen=True, kw_only=True)
class RunOptions(ConversationOptions, FolderRunOptions):
    """The options of ``run``.

    ``patience`` is how long a conversation that hangs is waited for, in seconds; by default as long
    as its ``timeout``, and longer where the release's rules end it by that. ``human`` is the
    ``Person`` who plays the agent, see ``play``. ``agent_prompt`` is another system prompt for the
    reference agent; ``{policy}`` in it stands for the domain's policy.
    """

    domain: str | Sequence[str] = option(
        (),
        "airline, retail, telecom, ... or your own: FILE.py:NAME (repeatable)",
        TASKS,
        short="-d",
        typed=list[str],
    )
    agent: str | MakeAgent = option(
        "llm",
        "llm; a scripted agent: gold, noop, noisy; your own: FILE.py:FUNCTION; or a finished one: "
        "acp:COMMAND, a2a:URL",
        PARTICIPANTS,
        typed=str,
    )
    agent_model: str | None = option(
        None, "Model of the agent, e.g. openai/gpt-4.1", PARTICIPANTS, env=True, alias="agent_llm"
    )
    agent_args: ExtraArguments | None = option(
        None,
        "JSON or key=value for the agent: temperature=0, error_rate=0.2",
        PARTICIPANTS,
        env=True,
        alias="agent_llm_args",
        typed=list[str],
    )
    agent_env: Sequence[str] = option(
        (),
        "Environment variable for the agent's program: NAME or NAME=VALUE (repeatable)",
        PARTICIPANTS,
        typed=list[str],
    )
    reasoning: str | None = option(
        None,
        "Reasoning sent back to the agent's model: keep, drop or auto (default: none, as in "
        "the original, unless its API requires it)",
        PARTICIPANTS,
    )
    rehearse: str | None = option(
        None, "Replace the model of your own agent by gold, noop or noisy", PARTICIPANTS
    )
    failed_only: str | None = option(
        None,
        "Only what failed or has no verdict in this run; other options default to its own",
        TASKS,
        alias="lf",
    )
    mode: str = option("normal", "normal, solo or oracle-plan", PARTICIPANTS)
    perturb: str | None = option(
        None,
        "Try robustness: faults=0.2 (tools fail), structure (of answers), prompt=FILE (reworded)",
        PARTICIPANTS,
    )
    ask_confidence: bool = option(
        False, "Ask the agent after the end how sure it is; one request more", PARTICIPANTS
    )
    patience: float | None = None
    # Not by its type: what a person is made of would be loaded with every help text.
    human: Any = None
    agent_prompt: str | None = None

    @classmethod
    def of(cls, given: ConversationOptions, **more: Any) -> "RunOptions":
        """Return the options that ``given`` has as well, and ``more``, which count first."""
        shared = {
            each.name: getattr(given, each.name)
            for each in fields(RunOptions)
            if hasattr(given, each.name)
        }
        return RunOptions(**{**shared, **more})


@dataclass(frozen=True, kw_only=True)
class McpOptions(ConversationOptions):
    """The options of ``mcp``."""

    domain: str = option(REQUIRED, "Domain of the task", TASKS, short="-d")
    task_id: str = option(REQUIRED, "The task", TASKS, typed=list[str])
    agent_name: str = option("mcp_agent", "Name of the agent in reports", PARTICIPANTS)
    transport: str = option("stdio", "stdio or http", EXECUTION)
    host: str = "127.0.0.1"
    port: int = option(0, "For http (0: any free port)", EXECUTION)
    timeout: float | None = option(
        MCP_TIMEOUT,
        "Seconds from the customer's first words (0: no limit)",
        EXECUTION,
        recorded=True,
    )
    on_address: Callable[[str], object] = lambda url: None
    on_result: OnResult = lambda result, how: None


@dataclass(frozen=True, kw_only=True)
class PlayOptions(ConversationOptions):
    """The options of ``play``.

    ``ask`` gets a ``SeatView`` and returns a message.
    """

    domain: str = option(
        "library", "airline, retail, telecom, ... or your own: FILE.py:NAME", TASKS, short="-d"
    )
    ask: Callable[[Any], Any]
    task_id: Sequence[str] = option(
        (), "This task, or 1-5,9 (repeatable; default: the first)", TASKS, typed=list[str]
    )
    user: str | None = option(None, "scripted (default) or llm", PARTICIPANTS)
    timeout: float | None = option(
        None, "Seconds for the whole conversation (0: no limit)", EXECUTION, recorded=True
    )


@dataclass(frozen=True, kw_only=True)
class BranchOptions(RunOptions):
    """The options of ``branch``.

    The task, the release and the limits are those of the origin. So are the agent, its model, the
    user, the mode and the texts, unless others are named.
    """

    run: str | os.PathLike[str]
    task: str
    trial: int | None = None
    at: int = option(
        REQUIRED, "Continue after this message, as the report and the viewer number them", BRANCH
    )
    repeats: int = option(1, "Simulations from that point on", BRANCH, short="-k")
    agent: str | MakeAgent = option(
        SAME,
        "same; llm; a scripted agent: gold, noop, noisy; or your own: FILE.py:FUNCTION",
        PARTICIPANTS,
        typed=str,
    )
    prompt: str | os.PathLike[str] | None = option(
        None,
        "File with another system prompt for the reference agent; {policy} in it stands for "
        "the domain's policy",
        PARTICIPANTS,
        typed=Path,
    )
    mode: str = option(SAME, "same, normal, solo or oracle-plan", PARTICIPANTS)
    user: str | None = option(None, "llm or scripted (default: as in the original)", PARTICIPANTS)
    # The origin gives these.
    domain: str | Sequence[str] = ""
    split: str = "base"
    data_version: str = ""
    task_id: Sequence[str] = ()
    num_tasks: int | None = None
    failed_only: str | None = None
    trials: int = 1
    max_steps: int = MAX_STEPS
    max_errors: int = MAX_ERRORS
    seed: int | None = SEED

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.repeats < 1:
            raise ConfigurationError(f"repeats is {self.repeats}; give at least 1")
        if self.perturb is not None:
            raise ConfigurationError(
                f"perturb is {self.perturb!r}, but a branch continues a recorded conversation, "
                "which cannot be perturbed; leave it out"
            )
