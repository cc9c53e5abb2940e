"""Completion of half-typed words in the shell: domains, runs and tasks.

Ids that a shell would read otherwise, like those of telecom, are offered by their number, so that
every offer can be taken as it stands.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from pathlib import Path

import typer

Offer = list[tuple[str, str]]
"""Words with their meanings."""

_PLAIN = re.compile(r"[\w./:+-]+")


def _quietly(complete: Callable[..., Offer]) -> Callable[..., Offer]:
    """Offer nothing where nothing can be found; a half-typed command is no place for errors."""

    @wraps(complete)
    def offer(*args: object, **kwargs: object) -> Offer:
        try:
            return complete(*args, **kwargs)
        except Exception:  # whatever it is, the shell would print it into the line being typed
            return []

    return offer


@_quietly
def domains(incomplete: str) -> Offer:
    """Offer the known domains."""
    from maseval.benchmark.tau2.domains import domain_names

    return _fitting(incomplete, ((name, "") for name in domain_names()))


@_quietly
def runs(incomplete: str) -> Offer:
    """Offer the runs below the folder of all runs, by name."""
    from maseval.app.results.finding import LAST
    from maseval.runs import list_runs

    found = [(state.name, f"{state.done}/{state.planned}") for state in list_runs()]
    return _fitting(incomplete, [*found, *([(LAST, found[0][0])] if found else [])])


@_quietly
def runs_or_files(incomplete: str) -> Offer:
    """Offer runs, and results files and folders that begin as typed."""
    typed = Path(incomplete)
    folder, begun = (typed, "") if incomplete.endswith("/") else (typed.parent, typed.name)
    shown = incomplete.removesuffix(begun)
    found = sorted(each for each in folder.iterdir() if not each.name.startswith("."))
    files = [(shown + each.name, "results") for each in found if _may_be_results(each)]
    folders = [(f"{shown}{each.name}/", "folder") for each in found if each.is_dir()]
    return [*runs(incomplete), *_fitting(incomplete, [*files, *folders])]


def _may_be_results(path: Path) -> bool:
    is_json = bool({".json", ".jsonl"} & set(path.suffixes))
    return path.is_file() and is_json and path.suffix not in (".annotations", ".remarks")


@_quietly
def tasks_of_run(context: typer.Context, incomplete: str) -> Offer:
    """Offer the tasks of the run that the command names."""
    from maseval.app.results.finding import run_path
    from maseval.runs import RunFolder

    simulations = RunFolder.read(run_path(context.params["run"])).planned
    tasks = dict.fromkeys((one.domain, one.task_id) for one in simulations)
    return _fitting(incomplete, _task_offers(list(tasks)))


@_quietly
def tasks_of_domain(context: typer.Context, incomplete: str) -> Offer:
    """Offer the tasks of the domains that the command names, or of all domains."""
    from maseval.commands import tau2

    given = context.params.get("domain")
    names = [given] if isinstance(given, str) else list(given or ())
    found = tau2.tasks(names) if names else tau2.tasks()
    return _fitting(incomplete, _task_offers([(task.domain, task.task_id) for task in found]))


def _task_offers(tasks: Sequence[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    seen: dict[str, int] = {}
    for domain, task_id in tasks:
        number = seen[domain] = seen.get(domain, -1) + 1
        plain = _PLAIN.fullmatch(task_id)
        yield (f"{domain}/{task_id}", "") if plain else (f"{domain}/{number}", task_id)


def _fitting(incomplete: str, words: Iterable[tuple[str, str]]) -> Offer:
    return [(word, meaning) for word, meaning in words if word.startswith(incomplete)]
