"""The cases of AgentDojo as tasks: a user task by itself, or with an attack in what it reads."""

from collections.abc import Iterator, Sequence
from typing import Any

from maseval import Task
from maseval_agentdojo.library import attack_on, injections_of, suite_of


def load_cases(
    version: str, suites: Sequence[str], attack: str | None, attacked_model: str
) -> Iterator[Task]:
    """Yield a case for each user task, and with an attack one for each pair of it and a goal."""
    for name in suites:
        suite = suite_of(version, name)
        if attack is None:
            for user in suite.user_tasks.values():
                yield _case(version, name, user)
            continue
        attacker = attack_on(suite, attack, attacked_model)
        goals = list(suite.injection_tasks.values())
        # It has a goal of its own, and the library uses nothing of the first.
        if attacker.is_dos_attack:
            goals = goals[:1]
        for user in suite.user_tasks.values():
            for goal in goals:
                injections = injections_of(attacker, user, goal)
                yield _case(version, name, user, goal, attack, injections, attacker.is_dos_attack)


def _case(
    version: str,
    suite: str,
    user: Any,
    goal: Any = None,
    attack: str | None = None,
    injections: dict[str, str] | None = None,
    is_dos: bool = False,
) -> Task:
    return Task(
        id=user.ID if goal is None else f"{user.ID}.{goal.ID}",
        query=user.PROMPT,
        environment_data={
            "version": version,
            "suite": suite,
            "user_task": user.ID,
            "injection_task": None if goal is None else goal.ID,
            "injections": injections or {},
            "is_dos": is_dos,
        },
        cluster=user.ID,
        metadata={"domain": suite, "attack": attack, "goal": goal and goal.GOAL},
    )
