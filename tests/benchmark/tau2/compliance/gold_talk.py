"""Whole conversations made from reference solutions: asked, agreed to, done.

``steps_of`` gives a conversation as a list of steps, which a test changes to break one rule;
``play`` carries the steps out in the real world of the benchmark.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.data_loader import domain_folder
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.releases import release_of
from maseval.benchmark.tau2.formats.message import INITIAL_GREETING
from maseval.benchmark.tau2.review.policy import PolicyResult, check_case
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.benchmark.tau2.world.world import World
from tests.benchmark.tau2.staged import call_and_answer, gold, simulation_of, wish


@dataclass
class Say:
    """A text of one side."""

    role: str
    text: str


@dataclass
class Do:
    """A call of one side."""

    name: str
    arguments: dict[str, Any]
    role: str = "assistant"


Step = Say | Do


def steps_of(
    domain: str,
    task: Mapping[str, Any],
    prelude: Sequence[Step] = (),
    *,
    version: str | None = None,
) -> list[Step]:
    """A conversation in which every write of the agent is proposed in full and agreed to.

    ``prelude`` is what the domain wants first, such as finding out who the user is.
    """
    kit = release_of(domain, version).domain(domain_named(domain)).toolkit
    steps: list[Step] = [Say("user", f"Hello, I need your help. {wish(task)}"), *prelude]
    for action in gold(task):
        role, name = action.get("requestor", "assistant"), action["name"]
        if role == "assistant" and kit.has_tool(name) and kit.mutates(name):
            steps += [proposal(name, action["arguments"]), Say("user", "Yes, please go ahead.")]
        steps.append(Do(name, dict(action["arguments"]), role))
    return [*steps, Say("assistant", "All is done."), Say("user", "Thank you. ###STOP###")]


def proposal(name: str, arguments: Mapping[str, Any]) -> Say:
    """All details of an action, and the question whether to take it."""
    details = "\n".join(f"- {key}: {_plain(value)}" for key, value in arguments.items())
    text = f"I will {name.replace('_', ' ')}:\n{details}\nDo you confirm (yes/no)?"
    return Say("assistant", text)


def _plain(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


@cache
def _folder(domain: str, version: str | None) -> Path:
    found = release_of(domain, version).domain(domain_named(domain))
    return domain_folder(found, [found.db_file], None)


def play(
    domain: str,
    task: Mapping[str, Any],
    steps: Sequence[Step],
    *,
    folder: Path | None = None,
    version: str | None = None,
    solo: bool = False,
) -> dict[str, Any]:
    """Carry out the steps; the simulation is in the form of results files."""
    release = release_of(domain, version)
    world = World(
        release.domain(domain_named(domain)),
        folder or _folder(domain, version),
        solo=solo,
        rules=release.rules.replay,
    )
    start = task.get("initial_state") or {}
    world.set_state(start.get("initialization_data"), start.get("initialization_actions"), [])
    greeting = {"role": "assistant", "content": INITIAL_GREETING}
    messages: list[dict[str, Any]] = [] if solo else [greeting]
    for number, step in enumerate(steps):
        if isinstance(step, Say):
            messages.append({"role": step.role, "content": step.text})
            continue
        messages += call_and_answer(world, number, step.name, step.arguments, step.role)
    return simulation_of(task, messages, duration=7199.0)


def compliance_of(
    domain: str,
    task: Mapping[str, Any],
    steps: Sequence[Step],
    *,
    version: str | None = None,
    solo: bool = False,
) -> PolicyResult:
    """Play the steps and ask the rules about them."""
    simulation = play(domain, task, steps, version=version, solo=solo)
    return check_case(open_case(simulation, domain, task, version=version, solo=solo))
