"""Load the tasks and agent configurations of a domain, and write the data into folders.

A folder that ``ensure_data_exists`` writes is for people who want to look at the data, edit it or
pass it on: ``original`` holds the two files of each domain as fetched, ``restructured``
the tasks and agent configurations made from them. A run needs neither.

Source: multiagent-collab-scenario-benchmark (Amazon.com, Inc. or its affiliates), ``datasets/``
(CC BY 4.0). Missing files are fetched, and every file is verified before it is used.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from maseval.benchmark.macs.data.files import (
    ATTRIBUTION,
    BASE_URL,
    COMMIT,
    MANIFEST,
    TEMPLATES_FILE,
    VALID_DOMAINS,
    MACSDataError,
    agent_config_of,
    agents_file,
    check_domain,
    chosen_domains,
    decode_json,
    default_data_dir,
    objects_in,
    original_files,
    read_file,
    scenarios_file,
    tasks_of,
)
from maseval.benchmark.macs.evaluator import load_templates
from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.core.task import Task, TaskQueue
from maseval.core.tracing import JsonObject
from maseval.data import sources
from maseval.data.folder import AnyPath, write_file

__all__ = [
    "DATA_URLS",
    "DEFAULT_DATA_DIR",
    "EVALUATION_URLS",
    "VALID_DOMAINS",
    "MACSDataError",
    "configure_model_ids",
    "data_fingerprint",
    "download_file",
    "download_json",
    "download_original_data",
    "download_prompt_templates",
    "ensure_data_exists",
    "load_agent_config",
    "load_scenarios",
    "load_tasks",
    "process_data",
    "restructure_data",
]

DEFAULT_DATA_DIR: Path
"""``default_data_dir()``: it depends on the environment, so it is looked up when it is used."""

DATA_URLS = {
    domain: {
        "agents": f"{BASE_URL}/{COMMIT}/{agents_file(domain)}",
        "scenarios": f"{BASE_URL}/{COMMIT}/{scenarios_file(domain)}",
    }
    for domain in VALID_DOMAINS
}
EVALUATION_URLS = {"prompt_templates": f"{BASE_URL}/{COMMIT}/{TEMPLATES_FILE}"}

TasksT = TypeVar("TasksT", bound=Sequence[Task])


def __getattr__(name: str) -> object:
    if name == "DEFAULT_DATA_DIR":
        return default_data_dir()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_tasks(domain: str, data_dir: AnyPath | None = None, limit: int | None = None) -> TaskQueue:
    """Return the tasks of a domain, ready to be run.

    ``data_dir`` may be a checkout or archive of the original, or a folder that
    ``ensure_data_exists`` has written; without one, missing files are fetched.
    """
    check_domain(domain)
    if limit is not None and limit < 0:
        raise ConfigurationError(f"limit is {limit}; give a number of tasks, or None or 0 for all")
    raw = _read_restructured(domain, data_dir, "tasks")
    if raw is None:
        raw = _tasks(domain, data_dir)
    if not isinstance(raw, list):
        raise TaskFormatError(f"tasks.json of {domain} in {data_dir} must hold a list of tasks")
    return TaskQueue(Task.from_dict(task) for task in raw[: limit or None])


def load_agent_config(domain: str, data_dir: AnyPath | None = None) -> JsonObject:
    """Return the agents of a domain: instructions, groups of tools, and who can call whom."""
    check_domain(domain)
    raw = _read_restructured(domain, data_dir, "agents")
    if raw is None:
        name = agents_file(domain)
        return agent_config_of(decode_json(name, original_files([name], data_dir)[name]))
    if not isinstance(raw, dict):
        raise TaskFormatError(f"agents.json of {domain} in {data_dir} must hold an object")
    # Files that we wrote carry an attribution, which is not part of the team.
    return {key: raw[key] for key in raw if key != "attribution"}


def load_scenarios(domain: str, data_dir: AnyPath | None = None) -> list[JsonObject]:
    """Return the scenarios of a domain as the original's file has them."""
    check_domain(domain)
    name = scenarios_file(domain)
    document = decode_json(name, original_files([name], data_dir)[name])
    return [dict(scenario) for scenario in objects_in(document, "scenarios")]


def configure_model_ids(
    tasks: TasksT,
    *,
    tool_model_id: str | None = None,
    user_model_id: str | None = None,
    evaluator_model_id: str | None = None,
) -> TasksT:
    """Name the models that play tools and user and that judge; returns the same tasks.

    A task that already names another model is an error, and then no task is changed.
    """
    every = [tasks[position] for position in range(len(tasks))]  # iterating a queue means a run
    given = {"tool": tool_model_id, "user": user_model_id, "evaluator": evaluator_model_id}
    chosen = {role: model_id for role, model_id in given.items() if model_id is not None}
    parts = {"tool": "environment_data", "user": "user_data", "evaluator": "evaluation_data"}
    # All tasks are checked before any is changed, so that a refusal leaves them as they were.
    for task in every:
        for role, model_id in chosen.items():
            named = getattr(task, parts[role]).get("model_id")
            if named not in (None, model_id):
                raise ConfigurationError(
                    f"Task {task.id} already has {role} `model_id` set to {named!r}, cannot "
                    f"override with {model_id!r}; load the tasks again to give them other models"
                )
    for task in every:
        for role, model_id in chosen.items():
            getattr(task, parts[role])["model_id"] = model_id
    return tasks


def data_fingerprint(domain: str) -> dict[str, str]:
    """Return the SHA-256 of everything that a run in ``domain`` depends on."""
    check_domain(domain)
    names = (agents_file(domain), scenarios_file(domain), TEMPLATES_FILE)
    return {name: MANIFEST.files[name].sha256 for name in names}


def _read_restructured(domain: str, data_dir: AnyPath | None, kind: str) -> object:
    path = None if data_dir is None else Path(data_dir).expanduser()
    # An archive or a checkout holds the original's files, which are read as they are.
    if path is None or path.is_file() or (path / "datasets").is_dir():
        return None
    name = f"{kind}.json"
    return decode_json(str(path / name), read_file(path, "restructured", domain, name))


def _tasks(domain: str, data_dir: AnyPath | None) -> list[JsonObject]:
    names = (scenarios_file(domain), agents_file(domain))
    contents = original_files(names, data_dir)
    scenarios, agents = (decode_json(name, contents[name]) for name in names)
    return tasks_of(scenarios, agents, {"domain": domain, "attribution": ATTRIBUTION})


def ensure_data_exists(
    data_dir: AnyPath | None = None, force_download: bool = False, verbose: int = 1
) -> Path:
    """Write the data of all domains into ``data_dir``, or the cache; return ``restructured`` in it.

    Missing files are fetched; with ``force_download``, all of them.
    """
    root = _data_root(data_dir)
    made = [
        root / "restructured" / domain / name
        for domain in VALID_DOMAINS
        for name in ("agents.json", "tasks.json")
    ]
    if force_download or not all(path.is_file() for path in made):
        _store_originals(root, VALID_DOMAINS, force_download, verbose)
        restructure_data(root, verbose=verbose)
    return root / "restructured"


def process_data(verbose: int = 1) -> Path:
    """Fetch and rearrange everything anew."""
    return ensure_data_exists(force_download=True, verbose=verbose)


def download_original_data(
    data_dir: AnyPath | None = None, domain: str | None = None, verbose: int = 1
) -> Path:
    """Store the original's files, verified, below ``original`` in ``data_dir``; returns it."""
    return _store_originals(_data_root(data_dir), chosen_domains(domain), False, verbose)


def restructure_data(
    data_dir: AnyPath | None = None, domain: str | None = None, verbose: int = 1
) -> Path:
    """Write tasks and agent configurations from what ``original`` holds; returns the folder."""
    root = _data_root(data_dir)
    for name in chosen_domains(domain):
        # These are read from the folder and not from the cache, so that edits there take effect.
        agents = read_file(root, "original", name, "agents.json")
        scenarios = read_file(root, "original", name, "scenarios.json")
        raw_agents = decode_json(f"{name}/agents.json", agents)
        raw_scenarios = decode_json(f"{name}/scenarios.json", scenarios)
        tasks = tasks_of(raw_scenarios, raw_agents, {"domain": name, **_attribution_of(scenarios)})
        folder = root / "restructured" / name
        _write_json(folder / "tasks.json", tasks)
        _write_json(
            folder / "agents.json", {**agent_config_of(raw_agents), **_attribution_of(agents)}
        )
    return root / "restructured"


def download_prompt_templates(data_dir: AnyPath | None = None, verbose: int = 1) -> Path:
    """Write the judge's prompts as text files into the folder ``prompt_templates``; returns it.

    It stands beside ``data_dir``. The files have the form that ``MACSEvaluator`` takes.
    """
    folder = _data_root(data_dir).parent / "prompt_templates"
    for kind, template in load_templates(verbose=verbose).items():
        write_file(folder / f"{kind}.txt", template.encode())
    return folder


def download_file(url: str, timeout: int = 15) -> str:
    """Return the text behind ``url``; nothing in it is checked."""
    return sources.download_text(url, timeout)


def download_json(url: str) -> object:
    """Return the JSON document behind ``url``; nothing in it is checked."""
    return sources.download_json(url, 15)


def _store_originals(root: Path, domains: Sequence[str], force: bool, verbose: int) -> Path:
    for domain in domains:
        named = {"agents.json": agents_file(domain), "scenarios.json": scenarios_file(domain)}
        contents = original_files(named.values(), force_download=force, verbose=verbose)
        for name, source in named.items():
            write_file(root / "original" / domain / name, contents[source])
    return root / "original"


def _data_root(data_dir: AnyPath | None) -> Path:
    return default_data_dir() if data_dir is None else Path(data_dir).expanduser()


# Edited files are not the original's, and must not be attributed to it.
def _attribution_of(content: bytes) -> dict[str, str]:
    found = hashlib.sha256(content).hexdigest()
    genuine = any(file.sha256 == found for file in MANIFEST.files.values())
    return {"attribution": ATTRIBUTION} if genuine else {}


def _write_json(path: Path, document: object) -> None:
    write_file(path, json.dumps(document, indent=2, ensure_ascii=False).encode())


if __name__ == "__main__":
    process_data()
