"""``maseval tau2 tasks``, and which tasks a run is made of."""

import hashlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from maseval.app.results.task_names import TaskName, tasks_called, why_not_one
from maseval.app.running.own_code import OwnCode, load_named
from maseval.benchmark.tau2.data_loader import UnknownTaskError, load_raw_tasks, load_tasks
from maseval.benchmark.tau2.domains import (
    Domain,
    DuplicateDomainError,
    InvalidDomainError,
    domain_named,
    register_domain,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import Task


class DomainImportError(ConfigurationError):
    """The domain that an option names cannot be found or loaded."""


class _Origin(NamedTuple):
    """``file.py:NAME``, and the hash of the file."""

    reference: str
    sha256: str | None


_DOMAIN = OwnCode("domain", "domain", "shop.py:SHOP or package.module:SHOP", DomainImportError)
_origins: dict[str, _Origin] = {}
_names: dict[tuple[Path, str, str | None], str] = {}


def named_domain(given: str) -> str:
    """The name of the domain that was typed; one in a file is loaded and registered first."""
    if ":" not in given:
        return given
    place, _, name = given.rpartition(":")
    file = Path(place)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
    key = file.resolve(), name, sha256
    if key not in _names:
        domain = _registered(given)
        _origins[domain.name] = _Origin(f"{file.name}:{name}", sha256)
        _names[key] = domain.name
    return _names[key]


def _registered(given: str) -> Domain:
    found = load_named(given, _DOMAIN)
    if not isinstance(found, Domain):
        raise DomainImportError(f"{given} is {found!r}; it must be a Domain")
    try:
        return register_domain(found, replace=True)
    except (InvalidDomainError, DuplicateDomainError) as error:
        raise DomainImportError(f"{given}: {error}") from error


def own_domains(names: Iterable[str]) -> dict[str, dict[str, str | None]]:
    """Where the domains come from, of those that were loaded; for the run's configuration."""
    return {name: _origins[name]._asdict() for name in names if name in _origins}


BASE_DOMAINS = ("airline", "retail", "telecom")

TasksByDomain = dict[str, list[Task]]


@dataclass(frozen=True)
class TaskLine:
    """One task in a line: its number in its domain's list, what it is about, and what counts.

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
    """The tasks of one domain or several."""
    names = map(named_domain, [domain] if isinstance(domain, str) else domain)
    return [
        _task_line(name, number, raw)
        for name in names
        for number, raw in enumerate(load_raw_tasks(name, split, version=data_version))
    ]


def _task_line(domain: str, number: int, raw: Mapping[str, Any]) -> TaskLine:
    criteria = raw.get("evaluation_criteria") or {}
    return TaskLine(
        domain,
        str(raw.get("id")),
        _purpose(raw),
        reason_for_call(raw),
        number,
        len(criteria.get("actions") or ()),
        criteria.get("reward_basis") or ("DB", "COMMUNICATE"),
    )


def _purpose(raw: Mapping[str, Any]) -> str:
    description = raw.get("description") or {}
    words = description.get("purpose") if isinstance(description, Mapping) else description
    return " ".join(str(words or reason_for_call(raw)).split())


def reason_for_call(raw: Mapping[str, Any]) -> str:
    """What the customer wants, in one line; empty if the task does not say."""
    instructions = (raw.get("user_scenario") or {}).get("instructions") or {}
    told = instructions if isinstance(instructions, Mapping) else {"reason_for_call": instructions}
    return " ".join(str(told.get("reason_for_call") or raw.get("ticket") or "").split())


def select_tasks(
    domains: Sequence[str],
    *,
    split: str = "base",
    task_ids: Collection[str] = (),
    num_tasks: int | None = None,
    timeout: float | None = None,
    data_version: str | None = None,
) -> TasksByDomain:
    """The tasks of each domain; ``num_tasks`` is the most that each domain gives."""
    if not domains:
        raise ConfigurationError("no domain is given; name one or more, such as --domain retail")
    selected: TasksByDomain = {}
    for name in dict.fromkeys(domains):
        domain = domain_named(name).name
        queue = load_tasks(domain, split, timeout_seconds=timeout, version=data_version)
        selected[name] = queue.to_list()
    if task_ids:
        wanted = _wanted(selected, split, task_ids)
        selected = {
            name: [task for task in tasks if TaskName(name, str(task.id)) in wanted]
            for name, tasks in selected.items()
        }
    return {name: tasks[:num_tasks] for name, tasks in selected.items() if tasks}


def _wanted(selected: TasksByDomain, split: str, task_ids: Collection[str]) -> set[TaskName]:
    """The tasks that are called so; an id that several domains have means each of them."""
    every = [TaskName(name, str(task.id)) for name, tasks in selected.items() for task in tasks]
    wanted: set[TaskName] = set()
    for name in task_ids:
        found = tasks_called(name, every)
        words = why_not_one(name, found, every)
        if not found:
            raise UnknownTaskError(
                f"no task {name!r} among the {split} tasks of {', '.join(selected)}; {words} "
                f"(`maseval tau2 tasks --domain {next(iter(selected))}` lists them)"
            )
        if len({task.domain for task in found}) < len(found):
            raise UnknownTaskError(words)
        wanted.update(found)
    return wanted
