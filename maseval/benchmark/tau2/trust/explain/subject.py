"""What is to be explained: a recorded simulation with its task, its world and its verdict."""

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from maseval.benchmark.tau2.conversation.recording import (
    Recorded,
    Recording,
    SimulationFormatError,
    read_recording,
)
from maseval.benchmark.tau2.data.store import AnyPath, default_data_dir, domain_folder
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.scoring.checks import Case
from maseval.benchmark.tau2.scoring.score import AnyTask, RewardInfo, cut_off, score
from maseval.benchmark.tau2.world.tasks import Criteria, RewardType, TaskSpec
from maseval.core.model import ModelAdapter
from maseval.core.task import Task


class Subject(NamedTuple):
    """A conversation, the task as its author wrote it, and what the checks said."""

    recording: Recording
    case: Case
    raw_task: Mapping[str, Any]
    reward_info: RewardInfo

    @property
    def criteria(self) -> Criteria:
        return self.case.task.evaluation_criteria or Criteria(reward_basis=[])

    def gates(self, kind: RewardType) -> bool:
        """Whether the reward depends on this way of looking."""
        return kind in self.criteria.reward_basis


def subject_of(
    simulation: Mapping[str, Any] | Recorded,
    domain: str | Domain,
    task: AnyTask | None = None,
    *,
    solo: bool = False,
    nl_model: ModelAdapter | None = None,
    data_dir: AnyPath | None = None,
) -> Subject:
    """Read a simulation, find its task, and score it."""
    recording, chosen = read_recording(simulation), domain_named(domain)
    if data_dir is None and isinstance(task, Task):
        data_dir = task.environment_data.get("data_dir")
    own = None if data_dir is None else Path(data_dir)
    folder = folder_of(chosen, own, default_data_dir())
    if task is None:
        known = _named(chosen, recording, folder, own)
    else:
        known = KnownTask(raw_form(task), TaskSpec.of(task))
    case = Case(recording.messages, known.spec, chosen, folder, solo)
    if recording.ended_by_choice:
        reward_info = score(case, nl_model=nl_model).reward_info
    else:
        reward_info = cut_off(recording.termination_reason)
    return Subject(recording, case, known.raw, reward_info)


class KnownTask(NamedTuple):
    """A task as its author wrote it, and as scoring reads it."""

    raw: Mapping[str, Any]
    spec: TaskSpec


def raw_form(task: AnyTask) -> Mapping[str, Any]:
    """A task in v0.2.0's form, as far as it can be known."""
    match task:
        case Task():
            told = {key: task.user_data.get(key) for key in ("persona", "instructions")}
            return {
                "id": task.id,
                "user_scenario": told,
                "ticket": task.metadata.get("ticket"),
                "initial_state": task.environment_data.get("initial_state"),
                "evaluation_criteria": task.evaluation_data,
            }
        case TaskSpec():
            return task.model_dump()
        case _:
            return task


@lru_cache(maxsize=64)
def folder_of(domain: Domain, data_dir: Path | None, cache: Path) -> Path:
    """Where the domain's databases lie, verified once per process."""
    names = [name for name in (domain.db_file, domain.user_db_file) if name]
    return domain_folder(domain, names, data_dir)


def _named(domain: Domain, recording: Recording, folder: Path, data_dir: Path | None) -> KnownTask:
    if recording.task_id is None:
        raise SimulationFormatError(
            "task_id is None; it must name a task of the domain, or the task must be given"
        )
    files = (f"{folder}/{name}" for name in domain.task_files.values())
    versions = tuple(os.stat(file).st_mtime_ns for file in files if os.path.exists(file))
    return _known(domain, recording.task_id, data_dir, folder, versions)


@lru_cache(maxsize=4096)
def _known(
    domain: Domain,
    task_id: str,
    data_dir: Path | None,
    folder: Path,
    versions: tuple[int, ...],
) -> KnownTask:
    raw = load_raw_task(domain, task_id, data_dir)
    return KnownTask(raw, TaskSpec.of(raw))
