"""Faults that would keep a domain from working, whatever its tasks; found when it is registered."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from maseval.benchmark.tau2.domains.base import ToolKitBase
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.core.exceptions import ConfigurationError

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(@[a-z0-9][a-z0-9_-]*)?")


def faults(domain: Domain) -> list[str]:
    """A sentence for each fault in a domain's form, files and tools; empty if there is none."""
    return [*_of_form(domain), *_of_files(domain), *_of_tools(domain), *_of_rules(domain)]


def _of_form(domain: Domain) -> Iterator[str]:
    if not _NAME.fullmatch(domain.name):
        yield (
            f"the name {domain.name!r} must be lower-case letters, digits, '-' and '_', as it is "
            "typed on command lines and becomes part of file names"
        )
    customer = {
        "user_db": domain.user_db,
        "user_db_file": domain.user_db_file,
        "user_toolkit": domain.user_toolkit,
    }
    missing = [name for name, value in customer.items() if value is None]
    shares = domain.user_toolkit is not None and len(missing) == 2
    if 0 < len(missing) < len(customer) and not shares:
        yield f"a customer with tools needs {' and '.join(missing)} too"
    elif domain.sync and domain.user_toolkit is None:
        yield "sync couples two sides, but the customer has no tools"
    if "base" not in domain.task_files:
        yield "task_files names no 'base', the set that is run unless another is asked for"


def _of_files(domain: Domain) -> Iterator[str]:
    folder = domain.data_dir
    if folder is None:
        return
    for name in filter(None, (domain.db_file, domain.user_db_file, *domain.task_files.values())):
        if not (folder / name).exists():
            yield f"{folder} has no {name}"
    for solo in (False, True) if domain.solo_refusal is None else (False,):
        try:
            domain.policy(folder, solo=solo)
        except OSError as error:
            yield f"the {'solo ' if solo else ''}policy cannot be read: {error}"


def _of_tools(domain: Domain) -> Iterator[str]:
    names: list[set[str]] = []
    for toolkit in filter(None, (domain.toolkit, domain.user_toolkit)):
        try:
            functions = [definition["function"] for definition in toolkit.definitions()]
        except ConfigurationError as error:
            yield f"{toolkit.__name__}: {error}"
            continue
        names.append({function["name"] for function in functions})
        for function in functions:
            yield from _find_missing_descriptions(toolkit, function)
    both = set.intersection(*names) if len(names) == 2 else set()
    if both and domain.solo_refusal is None:
        yield (
            f"both sides have a tool named {', '.join(sorted(both))}, which solo mode could not "
            "tell apart; rename one, or give the domain a solo_refusal"
        )


def _of_rules(domain: Domain) -> Iterator[str]:
    ids = [rule.id for rule in domain.rules]
    for name in dict.fromkeys(each for each in ids if ids.count(each) > 1):
        yield f"two rules have the id {name!r}"
    # An agent that works alone has the customer's tools as well.
    kits = [kit for kit in (domain.toolkit, domain.user_toolkit) if kit is not None]
    for rule in domain.rules:
        for name in rule.tools:
            if not any(kit.has_tool(name) for kit in kits):
                yield f"rule {rule.id!r} names a tool {name!r} that the agent does not have"
    databases = [db for db in (domain.db, domain.user_db) if db is not None]
    tables = {name for db in databases for name in db.model_fields}
    for name in dict.fromkeys(rule.table for rule in domain.permanence):
        if name not in tables:
            yield f"permanence names {name!r}, which neither database has"


def _find_missing_descriptions(
    toolkit: type[ToolKitBase[Any]], function: Mapping[str, Any]
) -> Iterator[str]:
    title = f"{toolkit.__name__}.{function['name']}"
    if not function["description"]:
        yield f"{title} has no docstring, from which a model learns what it is for"
    for name, schema in function["parameters"]["properties"].items():
        if not schema.get("description"):
            yield f"{title} does not describe {name!r}; add it under Args: in the docstring"
