"""The data files of a domain: the folder that holds them, verified, and the tasks in it.

A domain of the original has published files, which are fetched into the cache or into a folder of
the user's own (``tau2.data.files``); any other domain brings its own folder, where nothing is
checked. Task files and splits are read as they are.

Source: tau2-bench v0.2.0, ``data/tau2/domains/*/tasks*.json`` (MIT).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

from maseval.benchmark.tau2.data.files import (
    DEFAULT_VERSION,
    MANIFEST,
    guidelines,
    manifest_of,
    published_files,
    read_mapping,
    verified_root,
)
from maseval.benchmark.tau2.formats.simulation import RawTask
from maseval.core.exceptions import ConfigurationError, MASEvalError, TaskFormatError
from maseval.data.files import DataFile, Manifest
from maseval.data.store import AnyPath

TaskFolder = Callable[[Sequence[str]], Path]
"""A function that verifies a domain's files of the given names, and returns their folder."""


class UnknownSplitError(MASEvalError, ValueError):
    """The domain has no such set of tasks."""


class UnknownTaskError(MASEvalError, LookupError):
    """The domain has no task of that id."""


class MissingTasksError(UnknownTaskError, ValueError):
    """A split does not have all of the tasks that were asked for."""


class DomainFiles(Protocol):
    """The part of a ``Domain`` that says where its files are; domains stand above this package."""

    @property
    def name(self) -> str: ...
    @property
    def folder_name(self) -> str: ...
    @property
    def data_dir(self) -> Path | None: ...
    @property
    def version(self) -> str: ...
    @property
    def task_files(self) -> Mapping[str, str]: ...
    @property
    def splits_file(self) -> str | None: ...


def files_of(domain: str | DomainFiles, manifest: Manifest = MANIFEST) -> list[DataFile]:
    """Return the published files of a domain, or of a folder, with the customer's guidelines."""
    own = published_files(domain if isinstance(domain, str) else domain.folder_name, manifest)
    if not own:
        name = domain if isinstance(domain, str) else domain.name
        raise ConfigurationError(
            f"domain {name!r} has no published files to fetch; give it a data_dir"
        )
    return [*own, *guidelines(manifest)]


def domain_folder(
    domain: DomainFiles,
    names: Iterable[str],
    data_dir: AnyPath | None,
    version: str = DEFAULT_VERSION,
) -> Path:
    """Return the folder of the domain's files, once those called ``names`` are verified."""
    if domain.data_dir is not None:
        return domain.data_dir
    inside = f"domains/{domain.folder_name}"
    wanted = tuple(f"{inside}/{name}" for name in names)
    below = tuple(f"{name}/" for name in wanted)
    needed = [
        file
        for file in files_of(domain, manifest_of(version))
        if file.name in wanted or file.name.startswith(below)
    ]
    return verified_root(needed, data_dir, version) / inside


def tasks_of_split(domain: DomainFiles, folder: TaskFolder, split: str | None) -> list[RawTask]:
    """Return the tasks of a split, in the order in which their file has them."""
    if domain.splits_file is None:
        name = _task_file(domain, split or "base")
        return _read_tasks(folder([name]) / name)
    name = domain.task_files["base"]
    root = folder([name, domain.splits_file])
    tasks = _read_tasks(root / name)
    if split is None:
        return tasks
    wanted = _ids_of_split(root / domain.splits_file, "base" if split == "all" else split)
    return [task for task in tasks if task["id"] in wanted]


def tasks_by_id(tasks: Iterable[RawTask], ids: Sequence[str], task_set: str) -> list[RawTask]:
    """Return those of the tasks that have one of these ids, in the order of the tasks."""
    found = [task for task in tasks if task["id"] in ids]
    if len(found) != len(ids):  # also where an id is named twice, as in the original
        missing = set(ids) - {task["id"] for task in found}
        raise MissingTasksError(f"Not all tasks were found for task set {task_set}: {missing}")
    return found


def task_of_id(domain: DomainFiles, folder: TaskFolder, task_id: str) -> RawTask:
    """Return one task, from whichever of the domain's files has it."""
    for name in dict.fromkeys(domain.task_files.values()):
        path = folder([name]) / name
        state = path.stat()
        text = _texts_by_id(path, state.st_mtime_ns, state.st_size).get(task_id)
        if text is not None:
            raw: RawTask = json.loads(text)
            return raw
    raise UnknownTaskError(
        f"{domain.name} has no task {task_id!r}; list them: maseval tau2 tasks -d {domain.name}"
    )


def split_names(domain: DomainFiles, data_dir: AnyPath | None = None) -> list[str]:
    """Return the names of a domain's splits, in the order in which its files have them."""
    if domain.splits_file is None:
        return list(domain.task_files)
    folder = domain_folder(domain, [domain.splits_file], data_dir, domain.version)
    return list(read_mapping(folder / domain.splits_file))


def _ids_of_split(path: Path, split: str) -> frozenset[str]:
    splits = read_mapping(path)
    if split not in splits:
        raise UnknownSplitError(
            f"Invalid task split name: {split}. Valid splits are: {splits.keys()}"
        )
    return frozenset(splits[split])


def _task_file(domain: DomainFiles, split: str) -> str:
    files = {**domain.task_files}
    if "base" in files:
        files.setdefault("all", files["base"])
    if split not in files:
        raise UnknownSplitError(
            f"Invalid split {split!r}: {domain.name} has {', '.join(files)}"
            + (", and no hard tasks in this version" if split == "hard" else "")
        )
    return files[split]


def _read_tasks(path: Path) -> list[RawTask]:
    if path.is_dir():
        files = sorted(path.glob("*.json"), key=lambda file: file.name)
        return [_read_json(file) for file in files]
    content = _read_json(path)
    tasks = content.get("tasks") if isinstance(content, dict) else content
    if not isinstance(tasks, list):
        raise TaskFormatError(f"{path} must hold a list of tasks, or an object with one as 'tasks'")
    return tasks


def _read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise TaskFormatError(f"{path} is not a JSON file: {error}") from error


@lru_cache(maxsize=8)
def _texts_by_id(path: Path, mtime_ns: int, size: int) -> Mapping[str, str]:
    """Return each task of a file as JSON text, from which every caller gets its own object."""
    return {str(raw.get("id")): json.dumps(raw) for raw in _read_tasks(path)}
