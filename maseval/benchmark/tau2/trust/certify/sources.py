"""What can be certified: a results file, simulations, or the reports of a run."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, cast

from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.results import (
    Omitted,
    RecordedSimulation,
    ResultsFile,
    read_results,
    simulation_of,
)
from maseval.benchmark.tau2.texts.wording import texts_in_words
from maseval.core.exceptions import ConfigurationError
from maseval.core.report import Report

Certifiable = (
    str | os.PathLike[str] | ResultsFile | Iterable[RecordedSimulation | Mapping[str, Any]]
)


class Item(NamedTuple):
    """A simulation with its world, and the reward that was recorded for it.

    ``texts`` names what models read in it, where that is recorded.
    """

    simulation: Mapping[str, Any]
    domain: Domain
    solo: bool
    recorded: Mapping[str, Any] | None
    lenient: bool = False
    texts: str | None = None


@dataclass
class Collection:
    """The simulations of a source while they are gone through, and what the source says of them.

    ``omitted`` counts what holds no simulation that could be scored, by the reason.
    """

    items: Iterator[Item]
    name: str | None = None
    tasks: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    policy: str | None = None
    num_trials: int | None = None
    omitted: Counter[str] = field(default_factory=Counter)


def collection(source: Certifiable, domain: str | Domain | None, solo: bool) -> Collection:
    """Open a source; ``domain`` and ``solo`` stand in where it does not say them itself."""
    chosen = None if domain is None else domain_named(domain)
    if isinstance(source, str | os.PathLike):
        source = read_results(source)
    if isinstance(source, ResultsFile):
        return _of_file(source, chosen, solo)
    omitted: Counter[str] = Counter()
    items = (item for each in source if (item := _item(each, chosen, solo, omitted)))
    return Collection(items, omitted=omitted)


def _of_file(file: ResultsFile, domain: Domain | None, solo: bool) -> Collection:
    omitted: Counter[str] = Counter()

    def note(error: Exception) -> None:
        omitted["not in v0.2.0's form"] += 1

    items = (_of_record(each, domain, solo) for each in file.records(note))
    whole = Collection(items, name=Path(file.path).name, omitted=omitted)
    if file.layout == "results":
        whole.tasks = file.tasks
        whole.policy = file.info["environment_info"]["policy"]
        whole.num_trials = file.info["num_trials"]
    return whole


def _item(
    each: RecordedSimulation | Mapping[str, Any],
    domain: Domain | None,
    solo: bool,
    omitted: Counter[str],
) -> Item | None:
    if isinstance(each, RecordedSimulation):
        return _of_record(each, domain, solo)
    if "repeat_idx" in each:
        return _of_report(cast("Report", each), domain, omitted)
    return Item(each, _required(domain), solo, each.get("reward_info"))


def _of_record(record: RecordedSimulation, domain: Domain | None, solo: bool) -> Item:
    world = domain_named(record.domain) if domain is None and record.domain else domain
    simulation = cast("Mapping[str, Any]", record.simulation)
    verdict = cast("Mapping[str, Any] | None", record.verdict)
    return Item(simulation, _required(world), solo or record.solo, verdict)


def _of_report(report: Report, domain: Domain | None, omitted: Counter[str]) -> Item | None:
    simulation = simulation_of(report)
    if isinstance(simulation, Omitted):
        omitted[f"{simulation.status}: {simulation.reason.partition(':')[0]}"] += 1
        return None
    config: Mapping[str, Any] = report.get("config") or {}
    environment: Mapping[str, object] = config.get("environment") or {}
    rules: Mapping[str, object] = (config.get("benchmark") or {}).get("tau2") or {}
    lenient = bool(rules.get("lenient_order_ids"))
    if domain is None and environment.get("domain"):
        domain = _world(str(environment["domain"]), lenient)
    solo = bool(environment.get("solo"))
    texts = rules.get("texts")
    read = texts_in_words(texts, digits=64) if isinstance(texts, Mapping) else None
    return Item(simulation, _required(domain), solo, simulation["reward_info"], lenient, read)


@cache
def _world(name: str, lenient: bool) -> Domain:
    """The same object each time, because what is known of a domain is kept by its identity."""
    return domain_named(name).lenient if lenient else domain_named(name)


def _required(domain: Domain | None) -> Domain:
    if domain is None:
        raise ConfigurationError(
            "a simulation does not name its domain; pass it, such as domain='retail'"
        )
    return domain
