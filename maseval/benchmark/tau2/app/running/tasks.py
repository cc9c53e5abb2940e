"""``maseval tau2 tasks``, the tasks that a run is made of, and domains of the user's own.

``--domain shop.py:SHOP`` names a domain in a file, and loading it runs its code. So only files that
somebody typed on this machine are loaded, never one that a run or a results file names. Their
places are remembered beside the user's other state: a command that meets the domain's name in a
run knows where it is.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from maseval.app.results.names import select_tasks
from maseval.app.running.code_version import code_of
from maseval.app.running.own_code import OwnCode, load_named
from maseval.benchmark.tau2.app.results.support import reason_for_call
from maseval.benchmark.tau2.app.running.options import RunOptions
from maseval.benchmark.tau2.data_loader import build_tasks, load_raw_tasks
from maseval.benchmark.tau2.domains import (
    Domain,
    DuplicateDomainError,
    InvalidDomainError,
    UnknownDomainError,
    domain_named,
    register_domain,
)
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import TaskKey
from maseval.core.storage.files import write_json
from maseval.core.task import Task
from maseval.core.words import value_or_type


class _DomainOrigin(NamedTuple):
    """The ``file.py:NAME`` of an own domain, and the file if it was named by one."""

    reference: str
    file: Path | None


_DOMAIN = OwnCode("domain", "domain", "shop.py:SHOP or package.module:SHOP")
_origins: dict[str, _DomainOrigin] = {}
_names: dict[tuple[Path, str, str | None], str] = {}


def domain_name(given: str) -> str:
    """Return the name of a domain that was typed; one in a file is loaded and registered first."""
    if ":" not in given:
        return given
    place, _, name = given.rpartition(":")
    file = Path(place)
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else None
    # An edited file is loaded anew, although its domain has the same name.
    key = file.resolve(), name, sha256
    if key not in _names:
        domain = _register_own(given)
        _origins[domain.name] = _DomainOrigin(f"{file.name}:{name}", file if sha256 else None)
        _names[key] = domain.name
        if sha256 is not None:
            # A command that meets the name in a record finds the file that was typed here: what a
            # record itself names is never loaded.
            _remember(domain.name, f"{key[0]}:{name}")
    return _names[key]


def _register_own(given: str) -> Domain:
    found = load_named(given, _DOMAIN)
    if not isinstance(found, Domain):
        raise ConfigurationError(f"{given} is {value_or_type(found)}; it must be a Domain")
    try:
        return register_domain(found, replace=True)
    except (InvalidDomainError, DuplicateDomainError) as error:
        raise ConfigurationError(f"{given}: {error}") from error


def own_domain_origins(names: Iterable[str]) -> dict[str, dict[str, str]]:
    """Return the files of those domains that were loaded, for the run's configuration."""
    return {name: {"reference": _origins[name].reference} for name in names if name in _origins}


def code_of_domains(names: Iterable[str], *others: object) -> dict[str, dict[str, str]]:
    """Return the ``code`` of a run in these domains, together with other code."""
    domains = [domain_named(name) for name in names]
    files = [_origins[each.name].file for each in domains if each.name in _origins]
    judges = [
        each
        for domain in domains
        for each in (domain.toolkit, domain.db, domain.user_toolkit, domain.user_db)
        if each is not None
    ]
    given = [*filter(None, [*files, *(domain.sync for domain in domains), *others])]
    homes = [str(getattr(each, "__module__", "")) for each in (*given, *judges)]
    if all(home.startswith("maseval.") for home in homes):
        return {}  # most runs have no code of anybody's own
    return code_of(*given, judges=judges)


def _state_file() -> Path:
    import platformdirs  # takes long to load

    return platformdirs.user_state_path("maseval") / "domains.json"


def _known_places() -> dict[str, str]:
    """Return the place of each domain; nothing if the file is not there or not ours."""
    try:
        found = json.loads(_state_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return {str(name): str(place) for name, place in found.items()} if found else {}


def _remember(name: str, place: str) -> None:
    known = _known_places()
    if known.get(name) != place:
        # A home that cannot be written to costs the convenience, not the run.
        with suppress(OSError):
            write_json(_state_file(), {**known, name: place})


def find_remembered(name: str) -> Domain | None:
    """Load the domain of that name from the file in which it was last; None if there is none."""
    place = _known_places().get(name)
    if place is None:
        return None
    file = Path(place.rpartition(":")[0])
    if not file.is_file():
        raise UnknownDomainError(
            f"the domain {name!r} was in {file}, which is not there any more; name its file once "
            "to make it known again: maseval tau2 tasks --domain FILE.py:NAME"
        )
    # The file may by now define a domain of another name.
    return domain_named(name) if domain_name(place) == name else None


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


def load_chosen(options: RunOptions, timeout: float | None) -> TasksByDomain:
    domains, split, version = options.domain, options.split, options.data_version
    if not domains:
        raise ConfigurationError("no domain is given; name one or more, such as --domain retail")
    raw_tasks = {
        name: load_raw_tasks(domain_named(name).name, split, version=version) for name in domains
    }
    if options.task_id:
        keys = {
            name: [(TaskKey(name, str(raw.get("id"))), raw) for raw in each]
            for name, each in raw_tasks.items()
        }
        chosen = select_tasks(options.task_id, [key for each in keys.values() for key, _ in each])
        raw_tasks = {
            name: [raw for key, raw in each if key in chosen] for name, each in keys.items()
        }
    # Only what is run is made into tasks: telecom has 2,285 of them.
    return {
        name: build_tasks(
            each[: options.num_tasks],
            domain_named(name).name,
            split,
            timeout_seconds=timeout,
            version=version,
        ).to_list()
        for name, each in raw_tasks.items()
        if each
    }


def broken_golds(tasks: TasksByDomain) -> Iterator[str]:
    """Yield a sentence for each task of an own domain whose gold calls a tool that does not exist.

    Scoring passes over such a call, as the original does: without it doing nothing may pass.
    """
    for name in own_domain_origins(tasks):
        for task in tasks[name]:
            for action in task.evaluation_data.get("actions") or ():
                if not domain_named(name).has_tool(str(action.get("name"))):
                    yield (
                        f"{name}/{task.id}: the gold calls {action.get('name')!r}, which is not a"
                        " tool of the domain; scoring skips that call"
                    )
