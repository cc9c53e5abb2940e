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
from maseval.benchmark.tau2.domains.releases import AnyVersion, Release, release_named, release_of
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
from maseval.benchmark.tau2.scoring.case import Case, open_case
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport
from maseval.core.recorded import Part, mapping
from maseval.core.report import Report, TaskExecutionStatus
from maseval.core.storage import strict_json
from maseval.core.storage.files import atomic_file, check_free, make_room, write_json
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
        return text_or_none(self.settings.get("domain") or self.metadata.get("domain"))

    @property
    def recorded_verdict(self) -> Mapping[str, object]:
        """The checks that an evaluator recorded; nothing if there are none."""
        return next(filter(None, (each.reward_info for each in self.evaluations)), {})

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
        """The release that it was run by; without a record of it, v0.2.0."""
        return release_named(cast(AnyVersion, self.settings.get("version")))

    @property
    def world(self) -> Domain:
        """The domain with the tools of the release, lenient where the run was."""
        domain = self.release.domain(str(self.settings.get("domain")))
        return domain.lenient if self.lenient else domain

    @cached_property
    def form(self) -> "dict[str, Any] | Omitted":
        """The simulation as its release writes it.

        One that ended in a way that the release does not know, such as a failed request, is
        ``Omitted``.
        """
        rules, recorded = self.release.rules, self.conversation
        if not recorded:
            return self._omit("no conversation is recorded")
        if recorded.get("termination_reason") not in rules.loop.endings:
            return self._omit(f"{title_of(rules.version)} has no termination reason for it")
        messages: list[Any] = [
            {
                **rules.files.message(each),
                # The form has no place for these, but without them the calls cannot be made again.
                **{key: each[key] for key in (OVERRIDE, PERTURBED) if key in each},
            }
            for each in cast("list[Any]", recorded["messages"] or ())
        ]
        verdict = self.recorded_verdict or None
        return self._complete({**recorded, "reward_info": verdict, "messages": messages})

    @cached_property
    def case(self) -> Case:
        """The conversation in its world, replayed as in a grading after the run."""
        return self.open_case(graded=True)

    def open_case(self, *, graded: bool) -> Case:
        """Return the conversation in its world; only one that has a ``form`` can be opened."""
        assert not isinstance(self.form, Omitted)
        version, task = self.release.name, self.judged_by
        return open_case(
            self.form, self.world, task, solo=self.solo, version=version, graded=graded
        )

    def infrastructure_error(self) -> dict[str, Any] | None:
        """Return the form stored for an ``Omitted`` one; None in releases that store nothing."""
        reason = TerminationReason.INFRASTRUCTURE_ERROR
        if reason not in self.release.rules.loop.endings:
            return None
        when = self.started_at
        placeholder: dict[str, object] = {
            # Made of its place, so that every export of a run gives the same file.
            "id": str(uuid5(NAMESPACE_OID, f"{self.task_id}/{self.trial}")),
            "timestamp": when,
            "start_time": when,
            "end_time": when,
            "duration": 0.0,
            "termination_reason": reason.value,
            "messages": [],
            "info": {
                "error": self.error.message,
                "error_type": self.error.type,
                "error_traceback": self.error.traceback,
                "failed_after_attempts": len(self.attempts) + 1,
            },
        }
        return self._complete(placeholder)

    def _complete(self, simulation: Mapping[str, object]) -> dict[str, Any]:
        trial, seed = self.trial, cast("int | None", self.seed)
        known = {
            **simulation,
            "task_id": self.task_id,
            "trial": trial,
            "seed": None if seed is None else trial_seed(seed, trial),
        }
        keys = self.release.rules.files.simulation
        return {key: known.get(key, default) for key, default in keys.items()}

    def _omit(self, reason: str) -> "Omitted":
        status = self.status or "unknown"
        if status != TaskExecutionStatus.SUCCESS.value and self.error.message:
            reason = f"{reason}: {self.error.message}"
        return Omitted(self.task_id, self.trial, status, reason)


class Omitted(NamedTuple):
    """A repetition that ended in a way its release does not know, and why."""

    task_id: str
    trial: int
    status: str
    reason: str


def simulation_of(report: Report) -> dict[str, Any] | Omitted:
    """Return the simulation of a repetition as its release writes it; see ``Tau2Report.form``."""
    return Tau2Report(report).form


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
    check_free(target, overwrite)
    make_room(target)
    with tempfile.TemporaryFile(dir=target.parent) as spool:
        # The tasks and the number of trials stand before the simulations, but are known after.
        export = _Export(spool, domain)
        for report in reports:
            export.add(Tau2Report(report))
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
        self._seed: object = None
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

    def add(self, report: Tau2Report) -> None:
        self._note_domain(report)
        self._num_trials = max(self._num_trials, report.trial + 1)
        self._task_ids[report.task_id] = None
        simulation = report.form
        if isinstance(simulation, Omitted):
            stored = report.infrastructure_error()
            if stored is None:
                self.omitted.append(simulation)
                return
            simulation = stored
        if describe_overrides(simulation["messages"] or ()) is not None:
            simulation["messages"] = without_overrides(simulation["messages"])
            self._overridden += 1
        if not self.written:  # the first one's configuration stands for the whole run's
            self._config, self._seed = mapping(report.raw, "config"), report.seed
        if self.release.rules.files.keeps_policy and simulation["messages"]:
            simulation["policy"] = self._policy(report)
        where = f"report of task {report.task_id!r}, repetition {report.trial}"
        check_form(SIMULATION, simulation, where)
        form = strict_json.dumps(simulation)
        self._spool.write(b",\n" * bool(self.written) + form.encode("ascii"))
        self.written += 1

    @property
    def release(self) -> Release:
        return self._release or release_of(self.domain)

    def _policy(self, report: Tau2Report) -> str:
        solo, own = report.solo, self.domain.task_policy
        key = solo, report.task_id if own else None
        if key not in self._policies:
            folder = load_domain_config(self.domain, version=self.release)["db_path"].parent
            self._policies[key] = (
                own(folder, solo, self._raw_task(report.task_id))
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

    def _note_domain(self, report: Tau2Report) -> None:
        name = report.environment.get("domain")
        if name is None:
            return
        release = report.release
        self._release = self._release or release
        if release.name != self._release.name:
            raise ConfigurationError(
                f"reports of tau2-bench {self._release.name} and {release.name}: a results file "
                "has one release; export each by itself"
            )
        if self._domain is None:
            self._domain = self._release.domain(str(name))
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
    # Only the reference agent is what the original calls by these names.
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
