"""``maseval tau2 score``: recorded conversations judged again, and compared with their record."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, cast

from maseval.benchmark.tau2.agreement import VERDICT
from maseval.benchmark.tau2.data_loader import UnknownTaskError
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.judge import NoJudgeError
from maseval.benchmark.tau2.metrics import is_successful
from maseval.benchmark.tau2.results import (
    Omitted,
    Recorded,
    Simulation,
    read_results,
    simulation_of,
)
from maseval.benchmark.tau2.scoring import RewardInfo, score_simulation
from maseval.commands.finding import UnknownRunError, open_run
from maseval.commands.summary import Trials, estimates
from maseval.commands.tau2.agreement import Disagreement, FileScore
from maseval.core.exceptions import MASEvalError
from maseval.report.shapes import mapping
from maseval.runs import RunFolder


def score(
    files: Sequence[str | os.PathLike[str]],
    *,
    strict: bool = False,
    on_progress: Callable[[FileScore], object] | None = None,
) -> list[FileScore]:
    """Judge the simulations of run folders and results files again, by the rules of v0.2.0.

    With ``strict`` a conversation that cannot be replayed raises what the original raises, and is
    shown as a disagreement; without it the reward is 0. ``on_progress`` is told after every
    simulation.
    """
    return [_scored(_source(file), strict, on_progress or (lambda _: None)) for file in files]


@dataclass(frozen=True)
class _Source:
    """Simulations, from wherever they come."""

    path: Path
    records: Iterator[tuple[Recorded, Domain | None]]
    tasks: Mapping[str, Mapping[str, Any]]
    skipped: dict[str, int]


def _source(file: str | os.PathLike[str]) -> _Source:
    path, skipped = Path(file), dict[str, int]()
    if path.is_file():
        results = read_results(path)

        def note(error: Exception) -> None:
            _count(skipped, "not in v0.2.0's form")

        found = ((record, _domain(record.domain)) for record in results.records(note))
        return _Source(path, found, results.tasks, skipped)
    try:
        folder = open_run(file)
    except UnknownRunError:
        raise UnknownRunError(
            f"{path} is neither a results file nor a run; `maseval runs` lists the runs"
        ) from None
    return _Source(folder.path, _from_run(folder, skipped), {}, skipped)


def _from_run(
    folder: RunFolder, skipped: dict[str, int]
) -> Iterator[tuple[Recorded, Domain | None]]:
    domains = cache(_domain_of)
    for index, report in enumerate(folder.reports()):
        simulation = simulation_of(report)
        if isinstance(simulation, Omitted):
            _count(skipped, f"{simulation.status}: v0.2.0 has no word for it")
            continue
        environment = mapping(report, "config", "environment")
        rules = mapping(report, "config", "benchmark", "tau2")
        domain = domains(str(environment["domain"]), bool(rules.get("lenient_order_ids")))
        solo, verdict = bool(environment.get("solo")), simulation["reward_info"]
        form = cast("Simulation", simulation)
        yield Recorded(index, form, domain.name, solo, verdict), domain


def _domain_of(name: str, lenient: bool) -> Domain:
    domain = domain_named(name)
    return domain.lenient if lenient else domain


def _domain(name: str | None) -> Domain | None:
    return None if name is None else domain_named(name)


def _scored(source: _Source, strict: bool, on_progress: Callable[[FileScore], object]) -> FileScore:
    result = FileScore(source.path, skipped=source.skipped)
    trials: dict[str, Trials] = {}
    for recorded, domain in source.records:
        result.simulations += 1
        found = _verdict(recorded, domain, source.tasks, strict)
        if isinstance(found, str):
            _count(result.skipped, found)
        else:
            _compare(result, recorded, found)
            key = f"{recorded.domain}/{recorded.simulation['task_id']}"
            total, passed = trials.get(key, (0, 0))
            trials[key] = total + 1, passed + _passes(found)
        on_progress(result)
    result.pass_hat = estimates(list(trials.values()))
    return result


def _verdict(
    recorded: Recorded, domain: Domain | None, tasks: Mapping[str, Mapping[str, Any]], strict: bool
) -> RewardInfo | Exception | str:
    """The new verdict, what it raised, or why there is none."""
    if domain is None:
        return "it does not tell its domain"
    simulation = recorded.simulation
    try:
        return score_simulation(
            simulation,
            domain=domain,
            task=tasks.get(simulation["task_id"]),
            solo=recorded.solo,
            strict=strict,
        )
    except NoJudgeError:
        return "its verdict needs a judge model"
    except UnknownTaskError:
        return f"{domain.name} has no such task"
    except MASEvalError:
        raise
    except Exception as error:  # strict: what the original raises for a conversation is a finding
        if not strict:
            raise
        return error


def _passes(found: RewardInfo | Exception) -> bool:
    return not isinstance(found, Exception) and is_successful(found["reward"])


def _compare(result: FileScore, recorded: Recorded, found: RewardInfo | Exception) -> None:
    result.passes += _passes(found)
    replay_error = (
        None if isinstance(found, Exception) else (found["info"] or {}).get("replay_error")
    )
    result.not_replayable += replay_error is not None
    if recorded.verdict is None:
        _count(result.skipped, "it has no recorded verdict")
        return
    result.compared += 1
    result.recorded_passes += is_successful(recorded.verdict["reward"])
    differences = list(_differences(found, recorded.verdict))
    if not differences:
        result.agreeing += 1
        return
    if replay_error:
        differences.append(f"it cannot be replayed: {replay_error['error']}")
    simulation = recorded.simulation
    result.disagreements.append(
        Disagreement(simulation["task_id"], simulation.get("trial"), differences)
    )


def _differences(found: RewardInfo | Exception, recorded: Mapping[str, Any]) -> Iterable[str]:
    if isinstance(found, Exception):
        yield f"raises {type(found).__name__}: {found}"
        return
    verdict: Mapping[str, Any] = found
    for key in VERDICT:
        if verdict.get(key) != recorded.get(key):
            yield f"{key}: now {verdict.get(key)!r}, recorded {recorded.get(key)!r}"


def _count(counts: dict[str, int], reason: str) -> None:
    counts[reason] = counts.get(reason, 0) + 1
