"""The files that hold a domain's tasks and splits, read as they are.

Source: tau2-bench v0.2.0, ``data/tau2/domains/*/tasks*.json`` (MIT).
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.data.files import read_mapping
from maseval.benchmark.tau2.data.store import DomainFiles, domain_folder
from maseval.benchmark.tau2.formats.task import RawTask
from maseval.core.exceptions import MASEvalError, TaskFormatError
from maseval.data.store import AnyPath

TaskFolder = Callable[[Sequence[str]], Path]
"""Where a domain's files are, once those of these names are certain to be right."""


class UnknownSplitError(MASEvalError, ValueError):
    """The domain has no such set of tasks."""


class UnknownTaskError(MASEvalError, LookupError):
    """The domain has no task of that id."""


class MissingTasksError(UnknownTaskError, ValueError):
    """A split does not have all of the tasks that were asked for."""


def tasks_of_split(domain: DomainFiles, folder: TaskFolder, split: str | None) -> list[RawTask]:
    """The tasks of a split, in the order in which their file has them."""
    if domain.splits_file is None:
        name = _task_file(domain, split or "base")
        return _parsed(folder([name]) / name)
    name = domain.task_files["base"]
    root = folder([name, domain.splits_file])
    tasks = _parsed(root / name)
    if split is None:
        return tasks
    wanted = _ids_of_split(root / domain.splits_file, "base" if split == "all" else split)
    return [task for task in tasks if task["id"] in wanted]


def tasks_named(tasks: Iterable[RawTask], ids: Sequence[str], where: str) -> list[RawTask]:
    """Those of the tasks that have one of these ids, in the order of the tasks."""
    found = [task for task in tasks if task["id"] in ids]
    if len(found) != len(ids):  # also where an id is named twice, as in the original
        missing = set(ids) - {task["id"] for task in found}
        raise MissingTasksError(f"Not all tasks were found for task set {where}: {missing}")
    return found


def task_of_id(domain: DomainFiles, folder: TaskFolder, task_id: str) -> RawTask:
    """One task, from whichever of the domain's files has it."""
    for name in dict.fromkeys(domain.task_files.values()):
        path = folder([name]) / name
        state = path.stat()
        text = _texts_by_id(path, state.st_mtime_ns, state.st_size).get(task_id)
        if text is not None:
            raw: RawTask = json.loads(text)
            return raw
    raise UnknownTaskError(
        f"{domain.name} has no task {task_id!r}; load_raw_tasks({domain.name!r}) has its tasks"
    )


def split_names(domain: DomainFiles, data_dir: AnyPath | None = None) -> list[str]:
    """The names of a domain's splits, in the order in which its files have them."""
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


def _parsed(path: Path) -> list[RawTask]:
    if path.is_dir():
        files = sorted(path.glob("*.json"), key=lambda file: file.name)
        return [_json(file) for file in files]
    content = _json(path)
    tasks = content.get("tasks") if isinstance(content, dict) else content
    if not isinstance(tasks, list):
        raise TaskFormatError(f"{path} must hold a list of tasks, or an object with one as 'tasks'")
    return tasks


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except ValueError as error:
        raise TaskFormatError(f"{path} is not a JSON file: {error}") from error


@lru_cache(maxsize=8)
def _texts_by_id(path: Path, mtime_ns: int, size: int) -> Mapping[str, str]:
    """Each task of a file as JSON text, from which every caller gets an object of its own."""
    return {str(raw.get("id")): json.dumps(raw) for raw in _parsed(path)}
