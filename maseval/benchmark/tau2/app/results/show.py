"""``maseval tau2 tasks``: a task, or a domain's tools or policy."""

import json
from collections.abc import Iterator, Sequence

from maseval.app.results.names import tasks_called, why_not_one
from maseval.benchmark.tau2.app.results.support import reason_for_call
from maseval.benchmark.tau2.app.running.tasks import BASE_DOMAINS, domain_name
from maseval.benchmark.tau2.data_loader import (
    UnknownTaskError,
    load_domain_config,
    load_raw_task,
    load_raw_tasks,
)
from maseval.benchmark.tau2.domains import Domain, is_domain
from maseval.benchmark.tau2.domains.releases import Release, release_named
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import TaskKey


def show(what: str, domain: str | None = None, *, data_version: str | None = None) -> str:
    """Describe a task (``12``, ``retail/12``, a part of its id), or a domain's tools or policy."""
    domain, release = None if domain is None else domain_name(domain), release_named(data_version)
    if what not in ("tools", "policy"):
        name = what if domain is None else f"{domain}/{what.removeprefix(f'{domain}/')}"
        first, slash, _ = what.partition("/")
        known = [first] if slash and is_domain(first) else BASE_DOMAINS
        return _describe_task(name, [domain] if domain else known, release)
    if domain is None:
        raise ConfigurationError(
            f"no domain is given; name the one whose {what} to show: --domain retail"
        )
    chosen = release.domain(domain)
    if what == "policy":
        return load_domain_config(chosen)["policy"]
    return "\n\n".join(_describe_tools(chosen))


def _describe_task(name: str, domains: Sequence[str], release: Release) -> str:
    every = _names(domains, release, only_base=True)
    found = tasks_called(name, every)
    if not found:
        # Most people mean a task of the base split; telecom has 2,285 in all.
        every = _names(domains, release, only_base=False)
        found = tasks_called(name, every)
    if len(found) == 1:
        domain, task_id = found[0]
        raw = load_raw_task(domain, task_id, version=release)
        told = f"{domain} task {task_id}", reason_for_call(raw), json.dumps(raw, indent=2)
        return "\n".join(filter(None, told))
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


def _describe_tools(domain: Domain) -> Iterator[str]:
    """Yield each tool: who may use it, whether it reads or writes, and what a model is told."""
    for side, kit in (("agent", domain.toolkit), ("user", domain.user_toolkit)):
        if kit is None:
            continue
        for function in (each["function"] for each in kit.definitions()):
            name = function["name"]
            given = ", ".join((function.get("parameters") or {}).get("properties", {}))
            kind, words = kit.tool_type(name).value, function.get("description", "")
            yield f"{name}({given})  {side}, {kind}\n  {words}"
