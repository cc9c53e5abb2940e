"""``maseval tau2 show``: a task, or a domain's tools or policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from maseval.benchmark.tau2.data_loader import (
    UnknownTaskError,
    load_domain_config,
    load_raw_task,
)
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.domains.base import ToolKitBase
from maseval.commands.tau2.tasks import BASE_DOMAINS
from maseval.core.exceptions import ConfigurationError


@dataclass(frozen=True)
class ToolLine:
    """One tool: who may use it, whether it reads or writes, and its description for a model."""

    name: str
    side: str
    kind: str
    description: str
    parameters: Mapping[str, object]


@dataclass(frozen=True)
class DomainView:
    """What was asked for: a task as its file has it, a domain's tools, or its policy."""

    domain: str
    task: Mapping[str, object] | None = None
    tools: Sequence[ToolLine] | None = None
    policy: str | None = None


def show(what: str, domain: str | None = None) -> DomainView:
    """A task (``12``, or ``retail/12``), a domain's ``tools``, or its ``policy``."""
    if what in ("tools", "policy"):
        if domain is None:
            raise ConfigurationError(
                f"no domain is given; name the one whose {what} to show: --domain retail"
            )
        chosen = domain_named(domain)
        if what == "tools":
            return DomainView(chosen.name, tools=_tools(chosen))
        return DomainView(chosen.name, policy=load_domain_config(chosen)["policy"])
    named, slash, rest = what.partition("/")
    if domain is None and slash:
        return DomainView(named, task=load_raw_task(named, rest))
    if domain is not None:
        return DomainView(domain, task=load_raw_task(domain, what))
    return _task_of_some_domain(what)


def _task_of_some_domain(task_id: str) -> DomainView:
    found = []
    for name in BASE_DOMAINS:
        try:
            found.append(DomainView(name, task=load_raw_task(name, task_id)))
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
