"""Two runs compared, in the form that the viewer shows: the numbers, and every task of both."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TypedDict

from maseval.app.comparing.compare import RunComparison, compare, comparison_plots, for_report
from maseval.core.outcome import Outcome, TaskKey
from maseval.report.results import drawing, summary_table
from maseval.view.answers import Answers, Query
from maseval.view.api import asked
from maseval.view.library import Library


class ComparedTrial(TypedDict):
    """A trial by its name; ``passed`` is None where it does not count."""

    trial: str
    passed: bool | None


class ComparedTask(TypedDict):
    """A task that both runs have, its trials in both, and how much its pass rate rose."""

    domain: str
    id: str
    a: list[ComparedTrial]
    b: list[ComparedTrial]
    change: float


def comparisons() -> Answers:
    """What the viewer's page of two runs asks for."""
    return Answers("compare", {"/api/compare": _answer})


def _answer(library: Library, query: Query) -> Mapping[str, object]:
    a, b = asked(query, "a", "b")
    paths = library.path_of(a), library.path_of(b)
    return {"a": a, "b": b, **_compared(*paths, *map(_stamp, paths))}


def _stamp(path: Path) -> int:
    """Changes whenever a run does."""
    files = path.iterdir() if path.is_dir() else [path]
    return max((each.stat().st_mtime_ns for each in files if each.is_file()), default=0)


# The verdicts of both runs are recomputed, which nobody wants to wait for twice.
@lru_cache(maxsize=8)
def _compared(a: Path, b: Path, *stamps: int) -> Mapping[str, object]:
    found = compare([a, b])
    return {
        "names": list(found.runs),
        "results": summary_table(for_report(found)),
        "plots": [drawing(plot) for plot in comparison_plots(found)],
        "tasks": _tasks(found),
    }


def _tasks(found: RunComparison) -> list[ComparedTask]:
    """The tasks of both runs, those whose pass rate changed most first."""
    a, b = (_trials(run.outcomes) for run in found.runs.values())
    flips = found.two.flipped if found.two else []
    changes = {TaskKey(flip.group, flip.task): flip.change for flip in flips}
    tasks: list[ComparedTask] = [
        {
            "domain": key.group,
            "id": key.task,
            "a": a[key],
            "b": b[key],
            "change": changes.get(key, 0.0),
        }
        for key in a
        if key in b
    ]
    return sorted(tasks, key=lambda task: -abs(task["change"]))


def _trials(outcomes: Iterable[Outcome]) -> dict[TaskKey, list[ComparedTrial]]:
    found: dict[TaskKey, list[ComparedTrial]] = {}
    for each in sorted(outcomes, key=lambda outcome: outcome.trial):
        trial: ComparedTrial = {"trial": str(each.trial), "passed": each.passed}
        found.setdefault(each.key, []).append(trial)
    return found
