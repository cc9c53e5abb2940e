"""``maseval tau2 tasks`` and ``maseval tau2 show``: what a domain is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maseval.benchmark.tau2.data_loader import (
    UnknownTaskError,
    load_domain_config,
    load_raw_task,
    load_raw_tasks,
)
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.domains.base import ToolKitBase
from maseval.core.exceptions import ConfigurationError

BASE_DOMAINS = ("airline", "retail", "telecom")


@dataclass(frozen=True)
class TaskLine:
    """One task in a line: how many calls its solution has, and what counts."""

    domain: str
    task_id: str
    purpose: str
    actions: int
    reward_basis: Sequence[str]


@dataclass(frozen=True)
class ToolLine:
    """One tool: who may use it, what it does to the world, and what a model is told of it."""

    name: str
    side: str
    kind: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True)
class WorldView:
    """What was asked for: a task as its file has it, a domain's tools, or its policy."""

    domain: str
    task: Mapping[str, Any] | None = None
    tools: Sequence[ToolLine] | None = None
    policy: str | None = None


def tasks(domain: str | Sequence[str] = BASE_DOMAINS, split: str = "base") -> list[TaskLine]:
    """The tasks of one domain or several."""
    names = [domain] if isinstance(domain, str) else domain
    return [_task_line(name, raw) for name in names for raw in load_raw_tasks(name, split)]


def _task_line(domain: str, raw: Mapping[str, Any]) -> TaskLine:
    criteria = raw.get("evaluation_criteria") or {}
    return TaskLine(
        domain,
        str(raw.get("id")),
        _purpose(raw),
        len(criteria.get("actions") or ()),
        criteria.get("reward_basis") or ("DB", "COMMUNICATE"),
    )


def _purpose(raw: Mapping[str, Any]) -> str:
    description = raw.get("description") or {}
    instructions = (raw.get("user_scenario") or {}).get("instructions") or {}
    told = instructions if isinstance(instructions, Mapping) else {"reason_for_call": instructions}
    words = description.get("purpose") if isinstance(description, Mapping) else description
    return " ".join(str(words or told.get("reason_for_call") or "").split())


def show(what: str, domain: str | None = None) -> WorldView:
    """A task (``12``, or ``retail/12``), a domain's ``tools``, or its ``policy``."""
    if what in ("tools", "policy"):
        if domain is None:
            raise ConfigurationError(
                f"no domain is given; name the one whose {what} to show: --domain retail"
            )
        chosen = domain_named(domain)
        if what == "tools":
            return WorldView(chosen.name, tools=_tools(chosen))
        return WorldView(chosen.name, policy=load_domain_config(chosen)["policy"])
    named, slash, rest = what.partition("/")
    if domain is None and slash:
        return WorldView(named, task=load_raw_task(named, rest))
    if domain is not None:
        return WorldView(domain, task=load_raw_task(domain, what))
    return _task_of_some_domain(what)


def _task_of_some_domain(task_id: str) -> WorldView:
    found = []
    for name in BASE_DOMAINS:
        try:
            found.append(WorldView(name, task=load_raw_task(name, task_id)))
        except UnknownTaskError:
            continue
    if len(found) == 1:
        return found[0]
    if found:
        choices = " or ".join(f"{view.domain}/{task_id}" for view in found)
        raise ConfigurationError(f"{task_id!r} is a task of several domains; write {choices}")
    raise UnknownTaskError(f"no domain has a task {task_id!r}; `maseval tau2 tasks` lists them")


def _tools(domain: Domain) -> list[ToolLine]:
    kits = [("agent", domain.toolkit), ("user", domain.user_toolkit)]
    return [line for side, kit in kits if kit is not None for line in _tools_of(side, kit)]


def _tools_of(side: str, kit: type[ToolKitBase[Any]]) -> list[ToolLine]:
    return [
        ToolLine(
            function["name"],
            side,
            kit.tool_type(function["name"]).value,
            function.get("description", ""),
            (function.get("parameters") or {}).get("properties", {}),
        )
        for function in (definition["function"] for definition in kit.definitions())
    ]
