"""The simulation inside a report of ours, in the form of the release it was run by."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, cast
from uuid import NAMESPACE_OID, uuid5

from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import Release, release_named
from maseval.benchmark.tau2.formats.message import OVERRIDE
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.texts.original import trial_seed
from maseval.core.outcome import RecordedReport
from maseval.core.recorded import Part, mapping
from maseval.core.report import Report, TaskExecutionStatus

PLAYER = "PlayerAdapter"
"""The type of a scripted player's adapter, in the configuration that reports hold."""
SCRIPTED_USER = "ScriptedUser"
"""The type of the scripted user, in the same place."""
JUDGED_BY = "judged_by"
"""The key of a report's task for the one that it was judged by."""


class Tau2Report(RecordedReport):
    """A report of this benchmark, and the world in which its simulation took place.

    ``judged_by`` is the task it was judged by, if that is not the benchmark's.
    """

    solo = Part(bool, "config", "environment", "solo")
    lenient = Part(bool, "config", "benchmark", "tau2", "lenient_order_ids")
    texts = Part(mapping, "config", "benchmark", "tau2", "texts")
    judged_by = Part(lambda value: mapping(value) or None, "task", JUDGED_BY)

    @property
    def is_scripted(self) -> bool:
        """True if the agent was one of the scripted players, which do not talk."""
        kinds = [each.raw.get("adapter_type") for each in self.agents.values()]
        return bool(kinds) and all(kind == PLAYER for kind in kinds)

    @property
    def has_scripted_user(self) -> bool:
        return self.user.raw.get("type") == SCRIPTED_USER

    @cached_property
    def release(self) -> Release:
        return release_of_report(cast("Report", self.raw))

    @property
    def world(self) -> Domain:
        """The domain with the tools of the release, lenient where the run was."""
        domain = self.release.domain(str(self.settings.get("domain")))
        return domain.lenient if self.lenient else domain


class Omitted(NamedTuple):
    """A repetition that ended in a way its release does not know, and why."""

    task_id: str
    trial: int
    status: str
    reason: str


def simulation_of(report: Report) -> dict[str, Any] | Omitted:
    """Return the simulation of a repetition, as its release writes it.

    A repetition that ended in a way that the release does not know, such as a failed request, is
    ``Omitted``.
    """
    rules = release_of_report(report).rules
    recorded = environment_of(report).get("simulation")
    if not recorded:
        return _make_omitted(report, "it has no simulation")
    if recorded.get("termination_reason") not in rules.loop.endings:
        return _make_omitted(report, f"{title_of(rules.version)} has no termination reason for it")
    messages = [
        {**rules.files.message(each), **{key: each[key] for key in (OVERRIDE,) if key in each}}
        for each in recorded["messages"]
    ]
    verdicts = (entry.get("reward_info") for entry in report.get("eval") or ())
    verdict = next((each for each in verdicts if each is not None), None)
    return _form(report, {**recorded, "reward_info": verdict, "messages": messages})


def release_of_report(report: Report) -> Release:
    """Return the release that a repetition was run by; without a record of it, v0.2.0."""
    environment = (report.get("config") or {}).get("environment") or {}
    return release_named(environment.get("version"))


def _form(report: Report, simulation: Mapping[str, Any]) -> dict[str, Any]:
    keys, trial = release_of_report(report).rules.files.simulation, report["repeat_idx"]
    known = {
        **simulation,
        "task_id": report["task_id"],
        "trial": trial,
        "seed": None if (seed := report.get("seed")) is None else trial_seed(seed, trial),
    }
    return {key: known.get(key, default) for key, default in keys.items()}


def infrastructure_error(report: Report) -> dict[str, Any] | None:
    """Return the form stored for an ``Omitted`` repetition; None in releases that store nothing."""
    if TerminationReason.INFRASTRUCTURE_ERROR not in release_of_report(report).rules.loop.endings:
        return None
    error, when = report.get("error") or {}, report.get("started_at")
    placeholder = {
        "id": str(uuid5(NAMESPACE_OID, f"{report['task_id']}/{report['repeat_idx']}")),
        "timestamp": when,
        "start_time": when,
        "end_time": when,
        "duration": 0.0,
        "termination_reason": TerminationReason.INFRASTRUCTURE_ERROR.value,
        "messages": [],
        "info": {
            "error": error.get("error_message"),
            "error_type": error.get("error_type"),
            "error_traceback": error.get("traceback"),
            "failed_after_attempts": len(report.get("attempts") or ()) + 1,
        },
    }
    return _form(report, placeholder)


def environment_of(report: Report) -> Mapping[str, Any]:
    environment: Mapping[str, object] = (report.get("traces") or {}).get("environment") or {}
    return environment


def _make_omitted(report: Report, reason: str) -> Omitted:
    status = report.get("status", "unknown")
    error = report.get("error") or {}
    if status != TaskExecutionStatus.SUCCESS.value and error.get("error_message"):
        reason = f"{reason}: {error['error_message']}"
    return Omitted(report["task_id"], report["repeat_idx"], status, reason)
