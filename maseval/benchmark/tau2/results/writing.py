"""The simulation inside a report of ours, and results files of such simulations.

Both have the form of the release that they were run by, which can load, show and re-score them.

After tau2-bench v0.2.0, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

import logging
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import IO, Any, NamedTuple, cast
from uuid import NAMESPACE_OID, uuid5

from maseval.benchmark.tau2.data import VARIANT_MARK, title_of
from maseval.benchmark.tau2.data_loader import load_domain_config, load_guidelines, load_raw_task
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.domains.releases import Release, release_named, release_of
from maseval.benchmark.tau2.formats.message import (
    OVERRIDE,
    PERTURBED,
    describe_overrides,
    without_overrides,
)
from maseval.benchmark.tau2.formats.simulation import (
    RunInfo,
    SideInfo,
    TerminationReason,
    UserInfo,
    trial_seed,
    with_keys,
)
from maseval.benchmark.tau2.results.layout import RUN_INFO, SIMULATION, TASK, check_form
from maseval.core.exceptions import ConfigurationError, OutputExistsError
from maseval.core.outcome import RecordedReport
from maseval.core.recorded import Part, mapping
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.storage import strict_json
from maseval.core.storage.files import atomic_file, write_json
from maseval.core.task import ChosenSubset
from maseval.core.tracing import now
from maseval.core.words import text_or_none

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
    conversation = Part(mapping, "traces", "environment", "simulation")

    @property
    def domain_name(self) -> str | None:
        """The domain in which it was run, or that of its task."""
        return text_or_none(self.settings.get("domain") or self.metadata.get("domain"))

    @property
    def recorded_verdict(self) -> Mapping[str, object]:
        """The checks that an evaluator recorded; nothing if there are none."""
        return next(filter(None, (each.reward_info for each in self.evaluations)), {})

    @cached_property
    def form(self) -> "dict[str, Any] | Omitted":
        """The simulation in the form of its release, or why there is none."""
        return simulation_of(cast("Report", self.raw))

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
        return _make_omitted(report, "no conversation is recorded")
    if recorded.get("termination_reason") not in rules.loop.endings:
        return _make_omitted(report, f"{title_of(rules.version)} has no termination reason for it")
    messages = [
        {
            **rules.files.message(each),
            **{key: each[key] for key in (OVERRIDE, PERTURBED) if key in each},
        }
        for each in recorded["messages"] or ()
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


logger = logging.getLogger(__name__)
# Of the original's command line, for reports that do not name them.
_TASK_POLICIES = "(Policy is task-specific - see 'policy' field in each simulation)"
_MAX_STEPS = 200
_MAX_ERRORS = 10
_DEFAULT_AGENT = "default_agent"
_AGENTS = {"normal": "llm_agent", "solo": "llm_agent_solo", "oracle-plan": "llm_agent_gt"}


class ExportSummary(NamedTuple):
    """The written file; what v0.2.0's form cannot hold is in ``omitted`` and ``omitted_path``.

    ``subset`` is set for a run of chosen tasks, ``stopped`` says that a run was not of a fixed
    size, and ``perturbed`` how it was perturbed; the file has no place for them.
    """

    path: Path
    domain: str
    written: int
    omitted: list[Omitted]
    omitted_path: Path | None
    subset: ChosenSubset | None = None
    stopped: str | None = None
    perturbed: str | None = None


def export_results(
    reports: Iterable[Report],
    path: str | os.PathLike[str],
    *,
    domain: str | Domain | None = None,
    info: Mapping[str, object] | None = None,
    overwrite: bool = False,
) -> ExportSummary:
    """Write the reports of a run as a results file of the tau2-bench release it was run by.

    The reports may come from an iterator: one at a time is held. The file appears whole or not at
    all. Repetitions that v0.2.0's form cannot hold, such as time-outs, are left out and listed in
    ``<name>.omitted.json`` beside it; v1.0.1 writes them as infrastructure errors.

    Args:
        reports: What ``benchmark.run()`` or ``read_reports()`` returned, of one domain.
        path: The file to write.
        domain: The domain object, if it is one of your own.
        info: Takes precedence over what the reports say, key by key, in the file's ``info``.
        overwrite: Replace a file that is there.
    """
    target = Path(path)
    if target.exists() and not overwrite:
        raise OutputExistsError(
            f"{target} already exists; --overwrite (overwrite=True) replaces it"
        )
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=target.parent) as spool:
        # The tasks and the number of trials stand before the simulations, but are known after.
        export = _Export(spool, domain)
        for report in reports:
            export.add(report)
        with atomic_file(target) as file:
            export.write(file, dict(info or {}))
    listed = target.with_name(f"{target.stem}.omitted.json")
    if export.omitted:
        entries = [each._asdict() for each in export.omitted]
        write_json(listed, {"results": target.name, "omitted": entries})
    else:
        listed.unlink(missing_ok=True)  # of an earlier export that this one replaces
    return ExportSummary(
        target,
        export.domain.name,
        export.written,
        export.omitted,
        listed if export.omitted else None,
    )


class _Export:
    """The file while its simulations are collected."""

    def __init__(self, spool: IO[bytes], domain: str | Domain | None) -> None:
        self._spool = spool
        self._release: Release | None = None
        self._policies: dict[tuple[bool, str | None], str] = {}
        self._domain = None if domain is None else domain_named(domain)
        self._config: Mapping[str, object] = {}
        self._seed: int | None = None
        self._task_ids: dict[str, None] = {}
        self._num_trials = 0
        self._overridden = 0
        self.written = 0
        self.omitted: list[Omitted] = []

    @property
    def domain(self) -> Domain:
        if self._domain is None:
            raise ConfigurationError(
                "no report names its domain, so there is nothing to export; give the reports of a "
                "run with their traces, or domain=..."
            )
        return self._domain

    def add(self, report: Report) -> None:
        self._note_domain(report)
        self._num_trials = max(self._num_trials, report["repeat_idx"] + 1)
        self._task_ids[report["task_id"]] = None
        found = simulation_of(report)
        simulation = infrastructure_error(report) if isinstance(found, Omitted) else found
        if simulation is None:
            assert isinstance(found, Omitted)
            self.omitted.append(found)
            return
        if describe_overrides(simulation["messages"] or ()) is not None:
            simulation["messages"] = without_overrides(simulation["messages"])
            self._overridden += 1
        if not self.written:  # the first one's configuration stands for the whole run's
            self._config, self._seed = report.get("config") or {}, report.get("seed")
        if self.release.rules.files.keeps_policy and simulation["messages"]:
            simulation["policy"] = self._policy(report)
        where = f"report of task {report['task_id']!r}, repetition {report['repeat_idx']}"
        check_form(SIMULATION, simulation, where)
        form = strict_json.dumps(simulation)
        self._spool.write(b",\n" * bool(self.written) + form.encode("ascii"))
        self.written += 1

    @property
    def release(self) -> Release:
        return self._release or release_of(self.domain)

    def _policy(self, report: Report) -> str:
        environment = (report.get("config") or {}).get("environment") or {}
        solo = bool(environment.get("solo"))
        own = self.domain.task_policy
        key = solo, report["task_id"] if own else None
        if key not in self._policies:
            folder = load_domain_config(self.domain, version=self.release)["db_path"].parent
            self._policies[key] = (
                own(folder, solo, self._raw_task(report["task_id"]))
                if own
                else self.domain.policy(folder, solo=solo)
            )
        return self._policies[key]

    def _raw_task(self, task_id: str) -> Mapping[str, Any]:
        return load_raw_task(self.domain, task_id, version=self.release)

    def write(self, file: IO[bytes], info: Mapping[str, object]) -> None:
        if self._overridden:
            logger.warning(
                "%d of %d simulations have answers of tools that the run's environment overrides; "
                "a results file has no place for that: scored from it, they cannot be replayed",
                self._overridden,
                self.written,
            )
        form = self.release.rules.files
        tasks = (check_form(TASK, self._raw_task(each), "task") for each in self._task_ids)
        listed = ",\n".join(strict_json.dumps(with_keys({**task}, form.task)) for task in tasks)
        known = {"num_trials": self._num_trials, "seed": self._seed, **info}
        about = run_info(self._config, self.domain, known, self.release)
        head = (
            f'{{"timestamp": "{now()}",\n"info": {strict_json.dumps(form.run_info({**about}))},\n'
            f'"tasks": [\n{listed}\n],\n"simulations": [\n'
        )
        file.write(head.encode("ascii"))
        self._spool.seek(0)
        shutil.copyfileobj(self._spool, file)
        rest = (f',\n"{key}": {strict_json.dumps(value)}' for key, value in form.results.items())
        file.write(f"\n]{''.join(rest)}}}\n".encode("ascii"))

    def _note_domain(self, report: Report) -> None:
        name = environment_of(report).get("domain")
        if name is None:
            return
        release = release_of_report(report)
        self._release = self._release or release
        if release.name != self._release.name:
            raise ConfigurationError(
                f"reports of tau2-bench {self._release.name} and {release.name}: a results file "
                "has one release; export each by itself"
            )
        if self._domain is None:
            self._domain = self._release.domain(domain_named(name))
        elif name != self._domain.name:
            raise ConfigurationError(
                f"reports of {self._domain.name} and {name}: a results file has one domain; "
                'export each by itself, such as [r for r in reports if r["task"]["metadata"]'
                f'["domain"] == "{name}"]'
            )


def run_info(
    config: Mapping[str, Any], domain: Domain, known: Mapping[str, object], release: Release
) -> RunInfo:
    """Return the ``info`` of a results file, from the ``config`` of one of its reports.

    What is ``known``, such as seed and number of trials, takes precedence.
    """
    benchmark = config.get("benchmark") or {}
    rules = benchmark.get("tau2") or {}
    mode = rules.get("mode", "normal")
    if rules.get("lenient_order_ids"):
        logger.warning(
            "the run accepted order ids without their #, which the original does not: "
            "it may score these simulations differently"
        )
    folder = load_domain_config(domain, version=release)["db_path"].parent
    # The way in which a domain searches has a field of its own.
    name = domain.name.partition(VARIANT_MARK)[0] if domain.retrieval else domain.name
    gathered = {
        "git_commit": (benchmark.get("git") or {}).get("commit_hash", "unknown"),
        "max_steps": rules.get("max_steps", _MAX_STEPS),
        "max_errors": rules.get("max_errors", _MAX_ERRORS),
        "user_info": _user_info(config.get("user"), domain, rules, release),
        "agent_info": _agent_info(config.get("agents") or {}, mode),
        "environment_info": {
            "domain_name": name,
            "policy": _TASK_POLICIES
            if domain.task_policy
            else domain.policy(folder, solo=mode == "solo"),
            "tool_defs": None,
        },
    }
    if domain.retrieval is not None:
        gathered["retrieval_config"] = domain.retrieval
        gathered["retrieval_config_kwargs"] = dict(domain.retrieval_options) or None
    return check_form(RUN_INFO, {**gathered, **known}, "info")


def _agent_info(agents: Mapping[str, Mapping[str, Any]], mode: str) -> SideInfo:
    only = next(iter(agents.values())) if len(agents) == 1 else {}
    ours = list(agents) == [_DEFAULT_AGENT]
    args, policy = only.get("llm_args"), only.get("reasoning_policy")
    if policy is not None:  # which the original does not have
        args = {**(args or {}), "reasoning_policy": policy}
    return {
        "implementation": _AGENTS[mode] if ours else ", ".join(sorted(agents)) or "unknown",
        "llm": only.get("model_id"),
        "llm_args": args,
    }


def _user_info(
    user: Mapping[str, Any] | None,
    domain: Domain,
    rules: Mapping[str, object],
    release: Release,
) -> UserInfo:
    if not user:
        return {
            "implementation": "dummy_user",
            "llm": None,
            "llm_args": None,
            "global_simulation_guidelines": None,
        }
    # Guidelines that a run has changed are not the original's, so they are not reported as such.
    guidelines = (
        None
        if rules.get("short_conversations")
        else load_guidelines(domain.user_toolkit is not None, version=release)
    )
    return {
        "implementation": "user_simulator",
        "llm": user.get("model_id"),
        "llm_args": user.get("llm_args"),
        "global_simulation_guidelines": guidelines,
    }
