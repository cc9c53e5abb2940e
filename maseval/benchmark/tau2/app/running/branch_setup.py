"""The options of the run that continues a simulation: what was not asked for is as it was there."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.app.running.branch_options import SAME, BranchOptions
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.app.running.origin import Recalled
from maseval.core.exceptions import ConfigurationError

_HELD = ("max_steps", "max_errors", "seed")


def options_for(options: BranchOptions, recalled: Recalled, split: str) -> RunOptions:
    """The options of the run; the task is one of ``split``."""
    known = recalled.settings
    given: dict[str, Any] = {each.name: getattr(options, each.name) for each in fields(RunOptions)}
    given |= {name: known[name] for name in _HELD if name in known}
    given |= {"mode": _mode(options, known, recalled.solo)}
    given |= (
        _agent(options, known) | _prompt(options) | _user(options, known) | _others(options, known)
    )
    given |= {
        "domain": recalled.simulation.domain,
        "data_version": recalled.version,
        "task_id": (recalled.simulation.task_id,),
        "split": split,
        "trials": options.repeats,
    }
    return RunOptions(**given)


def _mode(options: BranchOptions, known: Mapping[str, object], solo: bool) -> object:
    recorded = known.get("mode", "solo" if solo else "normal")
    mode = recorded if options.mode == SAME else options.mode
    if (mode == "solo") is not solo:
        held = "without a user (solo)" if solo else "with a user"
        raise ConfigurationError(
            f"mode is {mode!r}, but the conversation was held {held}; leave --mode out"
        )
    return mode


def _agent(options: BranchOptions, known: Mapping[str, object]) -> dict[str, object]:
    if options.agent != SAME:
        return {}
    if options.agent_model is not None and "agent_function" not in known:
        return {"agent": "llm", "agent_prompt": known.get("agent_prompt")}
    if "agent" not in known:
        # A name that stands in a file is never loaded, since loading runs code.
        reference = known.get("agent_function", "llm --agent-model MODEL")
        raise ConfigurationError(
            "the agent of the original cannot be made again from its record; name one: "
            f"--agent {reference}"
        )
    names = ("agent", "agent_model", "agent_prompt")
    chosen = {name: known[name] for name in names if name in known}
    return chosen if options.agent_args else {**chosen, "agent_args": known.get("agent_args", {})}


def _prompt(options: BranchOptions) -> dict[str, object]:
    if options.prompt is None:
        return {}
    path = Path(options.prompt)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text in UTF-8"
        raise ConfigurationError(
            f"the prompt in {str(path)!r} cannot be read: {reason}; give a text file"
        ) from None
    if not text.strip():
        raise ConfigurationError(
            f"the prompt in {str(path)!r} is empty; write what the agent is to read"
        )
    return {"agent_prompt": text}


def _user(options: BranchOptions, known: Mapping[str, object]) -> dict[str, object]:
    if options.user is not None or options.user_model is not None:
        return {}
    chosen = {name: known[name] for name in ("user", "user_model") if name in known}
    return chosen if options.user_args else {**chosen, "user_args": known.get("user_args", {})}


def _others(options: BranchOptions, known: Mapping[str, object]) -> dict[str, object]:
    names = ("texts", "judge_model")
    return {name: known[name] for name in names if name in known and not getattr(options, name)}
