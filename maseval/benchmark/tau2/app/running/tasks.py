"""``maseval tau2 tasks``, and the tasks that a run is made of."""

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maseval.app.results.task_names import TaskName, list_names, tasks_called, why_not_one
from maseval.app.running.own_benchmarks import queue_of_anchor_points
from maseval.benchmark.tau2.app.running.own_domains import domain_name
from maseval.benchmark.tau2.data_loader import UnknownTaskError, load_raw_tasks, load_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import ChosenSubset, Task

BASE_DOMAINS = ("airline", "retail", "telecom")

TasksByDomain = dict[str, list[Task]]


@dataclass(frozen=True)
class TaskLine:
    """One task in a line: its number in its domain's list, its purpose, and its scoring.

    ``reason`` is why the customer calls; ``actions`` is how many calls the solution has.
    """

    domain: str
    task_id: str
    purpose: str
    reason: str
    number: int
    actions: int
    reward_basis: Sequence[str]


def tasks(
    domain: str | Sequence[str] = BASE_DOMAINS,
    split: str = "base",
    *,
    data_version: str | None = None,
) -> list[TaskLine]:
    """List the tasks of one domain or several."""
    names = map(domain_name, [domain] if isinstance(domain, str) else domain)
    return [
        _task_line(name, number, raw)
        for name in names
        for number, raw in enumerate(load_raw_tasks(name, split, version=data_version))
    ]


def _task_line(domain: str, number: int, raw: Mapping[str, Any]) -> TaskLine:
    criteria = raw.get("evaluation_criteria") or {}
    description = raw.get("description") or {}
    purpose = description.get("purpose") if isinstance(description, Mapping) else description
    reason = reason_for_call(raw)
    return TaskLine(
        domain,
        str(raw.get("id")),
        " ".join(str(purpose or reason).split()),
        reason,
        number,
        len(criteria.get("actions") or ()),
        criteria.get("reward_basis") or ("DB", "COMMUNICATE"),
    )


def reason_for_call(raw: Mapping[str, Any]) -> str:
    """Return the customer's reason in one line; empty if the task does not say."""
    told = (raw.get("user_scenario") or {}).get("instructions") or {}
    reason = told.get("reason_for_call") if isinstance(told, Mapping) else told
    return " ".join(str(reason or raw.get("ticket") or "").split())


def select_tasks(
    domains: Sequence[str],
    *,
    split: str = "base",
    task_ids: Collection[str] = (),
    num_tasks: int | None = None,
    timeout: float | None = None,
    data_version: str | None = None,
) -> TasksByDomain:
    """Load the tasks of each domain; ``num_tasks`` is the most that each domain gives."""
    if not domains:
        raise ConfigurationError("no domain is given; name one or more, such as --domain retail")
    selected: TasksByDomain = {}
    for name in dict.fromkeys(domains):
        domain = domain_named(name).name
        queue = load_tasks(domain, split, timeout_seconds=timeout, version=data_version)
        selected[name] = queue.to_list()
    if task_ids:
        chosen = _resolve_task_names(task_ids, selected, split)
        selected = {
            name: [task for task in tasks if TaskName(name, str(task.id)) in chosen]
            for name, tasks in selected.items()
        }
    return {name: tasks[:num_tasks] for name, tasks in selected.items() if tasks}


def chosen_tasks(
    tasks: TasksByDomain, anchor_points: str | os.PathLike[str]
) -> tuple[TasksByDomain, ChosenSubset | None]:
    """Return the tasks at these positions of all domains' tasks, and that they were chosen."""
    of_domain = [(name, task) for name, each in tasks.items() for task in each]
    queue = queue_of_anchor_points((task for _, task in of_domain), anchor_points)
    chosen = {id(task) for task in queue}
    found: TasksByDomain = {}
    for name, task in of_domain:
        if id(task) in chosen:
            found.setdefault(name, []).append(task)
    return found, queue.subset


def _resolve_task_names(
    task_ids: Collection[str], selected: TasksByDomain, split: str
) -> set[TaskName]:
    """Find the tasks with these names; an id that several domains have means each of them."""
    every = [TaskName(name, str(task.id)) for name, tasks in selected.items() for task in tasks]
    chosen: set[TaskName] = set()
    for name in list_names(task_ids, every):
        found = tasks_called(name, every)
        words = why_not_one(name, found, every)
        if not found:
            raise UnknownTaskError(
                f"no task {name!r} among the {split} tasks of {', '.join(selected)}; {words} "
                f"(`maseval tau2 tasks --domain {next(iter(selected))}` lists them)"
            )
        if len({task.domain for task in found}) < len(found):
            raise UnknownTaskError(words)
        chosen.update(found)
    return chosen
