"""Cases to score: a recorded conversation with the task and the world in which it took place.

Whoever scores, explains or labels a simulation comes in by ``open_case``.

After tau2-bench v0.2.0, src/tau2/evaluator/ (MIT, Sierra Research).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from maseval.benchmark.tau2.conversation.recording import (
    RecordedConversation,
    SimulationFormatError,
    read_recording,
)
from maseval.benchmark.tau2.data.files import default_data_dir
from maseval.benchmark.tau2.data_loader import TaskHashes, domain_folder, load_raw_task, task_hashes
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion, Release, release_of
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.formats.message import Tau2Message
from maseval.benchmark.tau2.texts.original import Wording
from maseval.benchmark.tau2.versions import RuleSet
from maseval.benchmark.tau2.wording import OURS
from maseval.benchmark.tau2.world.setting import Setting, TaskStage
from maseval.benchmark.tau2.world.tasks import Criteria, RewardType, TaskSpec
from maseval.benchmark.tau2.world.world import ReplayError, World
from maseval.core.task import Task
from maseval.data.folder import AnyPath

AnyTask = Task | TaskSpec | Mapping[str, Any]


class KnownTask(NamedTuple):
    """A task as its author wrote it, and as scoring reads it."""

    raw: Mapping[str, Any]
    spec: TaskSpec

    @classmethod
    def of(cls, task: AnyTask) -> "KnownTask":
        """Read a task in any form."""
        return cls(_raw_form(task), TaskSpec.of(task))


class Case(NamedTuple):
    """A recorded conversation and where it took place; ``raw_task`` is as its author wrote it.

    ``wording`` is how a judge is asked about it.
    """

    recording: RecordedConversation
    setting: Setting
    raw_task: Mapping[str, Any]
    wording: Wording = OURS

    @classmethod
    def of_live(
        cls,
        environment: Tau2Environment,
        known: KnownTask,
        recording: RecordedConversation,
        wording: Wording,
    ) -> "Case":
        """Return what was said in an environment, with the rules and the data it was run with."""
        domain, rules = environment.world.domain, environment.release.rules
        setting = Setting(domain, environment.folder, known.spec, environment.solo, rules)
        return cls(recording, setting, known.raw, wording)

    @property
    def messages(self) -> Sequence[Tau2Message]:
        """The messages; a ``ReplayError`` if the recording has none."""
        if self.recording.silent:
            # What the original raises when it goes through them.
            text = "'NoneType' object is not iterable"
            raise ReplayError(text, None, original=TypeError(text))
        return self.recording.messages

    @property
    def stage(self) -> TaskStage:
        return self.setting.stage()

    @property
    def scenario(self) -> str:
        """The text of what the task gives the user, or the agent that works alone."""
        return scenario_text(self.raw_task)

    @property
    def rules(self) -> RuleSet:
        return self.setting.rules

    @property
    def task(self) -> TaskSpec:
        return self.setting.task

    @property
    def criteria(self) -> Criteria:
        """The task's criteria; a task without any has an empty reward basis."""
        return self.task.evaluation_criteria or Criteria(reward_basis=[])

    def strictly(self) -> "Case":
        """The same case with a replay that accepts no other answers than the recorded ones."""
        setting = self.setting._replace(rules=self.rules.leniently(False))
        return self._replace(setting=setting)

    def counts(self, kind: RewardType) -> bool:
        return kind in self.criteria.reward_basis

    def replay(self) -> World:
        """Return the world in which the conversation ended; see ``replay``."""
        return self.stage.world_after(self.messages)


def scenario_text(raw_task: Mapping[str, Any]) -> str:
    """Return all that a task gives the user, or the agent that works alone."""
    told = (raw_task.get("user_scenario"), raw_task.get("ticket"), raw_task.get("initial_state"))
    return json.dumps(told, default=str, ensure_ascii=False)


def words_told(raw_task: Mapping[str, Any]) -> str:
    """Return the words alone that a task tells the user; older files leave out what is empty."""
    return "\n".join(sorted(texts_in(raw_task.get("user_scenario"))))


def texts_in(value: object) -> Iterator[str]:
    """Yield the texts among the values of an object and of those in it."""
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from texts_in(each)


def release_of_task(
    domain: str | Domain, task: AnyTask | None, version: AnyVersion = None
) -> Release:
    """The release asked for; without any, the task's own, or the one of the domain object."""
    if version is None and isinstance(task, Task):
        version = task.environment_data.get("version")
    return release_of(domain, version)


def open_case(
    simulation: Mapping[str, object],
    domain: str | Domain,
    task: AnyTask | None = None,
    *,
    solo: bool = False,
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
    lenient_replay: bool = False,
    graded: bool = False,
) -> Case:
    """Read a simulation, and find its task and the folder of its domain's files.

    Without ``task``, the one that the simulation names is looked up in the data of the release.
    ``graded`` replays as in a grading after the run: leniently, where the release can.
    """
    release = release_of_task(domain, task, version)
    lenient = lenient_replay or (graded and release.rules.replay.can_be_lenient)
    rules = release.rules.leniently() if lenient else release.rules
    recording = read_recording(simulation, messages_required=rules.evaluation.messages_required)
    chosen = release.domain(domain)
    if data_dir is None and isinstance(task, Task):
        # A loaded task remembers where it was loaded from.
        data_dir = task.environment_data.get("data_dir")
    own = None if data_dir is None else Path(data_dir)
    folder = _folder(chosen, own, default_data_dir(chosen.version))
    if task is None:
        known = _find_task(chosen, recording, release, own, folder)
    else:
        known = KnownTask.of(task)
    return Case(recording, Setting(chosen, folder, known.spec, solo, rules), known.raw)


@lru_cache(maxsize=64)
def _folder(domain: Domain, data_dir: Path | None, cache: Path) -> Path:
    """Find the folder of what a world is made of, verified once per process."""
    names = filter(None, (domain.db_file, domain.user_db_file, "documents"))
    return domain_folder(domain, names, data_dir)


def _find_task(
    domain: Domain,
    recording: RecordedConversation,
    release: Release,
    data_dir: Path | None,
    folder: Path,
) -> KnownTask:
    if recording.task_id is None:
        raise SimulationFormatError(
            "task_id is None; it must name a task of the domain, or the task must be given"
        )
    # The rules of one release may judge by the tasks of another.
    source = release.tasks_of.domain(domain) if release.tasks_of else domain
    if source is not domain:
        # A folder of the user's own has the files of one release, and not the tasks of another.
        data_dir, folder = None, _folder(source, None, default_data_dir(source.version))
    return _known_task(source, recording.task_id, folder, data_dir, _hashes_of_tasks(source))


def _hashes_of_tasks(source: Domain) -> tuple[TaskHashes, ...]:
    """Return what tells edited tasks from those read before; published ones are never edited."""
    if source.data_dir is None:
        return ()
    files = (source.data_dir / name for name in source.task_files.values())
    return tuple(task_hashes(file) for file in files if file.exists())


# The hashes are there to have an edited file read again.
@lru_cache(maxsize=4096)
def _known_task(
    domain: Domain,
    task_id: str,
    folder: Path,
    data_dir: Path | None,
    hashes: tuple[TaskHashes, ...],
) -> KnownTask:
    return KnownTask.of(load_raw_task(domain, task_id, data_dir))


def _raw_form(task: AnyTask) -> Mapping[str, Any]:
    match task:
        case Task():
            # A loaded task holds its parts in other places: they are put back where its author had
            # them.
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
