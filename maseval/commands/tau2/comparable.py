"""The outcomes and settings of a results file, in the form in which runs are compared."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any, cast

from maseval.benchmark.tau2.data_loader import (
    data_fingerprint,
    load_domain_config,
    load_raw_task,
)
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.domains.records import canonical_json
from maseval.benchmark.tau2.forms.run_info import RunInfo, SideInfo
from maseval.benchmark.tau2.results import RecordedSimulation, ResultsFile
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import is_successful
from maseval.stats import Outcome

_MODES = {"llm_agent_solo": "solo", "llm_agent_gt": "oracle-plan"}
NO_VERDICT = "no verdict recorded"


def digest(value: object) -> str:
    """A short hash of any JSON value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:12]


def outcomes_of_file(results: ResultsFile, skipped: dict[str, int]) -> list[Outcome]:
    """The recorded verdicts; a simulation without one does not count."""

    def note(error: Exception) -> None:
        skipped["not in v0.2.0's form"] = skipped.get("not in v0.2.0's form", 0) + 1

    return list(_numbered(results.records(note)))


def _numbered(records: Iterator[RecordedSimulation]) -> Iterator[Outcome]:
    """Number trials that have no number, in their order in the file."""
    seen: dict[tuple[str, str], int] = {}
    for record in records:
        simulation, domain = record.simulation, record.domain or ""
        key = domain, simulation["task_id"]
        trial, verdict = simulation.get("trial"), record.verdict
        yield Outcome(
            *key,
            trial=seen.get(key, 0) if trial is None else trial,
            passed=None if verdict is None else is_successful(verdict["reward"]),
            cost=_cost(simulation.get("agent_cost"), simulation.get("user_cost")),
            reason=NO_VERDICT if verdict is None else None,
        )
        seen[key] = seen.get(key, 0) + 1


def _cost(*costs: float | None) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def config_of_file(results: ResultsFile) -> dict[str, Any]:
    """The settings recorded in a file; a file of lines records none."""
    if results.layout != "results":
        return {"benchmark": "tau2"}
    info = results.info
    domain = info["environment_info"]["domain_name"]
    agent = info["agent_info"]
    return {
        "benchmark": "tau2",
        "agent": _side(agent),
        "user": _side(info["user_info"]),
        "mode": _MODES.get(agent["implementation"], "normal"),
        "max_steps": info["max_steps"],
        "seed": info.get("seed"),
        "data": {domain: _data(info, results.tasks)},
    }


def _side(info: SideInfo) -> dict[str, Any] | str:
    if info.get("llm") is None:
        return info["implementation"]
    return {"model": info["llm"], "args": info.get("llm_args") or {}}


def _data(info: RunInfo, tasks: Mapping[str, Mapping[str, Any]]) -> str:
    """The fingerprint of our data if the file's tasks and policy are ours, else one of its own."""
    environment = info["environment_info"]
    try:
        domain = domain_named(environment["domain_name"])
        same = environment["policy"] in _policies(domain) and all(
            _meaning(task) == _meaning(load_raw_task(domain, task_id))
            for task_id, task in tasks.items()
        )
    except MASEvalError:  # a domain or task that we do not have
        same = False
    if same:
        return digest(data_fingerprint(domain))
    return digest([environment["policy"], sorted(_meaning(task) for task in tasks.values())])


def _policies(domain: Domain) -> list[str]:
    folder = load_domain_config(domain)["db_path"].parent
    return [domain.policy(folder, solo=solo) for solo in (False, not domain.solo_refusal)]


def _meaning(task: Mapping[str, Any]) -> str:
    """Everything of a task that scoring depends on, and the user's instructions."""
    told = _without_nothing(task.get("user_scenario"))
    return canonical_json((TaskSpec.of(cast("dict[str, Any]", task)).model_dump(mode="json"), told))


def _without_nothing(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nothing(part) for key, part in value.items() if part is not None}
    return [_without_nothing(part) for part in value] if isinstance(value, list) else value
