"""The benchmark's data for whoever runs it: tasks and agent configurations of a domain.

Source: multiagent-collab-scenario-benchmark (Amazon.com, Inc. or its affiliates), ``datasets/``
(CC BY 4.0). Missing files are fetched, and every file is verified before it is used.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar, cast

from maseval.benchmark.macs.data.files import (
    ATTRIBUTION,
    BASE_URL,
    COMMIT,
    MANIFEST,
    TEMPLATES_FILE,
    VALID_DOMAINS,
    MACSDataError,
    agents_file,
    default_data_dir,
    original_files,
    scenarios_file,
)
from maseval.benchmark.macs.data.folders import (
    download_file,
    download_json,
    download_original_data,
    download_prompt_templates,
    ensure_data_exists,
    process_data,
    restructure_data,
)
from maseval.benchmark.macs.data.forms import AgentConfig, Scenario
from maseval.benchmark.macs.data.reading import MACSDomainError, check_domain, decoded, file_in
from maseval.benchmark.macs.data.restructuring import agent_config_of, scenarios_in, tasks_of
from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.core.task import Task, TaskQueue
from maseval.core.tracing import JsonObject
from maseval.data.store import AnyPath

__all__ = [
    "DATA_URLS",
    "DEFAULT_DATA_DIR",
    "EVALUATION_URLS",
    "VALID_DOMAINS",
    "MACSDataError",
    "MACSDomainError",
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
    """The tasks of a domain, ready to be run.

    ``data_dir`` may be a checkout or archive of the original, or a folder that
    ``ensure_data_exists`` has written; without one, missing files are fetched.
    """
    check_domain(domain)
    if limit is not None and limit < 0:
        raise ConfigurationError(f"limit is {limit}; give 0 or more, or None for all tasks")
    raw = _restructured(domain, data_dir, "tasks")
    if raw is None:
        raw = _tasks(domain, data_dir)
    if not isinstance(raw, list):
        raise TaskFormatError(f"tasks.json of {domain} in {data_dir} must hold a list of tasks")
    return TaskQueue(Task.from_dict(task) for task in raw[: limit or None])


def load_agent_config(domain: str, data_dir: AnyPath | None = None) -> AgentConfig:
    """The agents of a domain: instructions, groups of tools, and who can call whom."""
    check_domain(domain)
    raw = _restructured(domain, data_dir, "agents")
    if raw is None:
        name = agents_file(domain)
        return agent_config_of(decoded(name, original_files([name], data_dir)[name]))
    if not isinstance(raw, dict):
        raise TaskFormatError(f"agents.json of {domain} in {data_dir} must hold an object")
    return cast(AgentConfig, {key: raw[key] for key in raw if key != "attribution"})


def load_scenarios(domain: str, data_dir: AnyPath | None = None) -> list[Scenario]:
    """The scenarios of a domain as the original's file has them."""
    check_domain(domain)
    name = scenarios_file(domain)
    return scenarios_in(decoded(name, original_files([name], data_dir)[name]))


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
    for task in every:
        for role, model_id in chosen.items():
            named = _model_data(task, role).get("model_id")
            if named not in (None, model_id):
                raise ConfigurationError(
                    f"Task {task.id} already has {role} `model_id` set to {named!r}, cannot "
                    f"override with {model_id!r}; load the tasks again to give them other models"
                )
    for task in every:
        for role, model_id in chosen.items():
            _model_data(task, role)["model_id"] = model_id
    return tasks


def data_fingerprint(domain: str) -> dict[str, str]:
    """The SHA-256 of everything that a run in ``domain`` depends on."""
    check_domain(domain)
    names = (agents_file(domain), scenarios_file(domain), TEMPLATES_FILE)
    return {name: MANIFEST.files[name].sha256 for name in names}


def _model_data(task: Task, role: str) -> JsonObject:
    match role:
        case "tool":
            return task.environment_data
        case "user":
            return task.user_data
        case _:
            return task.evaluation_data


def _restructured(domain: str, data_dir: AnyPath | None, kind: str) -> object:
    """What a folder written by ``ensure_data_exists`` holds; None if ``data_dir`` is not one."""
    path = None if data_dir is None else Path(data_dir).expanduser()
    if path is None or path.is_file() or (path / "datasets").is_dir():
        return None
    name = f"{kind}.json"
    return decoded(str(path / name), file_in(path, "restructured", domain, name))


def _tasks(domain: str, data_dir: AnyPath | None) -> list[JsonObject]:
    names = (scenarios_file(domain), agents_file(domain))
    contents = original_files(names, data_dir)
    scenarios, agents = (decoded(name, contents[name]) for name in names)
    return tasks_of(scenarios, agents, {"domain": domain, "attribution": ATTRIBUTION})


if __name__ == "__main__":
    process_data()
