"""Prompts in our own words, composed from the texts in ``prompt_templates``.

The shapes are those of tau2-bench v0.2.0 (MIT, Sierra Research); policies, guidelines and
scenarios are its data, the instructions are ours. ``tau2/wording.py`` chooses between these words
and the original's.
"""

import re
import textwrap
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.formats.simulation import UserInstructions

TEMPLATES = (
    *("agent_instruction", "oracle_instruction", "solo_instruction", "short_conversations"),
    *("judge_system", "judge_user", "user_guidelines", "user_guidelines_tools"),
)


@cache
def template(name: str) -> str:
    """Return one of the texts in ``prompt_templates``, without its final newline."""
    folder = Path(__file__).parents[1] / "prompt_templates"
    return (folder / f"{name}.txt").read_text(encoding="utf-8").rstrip("\n")


def fill_template(name: str, values: Mapping[str, str]) -> str:
    """Return a template with values in its places, inserted verbatim whatever they contain."""
    return re.sub(r"\{(\w+)\}", lambda place: values[place[1]], template(name))


@lru_cache(maxsize=64)
def agent_prompt(policy: str, *, instruction: str | None = None, **sections: str) -> str:
    """Return the agent's system prompt: instructions, policy, further sections by their tags."""
    parts = {"instructions": instruction or template("agent_instruction"), "policy": policy}
    return "\n".join(f"<{tag}>\n{text}\n</{tag}>" for tag, text in (parts | sections).items())


def user_prompt(guidelines: str, scenario: str | None) -> str:
    """Return the simulated user's system prompt."""
    return f"{guidelines}\n\n<scenario>\n{scenario}\n</scenario>"


def scenario_text(persona: str | None, instructions: str | UserInstructions | None) -> str:
    """Return a task's user scenario as the simulated user reads it."""
    lines = []
    if persona is not None:
        lines += ["Persona:", _indent(persona)]
    told = (
        _instructions_text(instructions) if isinstance(instructions, Mapping) else str(instructions)
    )
    lines += ["Instructions:", _indent(told)]
    return "\n".join(lines)


def _instructions_text(instructions: UserInstructions) -> str:
    parts = {
        "Reason for call": instructions.get("reason_for_call"),
        "Known info": instructions.get("known_info"),
        "Unknown info": instructions.get("unknown_info"),
        "Task instructions": instructions.get("task_instructions"),
    }
    told = (f"{title}:\n{_indent(text)}" for title, text in parts.items() if text is not None)
    domain = [f"Domain: {instructions['domain']}"] if instructions.get("domain") else []
    return "\n".join([*domain, *told])


# Each of a task's simulations has them.
@lru_cache(maxsize=4096)
def _indent(text: str) -> str:
    return textwrap.indent(text, "\t")


def resolution_steps(actions: Iterable[Mapping[str, Any]]) -> str:
    """Return the reference solution as numbered steps, for an agent that may see it."""
    return "\n".join(
        f"[Step {number}] {_step(action)}" for number, action in enumerate(actions, start=1)
    )


def _step(action: Mapping[str, Any]) -> str:
    shown = function_text(action)
    if action.get("requestor", "assistant") == "user":
        return f"Instruct the user to perform the following action: {shown}."
    return f"Perform the following action: {shown}."


def function_text(action: Mapping[str, Any]) -> str:
    """Return an action as a call with its arguments."""
    arguments = ", ".join(f"{key}={value}" for key, value in action["arguments"].items())
    return f"{action['name']}({arguments})"
