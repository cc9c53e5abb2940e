"""The outcomes and settings of a results file or a run, in the form in which runs are compared."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from maseval.app.benchmarks import OnScored, RecordedOutcomes
from maseval.benchmark.tau2.app.results.sources import own_panel
from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.benchmark.tau2.domains import UnknownDomainError
from maseval.benchmark.tau2.domains.records import canonical_json
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.rescoring.causes import causes
from maseval.benchmark.tau2.rescoring.record import PlannedTrial, open_record
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord, rescore_record
from maseval.benchmark.tau2.rescoring.tasks import task_content
from maseval.benchmark.tau2.rescoring.verdict import FOREIGN_TASK, RescoredSimulation
from maseval.benchmark.tau2.results import ResultsFile, read_results
from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import Outcome, TaskKey, checked_report, outcome_of
from maseval.core.scoring_options import ScoringOptions
from maseval.core.shapes import Shape, mapping, text_or_none
from maseval.runs import RunFolder

_MODES = {"llm_agent_solo": "solo", "llm_agent_gt": "oracle-plan"}


def digest(value: object) -> str:
    """A short hash of any JSON value."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()[:12]


def outcomes_of_file(
    path: Path, options: ScoringOptions, on_progress: OnScored | None = None
) -> RecordedOutcomes:
    """Every planned simulation of a results file, recomputed; what is missing is a failure.

    Simulations of tasks that the benchmark does not have cannot be compared and are left out.
    """
    results = read_results(path)
    whole = open_record(results, options.domain, version=options.data_version)
    found = rescore_record(whole, options, on_progress=on_progress)
    foreign = {each.slot for each in found.simulations if each.problem == FOREIGN_TASK}
    costs = {each.slot: each.cost for each in found.simulations}
    outcomes = [
        Outcome(*slot[:2], slot.trial, None if slot in found.open else passed, costs.get(slot))
        for slot, passed in found.passes.items()
        if slot not in foreign and _is_ours(found, slot)
    ]
    notes = [*options.marks, *map(str, causes(found))]
    return RecordedOutcomes(
        outcomes, len(found.slots), _config(results, found), notes, _task_digests(found, outcomes)
    )


def _is_ours(found: RescoredRecord, slot: PlannedTrial) -> bool:
    if found.options.embedded_tasks:
        return True
    return found.known_tasks(found.domains[slot.domain]).raw(slot.task_id) is not None


def _task_digests(found: RescoredRecord, outcomes: list[Outcome]) -> dict[TaskKey, str]:
    """The content of each task: the file's where it has one under that id, else the benchmark's."""
    digests = {}
    for key in dict.fromkeys(outcome.key for outcome in outcomes):
        ours = found.known_tasks(found.domains[key.group]).raw(key.task)
        theirs = None if found.options.remap_tasks else found.record.tasks.get(key.task)
        if (task := theirs or ours) is not None:
            digests[key] = digest(task_content(task))
    return digests


def _config(results: ResultsFile, found: RescoredRecord) -> dict[str, Any]:
    """The settings recorded in a file; a file of lines records none."""
    data = {name: digest(data_fingerprint(domain)) for name, domain in found.domains.items()}
    if results.layout != "results":
        return {"benchmark": "tau2", "data": data}
    info = results.raw_info
    agent = mapping(info, "agent_info")
    settings = {
        "benchmark": "tau2",
        "agent": _side(agent),
        "user": _side(mapping(info, "user_info")),
        "mode": _MODES.get(str(agent.get("implementation")), "normal"),
        "max_steps": info.get("max_steps"),
        "seed": info.get("seed"),
        "data": data,
    }
    return {key: value for key, value in settings.items() if value is not None or key == "seed"}


def _side(info: Shape) -> dict[str, Any] | str | None:
    if info.get("llm") is None:
        implementation = info.get("implementation")
        return None if implementation is None else str(implementation)
    return {"model": info["llm"], "args": info.get("llm_args") or {}}


def outcomes_of_run(
    folder: RunFolder,
    config: Mapping[str, object],
    options: ScoringOptions,
    on_progress: OnScored | None = None,
) -> RecordedOutcomes:
    """The finished simulations of a run, recomputed where the data is what it was."""
    outcomes: list[Outcome] = []
    reports = (_noted(report, outcomes) for report in folder.reports())
    obstacle = None if options.as_recorded else _obstacle(config)
    planned = len(folder.planned)
    if options.as_recorded or obstacle is not None:
        for _ in reports:
            pass
        notes = [obstacle] if obstacle else ScoringOptions(as_recorded=True).marks
        return RecordedOutcomes(outcomes, planned, config, notes)
    found = rescore_record(open_record(reports), panel=own_panel(folder), on_progress=on_progress)
    judged = [
        _again(outcome, each) for outcome, each in zip(outcomes, found.simulations, strict=True)
    ]
    changed = sum(
        a.passed != b.passed for a, b in zip(outcomes, judged, strict=True) if b.passed is not None
    )
    notes = [f"{changed} of {len(judged)} recorded verdicts are not confirmed"] if changed else []
    if folder.damaged:
        lost = [one for one in folder.planned if one not in folder.recorded]
        judged += [Outcome(*one, passed=False) for one in lost]
        notes.append(
            f"{len(folder.damaged)} lines of its log cannot be read; {len(lost)} of {planned} "
            "simulations have no record and count as failures"
        )
    return RecordedOutcomes(judged, planned, config, notes, _task_digests(found, judged))


def _again(outcome: Outcome, each: RescoredSimulation) -> Outcome:
    if each.open:
        return replace(outcome, passed=None, reason=each.problem)
    return outcome if each.problem else replace(outcome, passed=each.passed)


def _noted(report: Any, outcomes: list[Outcome]) -> Any:
    outcomes.append(outcome_of(checked_report(report)))
    return report


def _obstacle(config: Mapping[str, object]) -> str | None:
    """Why the verdicts of a run cannot be recomputed here."""
    for name, recorded in mapping(config, "data").items():
        try:
            here = digest(_fingerprint(name, config))
        except UnknownDomainError:
            return f"rewards as recorded, not recomputed: the domain {name!r} is not known here"
        except MASEvalError as error:  # a release that is not known here
            return f"rewards as recorded, not recomputed: {error}"
        if here != recorded:
            return f"rewards as recorded, not recomputed: the run had other data for {name!r}"
    return None


def _fingerprint(name: str, config: Mapping[str, object]) -> dict[str, str]:
    """What a run in the domain would depend on here, by the release of the run."""
    rules = text_or_none(config.get("rules"))
    release = release_named(None if rules is None else rules.removeprefix("tau2-bench v"))
    return data_fingerprint(name, version=release if name in release.domains else None)


def differing_data(config: Mapping[str, object]) -> list[str]:
    """The files of a run's domains that are others here; ``config`` is the run's."""
    found = []
    for name, recorded in mapping(config, "data").items():
        try:
            here = _fingerprint(name, config)
        except MASEvalError as error:  # a domain or a release that is not known here
            found.append(f"{name}: {error}")
            continue
        then = mapping(recorded)
        files = sorted(file for file in {*here, *then} if here.get(file) != then.get(file))
        found += [f"{name}: {file} is not the file that the run was made with" for file in files]
    return found
