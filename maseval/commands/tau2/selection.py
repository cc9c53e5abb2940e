"""Which tasks a run is made of."""

from collections.abc import Collection, Sequence

from maseval.benchmark.tau2.data_loader import (
    UnknownTaskError,
    configure_model_ids,
    load_tasks,
)
from maseval.benchmark.tau2.domains import domain_named
from maseval.commands.tau2.options import Model, RunOptions
from maseval.core.exceptions import ConfigurationError
from maseval.core.task import Task

TasksByDomain = dict[str, list[Task]]


def select_tasks(
    domains: Sequence[str],
    *,
    split: str = "base",
    task_ids: Collection[str] = (),
    num_tasks: int | None = None,
    timeout: float | None = None,
) -> TasksByDomain:
    """The tasks of each domain; ``num_tasks`` is the most that each domain gives."""
    if not domains:
        raise ConfigurationError("no domain is given; name one or more, such as --domain retail")
    if num_tasks is not None and num_tasks < 1:
        raise ConfigurationError(f"num_tasks is {num_tasks}; give at least 1")
    selected: TasksByDomain = {}
    for name in dict.fromkeys(domains):
        tasks = load_tasks(domain_named(name), split, timeout_seconds=timeout).to_list()
        if task_ids:
            tasks = [task for task in tasks if _is_wanted(task, name, task_ids)]
        selected[name] = tasks[:num_tasks]
    _check_found(selected, split, task_ids)
    return {name: tasks for name, tasks in selected.items() if tasks}


def _is_wanted(task: Task, domain: str, task_ids: Collection[str]) -> bool:
    return str(task.id) in task_ids or f"{domain}/{task.id}" in task_ids


def _check_found(selected: TasksByDomain, split: str, task_ids: Collection[str]) -> None:
    found = {
        name
        for domain, tasks in selected.items()
        for task in tasks
        for name in (str(task.id), f"{domain}/{task.id}")
    }
    lacking = [task_id for task_id in task_ids if task_id not in found]
    if lacking:
        domains = ", ".join(selected)
        raise UnknownTaskError(
            f"no task {lacking[0]!r} among the {split} tasks of {domains}; "
            f"`maseval tau2 tasks --domain {next(iter(selected))}` lists them"
        )


def cast_models(tasks: TasksByDomain, options: RunOptions) -> None:
    """Tell the tasks which models play the user and judge."""
    user, judge = options.user, options.judge
    for each in tasks.values():
        configure_model_ids(
            each,
            user_model_id=user.model_id if isinstance(user, Model) else None,
            evaluator_model_id=judge.model_id if judge else None,
        )
        if isinstance(user, Model):
            for task in each:
                task.user_data["llm_args"] = dict(user.args)
