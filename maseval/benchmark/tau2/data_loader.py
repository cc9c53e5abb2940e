"""The data that a run needs: policies, databases and tasks of a domain.

Missing files are fetched first: ``data.files`` knows which files are right. Task files and splits
are read as they are.

After tau2-bench v0.2.0, src/tau2/domains/*/utils.py (MIT, Sierra Research).
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, TypedDict, TypeVar, cast

from maseval.benchmark.tau2.data.files import (
    DEFAULT_VERSION,
    GITHUB_BASE,
    URLS,
    Tau2DataError,
    default_data_dir,
    download_file,
    download_json,
    fetch_files,
    manifest_of,
    published_files,
    read_json,
    read_mapping,
    verified_root,
)
from maseval.benchmark.tau2.domains import DOMAINS, Domain, domain_named
from maseval.benchmark.tau2.domains.releases import AnyVersion, release_named, release_of
from maseval.benchmark.tau2.formats.simulation import RawTask
from maseval.benchmark.tau2.world.tasks import noted_reads_of
from maseval.core.exceptions import ConfigurationError, MASEvalError, TaskFormatError
from maseval.core.task import Task, TaskProtocol, TaskQueue
from maseval.data.files import CacheError, ChecksumError, DataFile, DataUnavailableError, Manifest
from maseval.data.folder import AnyPath, content_hash

__all__ = [
    "BASE_SPLIT_COUNTS",
    "DEFAULT_DATA_DIR",
    "DEFAULT_MAX_RETRIES",
    "DEFAULT_TIMEOUT_SECONDS",
    "DEFAULT_VERSION",
    "GITHUB_BASE",
    "TASK_SPLITS",
    "URLS",
    "VALID_DOMAINS",
    "CacheError",
    "ChecksumError",
    "DataUnavailableError",
    "DomainConfig",
    "MissingTasksError",
    "Tau2DataError",
    "UnknownSplitError",
    "UnknownTaskError",
    "build_tasks",
    "configure_model_ids",
    "data_fingerprint",
    "default_data_dir",
    "download_domain_data",
    "download_file",
    "download_json",
    "ensure_data_exists",
    "load_domain_config",
    "load_guidelines",
    "load_raw_task",
    "load_raw_tasks",
    "load_tasks",
    "split_names",
]

VALID_DOMAINS = ("retail", "airline", "telecom")
TASK_SPLITS = ("base", "all")
BASE_SPLIT_COUNTS = {"airline": 50, "retail": 114, "telecom": 114}
DEFAULT_DATA_DIR: Path
"""``default_data_dir()``: it depends on the environment, so it is looked up when it is used."""
DEFAULT_TIMEOUT_SECONDS = 600.0
DEFAULT_MAX_RETRIES = 1

SomeTasks = TypeVar("SomeTasks", bound=Sequence[Task])


def __getattr__(name: str) -> object:
    if name == "DEFAULT_DATA_DIR":
        return default_data_dir()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class UnknownSplitError(MASEvalError, ValueError):
    """The domain has no such set of tasks."""


class UnknownTaskError(MASEvalError, LookupError, ValueError):
    """The domain has no task of that id."""


class MissingTasksError(UnknownTaskError):
    """A split does not have all of the tasks that were asked for."""


class DomainConfig(TypedDict):
    """The policy of a domain, and the path of its database."""

    policy: str
    db_path: Path


def ensure_data_exists(
    data_dir: AnyPath | Domain | None = None,
    domain: AnyPath | Domain | None = None,
    force_download: bool = False,
    verbose: int = 1,
    version: str = DEFAULT_VERSION,
) -> Path:
    """Make sure that the data of ``domain``, or of all domains, is there and right.

    What is missing is fetched into ``data_dir``, or into the cache folder if none is given (or if
    ``data_dir`` is an archive). Returns the folder that holds ``domains`` and ``user_simulator``.
    The first two may be given in either order: the name of a domain is never taken for a folder,
    which is ``./NAME`` if it has that name.
    """
    data_dir, domain = _folder_and_domain(data_dir, domain)
    manifest = manifest_of(version)
    if domain is None:
        files = list(manifest.files.values())
    else:
        if not (isinstance(domain, str) and published_files(domain, manifest)):
            domain = domain_named(domain)
            if domain.data_dir is not None:
                return domain.data_dir
        files = files_of(domain, manifest)
    return fetch_files(files, data_dir, manifest, force=force_download, verbose=verbose)


def _folder_and_domain(
    first: AnyPath | Domain | None, second: AnyPath | Domain | None
) -> tuple[AnyPath | None, str | Domain | None]:
    """Return a folder and a domain that were given in either order."""

    def is_domain(given: AnyPath | Domain | None) -> bool:
        return isinstance(given, Domain) or (isinstance(given, str) and given in DOMAINS)

    swapped = is_domain(first) and not is_domain(second)
    folder, domain = (second, first) if swapped else (first, second)
    return cast("AnyPath | None", folder), cast("str | Domain | None", domain)


def download_domain_data(
    data_dir: AnyPath | Domain | None = None,
    domain: AnyPath | Domain | None = None,
    version: str = DEFAULT_VERSION,
    verbose: int = 1,
) -> Path:
    """Fetch the data anew even if it is there; each file is replaced once the new one is right.

    The arguments are those of ``ensure_data_exists``, in either order.
    """
    return ensure_data_exists(
        data_dir, domain, force_download=True, verbose=verbose, version=version
    )


def files_of(domain: str | Domain, manifest: Manifest) -> list[DataFile]:
    """Return the published files of a domain, or of a folder, with the customer's guidelines."""
    own = published_files(domain if isinstance(domain, str) else domain.folder_name, manifest)
    if not own:
        name = domain if isinstance(domain, str) else domain.name
        raise ConfigurationError(
            f"domain {name!r} has no published files to fetch; give it a data_dir"
        )
    return [*own, *manifest.below("user_simulator")]


def domain_folder(domain: Domain, names: Iterable[str], data_dir: AnyPath | None) -> Path:
    """Return the folder of the domain's files, once those called ``names`` are verified.

    A domain that is not the original's brings its own folder, where nothing is checked.
    """
    if domain.data_dir is not None:
        return domain.data_dir
    needed = _published_files(domain.folder_name, domain.version, tuple(names))
    return verified_root(list(needed), data_dir, domain.version) / f"domains/{domain.folder_name}"


@lru_cache(maxsize=64)
def _published_files(folder: str, version: str, names: tuple[str, ...]) -> tuple[DataFile, ...]:
    """Return the published files of a folder with these names, or below one with such a name."""
    wanted = tuple(f"domains/{folder}/{name}" for name in names)
    below = tuple(f"{name}/" for name in wanted)
    return tuple(
        file
        for file in files_of(folder, manifest_of(version))
        if file.name in wanted or file.name.startswith(below)
    )


def load_domain_config(
    domain: str | Domain, data_dir: AnyPath | None = None, *, version: AnyVersion = None
) -> DomainConfig:
    """Return the policy's text and the path of the database."""
    chosen = release_of(domain, version).domain(domain)
    folder = domain_folder(chosen, _world_files(chosen), data_dir)
    return {"policy": chosen.policy(folder), "db_path": folder / chosen.db_file}


def load_guidelines(
    with_tools: bool, data_dir: AnyPath | None = None, *, version: AnyVersion = None
) -> str:
    """Return the guidelines of a simulated customer, for a domain where it has tools or none."""
    name = f"user_simulator/simulation_guidelines{'_tools' if with_tools else ''}.md"
    number = release_named(version).version
    root = verified_root([manifest_of(number).files[name]], data_dir, number)
    return (root / name).read_text(encoding="utf-8")


def data_fingerprint(domain: str | Domain, *, version: AnyVersion = None) -> dict[str, Any]:
    """Return the SHA-256 of everything that a run in ``domain`` depends on.

    A domain of your own has a hash for each of its ``tasks``: one more does not make it another.
    """
    release = release_of(domain, version)
    chosen = release.domain(domain)
    if chosen.data_dir is None:
        own = files_of(chosen, manifest_of(release.version))
        theirs = files_of(chosen, manifest_of(release.tasks.version))
        # Of another release's files, only those with its tasks are used.
        tasks = {file.name: file for file in theirs if "tasks" in file.name}
        return {file.name: tasks.get(file.name, file).sha256 for file in own}
    folder = chosen.data_dir
    contents = {name: (folder / name).read_bytes() for name in sorted(_world_files(chosen))}
    contents["policy"] = chosen.policy(folder).encode()
    files = sorted(set(chosen.task_files.values()))
    by_id = {
        str(task["id"]): json.dumps(task, sort_keys=True).encode()
        for name in files
        for task in json.loads((folder / name).read_bytes())
    }
    return {**_hashes(contents), "tasks": _hashes(by_id)}


def _hashes(contents: Mapping[str, bytes]) -> dict[str, str]:
    return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items()}


def load_raw_tasks(
    domain: str | Domain,
    split: str | None = "base",
    data_dir: AnyPath | None = None,
    *,
    version: AnyVersion = None,
) -> list[RawTask]:
    """Return the tasks of a split as the original's file has them; they are the caller's own.

    With None for ``split``, all that the file of the base split has.
    """
    source, own = _task_source(domain, data_dir, version)
    # v0.2.0 has a file for each set of tasks. Later releases have one file with every task, and
    # another that says which of them are in a split.
    if source.splits_file is None:
        name = _task_file(source, split or "base")
        return _read_tasks(domain_folder(source, [name], own) / name)
    name = source.task_files["base"]
    folder = domain_folder(source, [name, source.splits_file], own)
    tasks = _read_tasks(folder / name)
    if split is None:
        return tasks
    splits, chosen = read_mapping(folder / source.splits_file), "base" if split == "all" else split
    if chosen not in splits:
        raise UnknownSplitError(
            f"Invalid task split name: {chosen}. Valid splits are: {splits.keys()}"
        )
    wanted = frozenset(splits[chosen])
    return [task for task in tasks if task["id"] in wanted]


def load_raw_task(
    domain: str | Domain,
    task_id: str,
    data_dir: AnyPath | None = None,
    *,
    version: AnyVersion = None,
) -> RawTask:
    """Return one task as the original's file has it, from whichever split has it."""
    source, own = _task_source(domain, data_dir, version)
    for name in dict.fromkeys(source.task_files.values()):
        path = domain_folder(source, [name], own) / name
        text = _texts_by_id(path, task_hashes(path)).get(task_id)
        if text is not None:
            return cast(RawTask, json.loads(text))
    raise UnknownTaskError(
        f"{source.name} has no task {task_id!r}; list them: maseval tau2 tasks -d {source.name}"
    )


def split_names(domain: Domain, data_dir: AnyPath | None = None) -> list[str]:
    """Return the names of a domain's splits, in the order in which its files have them."""
    if domain.splits_file is None:
        return list(domain.task_files)
    folder = domain_folder(domain, [domain.splits_file], data_dir)
    return list(read_mapping(folder / domain.splits_file))


def _task_source(
    domain: str | Domain, data_dir: AnyPath | None, version: AnyVersion
) -> tuple[Domain, AnyPath | None]:
    """Return the domain whose tasks a release uses; a ``data_dir`` has those of its own version."""
    release = release_of(domain, version)
    source = release.tasks.domain(domain)
    return source, data_dir if source is release.domain(domain) else None


def _task_file(domain: Domain, split: str) -> str:
    files = {**domain.task_files}
    if "base" in files:
        files.setdefault("all", files["base"])
    if split not in files:
        raise UnknownSplitError(
            f"Invalid split {split!r}: {domain.name} has {', '.join(files)}"
            + (", and no hard tasks in this version" if split == "hard" else "")
        )
    return files[split]


TaskHashes = tuple[tuple[str, str], ...]


def task_hashes(path: Path) -> TaskHashes:
    """Return path and hash of the file of a set of tasks, or of every file in its folder."""
    files = sorted(path.glob("*.json"), key=lambda file: file.name) if path.is_dir() else [path]
    return tuple((str(file), content_hash(str(file))) for file in files)


def _read_tasks(path: Path) -> list[RawTask]:
    contents = [read_json(Path(file), sha256) for file, sha256 in task_hashes(path)]
    if path.is_dir():
        return contents
    tasks = contents[0].get("tasks") if isinstance(contents[0], dict) else contents[0]
    if not isinstance(tasks, list):
        raise TaskFormatError(f"{path} must hold a list of tasks, or an object with one as 'tasks'")
    return tasks


@lru_cache(maxsize=8)
def _texts_by_id(path: Path, hashes: TaskHashes) -> Mapping[str, str]:
    """Return each task of a file as JSON text, from which every caller gets its own object."""
    return {str(raw.get("id")): json.dumps(raw) for raw in _read_tasks(path)}


def load_tasks(
    domain: str | Domain,
    split: str | None = "base",
    data_dir: AnyPath | None = None,
    limit: int | None = None,
    timeout_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
    max_retries: int = DEFAULT_MAX_RETRIES,
    *,
    task_ids: Sequence[str] | None = None,
    version: AnyVersion = None,
) -> TaskQueue:
    """Return the tasks of a domain, ready to be run.

    ``split`` is ``base``, which is the same as ``all``; telecom also has ``small`` and ``full``,
    and in v1.0.1 every domain has ``train`` and ``test``. With None, all that the file of the base
    split has; with ``task_ids``, those of the split that are named, in the order of the file.
    Missing files are fetched, but not into a ``data_dir`` of your own.
    """
    if limit is not None and limit < 0:
        raise ConfigurationError(f"limit is {limit}; give a number of tasks, or None or 0 for all")
    raw_tasks = load_raw_tasks(domain, split, data_dir, version=version)
    if task_ids is not None:
        raw_tasks = [task for task in raw_tasks if task["id"] in task_ids]
        if len(raw_tasks) != len(task_ids):  # also where an id is named twice, as in the original
            task_set = f"{release_of(domain, version).domain(domain).name} - {split}"
            missing = set(task_ids) - {task["id"] for task in raw_tasks}
            raise MissingTasksError(f"Not all tasks were found for task set {task_set}: {missing}")
    chosen = raw_tasks[: limit or None]
    return build_tasks(
        chosen, domain, split, data_dir, timeout_seconds, max_retries, version=version
    )


def build_tasks(
    raw_tasks: Iterable[RawTask],
    domain: str | Domain,
    split: str | None = "base",
    data_dir: AnyPath | None = None,
    timeout_seconds: float | None = DEFAULT_TIMEOUT_SECONDS,
    max_retries: int = DEFAULT_MAX_RETRIES,
    *,
    version: AnyVersion = None,
) -> TaskQueue:
    """Return tasks of ``load_raw_tasks``, ready to be run."""
    release = release_of(domain, version)
    chosen = release.domain(domain)
    folder = domain_folder(chosen, _world_files(chosen), data_dir)
    labels = {"domain": chosen.name, "split": split or "all"}
    world: dict[str, object] = {
        "domain": chosen.name,
        "version": release.name,
        "tools": tuple(chosen.toolkit.all_tools()),
        "policy": chosen.policy(folder),
        "db_path": str(folder / chosen.db_file),
        "user_db_path": str(folder / chosen.user_db_file) if chosen.user_db_file else None,
        # Scoring looks there for the files again; a domain of one's own has them beside itself.
        "data_dir": str(folder.parent.parent) if chosen.data_dir is None else None,
    }

    def task_of(raw: RawTask) -> Task:
        # What an agent of some domains may read depends on the task.
        own = {"policy": chosen.task_policy(folder, False, raw)} if chosen.task_policy else {}
        return _task(
            raw, world | own, labels, TaskProtocol(timeout_seconds, max_retries=max_retries)
        )

    return TaskQueue(map(task_of, raw_tasks))


def configure_model_ids(
    tasks: SomeTasks, *, user_model_id: str | None = None, evaluator_model_id: str | None = None
) -> SomeTasks:
    """Name the models that play the customer and judge assertions; return the same tasks.

    A task that already names another model is an error, and then no task is changed.
    """
    every = [tasks[position] for position in range(len(tasks))]  # iterating a queue means a run
    for role, model_id in (("user", user_model_id), ("evaluator", evaluator_model_id)):
        for task in every if model_id is not None else ():
            data = task.user_data if role == "user" else task.evaluation_data
            named = data.get("model_id")
            if named not in (None, model_id):
                raise ConfigurationError(
                    f"task {task.id!r} already has {role} `model_id` set to {named!r}, not "
                    f"{model_id!r}; load the tasks again to give them other models"
                )
    for task in every:
        if user_model_id is not None:
            task.user_data["model_id"] = user_model_id
        if evaluator_model_id is not None:
            task.evaluation_data["model_id"] = evaluator_model_id
    return tasks


def _task(
    raw: RawTask, world: Mapping[str, object], labels: dict[str, str], protocol: TaskProtocol
) -> Task:
    protocol.tags.update(labels)
    scenario, criteria = raw.get("user_scenario") or {}, raw.get("evaluation_criteria") or {}
    told, only = scenario.get("instructions"), raw.get("user_tools")
    actions: Any = criteria.get("actions") or ()
    noted = noted_reads_of(actions)
    task = Task(
        query=(told.get("task_instructions") if isinstance(told, dict) else told) or "",
        protocol=protocol,
        environment_data={
            **world,
            "initial_state": raw.get("initial_state"),
            **({"noted_reads": noted} if noted else {}),
        },
        user_data={
            "persona": scenario.get("persona"),
            "instructions": told,
            **({} if only is None else {"user_tools": only}),
        },
        evaluation_data={
            **{name: criteria.get(name) for name in _CRITERIA},
            "reward_basis": criteria.get("reward_basis", ["DB", "COMMUNICATE"]),
        },
        metadata={**labels, "description": raw.get("description"), "ticket": raw.get("ticket")},
    )
    if raw.get("id"):
        task.id = str(raw["id"])
    return task


_CRITERIA = ("actions", "env_assertions", "communicate_info", "nl_assertions")


def _world_files(domain: Domain) -> list[str]:
    """Return the databases, and every text that a policy is composed of or a tool may show."""
    databases = [name for name in (domain.db_file, domain.user_db_file) if name]
    if domain.data_dir is not None:
        return databases
    folder = f"domains/{domain.folder_name}"
    published = manifest_of(domain.version).below(folder)
    names = (file.name.removeprefix(f"{folder}/") for file in published)
    return databases + [
        name for name in names if name.endswith(".md") or name.startswith("documents/")
    ]
