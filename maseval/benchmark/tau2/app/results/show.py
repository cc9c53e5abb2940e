"""``maseval tau2 tasks``: a task, or a domain's tools or policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from maseval.app.results.finding import tasks_called, why_not_one
from maseval.benchmark.tau2.app.results.support import reason_for_call
from maseval.benchmark.tau2.app.running.tasks import BASE_DOMAINS, domain_name
from maseval.benchmark.tau2.data_loader import (
    UnknownTaskError,
    load_domain_config,
    load_raw_task,
    load_raw_tasks,
)
from maseval.benchmark.tau2.domains import Domain, domain_names
from maseval.benchmark.tau2.domains.releases import Release, release_named
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import TaskKey


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
    """A task as its file has it, or a domain's tools or policy."""

    domain: str
    task: Mapping[str, object] | None = None
    tools: Sequence[ToolLine] | None = None
    policy: str | None = None

    @property
    def reason(self) -> str:
        """The customer's reason to call."""
        return reason_for_call(self.task or {})


def show(what: str, domain: str | None = None, *, data_version: str | None = None) -> DomainView:
    """Look up a task (``12``, ``retail/12``, a part of its id), or a domain's tools or policy."""
    domain = None if domain is None else domain_name(domain)
    if what in ("tools", "policy"):
        if domain is None:
            raise ConfigurationError(
                f"no domain is given; name the one whose {what} to show: --domain retail"
            )
        chosen = release_named(data_version).domain(domain)
        if what == "tools":
            return DomainView(chosen.name, tools=_tools(chosen))
        return DomainView(chosen.name, policy=load_domain_config(chosen)["policy"])
    name = what if domain is None else f"{domain}/{what.removeprefix(f'{domain}/')}"
    first, slash, _ = what.partition("/")
    known = [first] if slash and first in domain_names() else BASE_DOMAINS
    return _task(name, [domain] if domain else known, release_named(data_version))


def _task(name: str, domains: Sequence[str], release: Release) -> DomainView:
    every = _names(domains, release, only_base=True)
    found = tasks_called(name, every)
    if not found:
        every = _names(domains, release, only_base=False)
        found = tasks_called(name, every)
    if len(found) == 1:
        domain, task_id = found[0]
        return DomainView(domain, task=load_raw_task(domain, task_id, version=release))
    words = why_not_one(name, found, every)
    if found:
        raise ConfigurationError(words)
    raise UnknownTaskError(
        f"no task {name!r} in {', '.join(domains)}; {words} (`maseval tau2 tasks` lists them)"
    )


def _names(domains: Sequence[str], release: Release, *, only_base: bool) -> list[TaskKey]:
    names = []
    for name in domains:
        domain = release.tasks.domain(name)
        # Every task is in one of the files, or in the whole of the only file.
        every = [None] if domain.splits_file else list(domain.task_files)
        for split in ["base"] if only_base else every:
            tasks = load_raw_tasks(name, split, version=release)
            names += [TaskKey(name, str(raw.get("id"))) for raw in tasks]
    return names


def _tools(domain: Domain) -> list[ToolLine]:
    kits = {"agent": domain.toolkit, "user": domain.user_toolkit}
    return [
        ToolLine(
            function["name"],
            side,
            kit.tool_type(function["name"]).value,
            function.get("description", ""),
            (function.get("parameters") or {}).get("properties", {}),
        )
        for side, kit in kits.items()
        if kit is not None
        for function in (definition["function"] for definition in kit.definitions())
    ]
