"""Short names of tasks with long ids: a part of the id, or the number in the list."""

import difflib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import TaskKey

_SHOWN = 4
_NUMBERS = re.compile(r"\d{1,6}(-\d{1,6})?(,\d{1,6}(-\d{1,6})?)*", re.ASCII)


def tasks_called(name: str, tasks: Iterable[TaskKey]) -> list[TaskKey]:
    """Return the tasks that ``name`` may mean, by the first rule that fits any.

    It is an id, the number of a task in its domain's list (from 0), or the beginning or any part
    of an id; each with or without ``domain/`` before it.
    """
    every = list(dict.fromkeys(tasks))
    domain, slash, rest = name.partition("/")
    if slash and any(task.domain == domain for task in every):
        every, name = [task for task in every if task.domain == domain], rest
    rules = (_exactly, _by_number) if name.isdecimal() else (_exactly, _beginning, _containing)
    return next((found for rule in rules if (found := rule(name, every))), [])


def list_names(names: Iterable[str], tasks: Iterable[TaskKey]) -> list[str]:
    """Write out numbers such as ``1-5,9``, also after ``domain/``; ids stay as they are."""
    ids = {task.task_id for task in tasks}
    listed: list[str] = []
    for name in names:
        domain, slash, rest = name.rpartition("/")
        if rest in ids or not _NUMBERS.fullmatch(rest):
            listed.append(name)
        else:
            listed += [f"{domain}{slash}{number}" for number in _numbers_in(rest)]
    return listed


def _numbers_in(text: str) -> Iterator[int]:
    for part in text.split(","):
        first, _, last = part.partition("-")
        if last and int(last) < int(first):
            raise ConfigurationError(f"task {part!r}: write the smaller number first")
        yield from range(int(first), int(last or first) + 1)


def _exactly(name: str, tasks: Sequence[TaskKey]) -> list[TaskKey]:
    return [task for task in tasks if task.task_id == name]


def _by_number(name: str, tasks: Sequence[TaskKey]) -> list[TaskKey]:
    met: Counter[str] = Counter()
    found = []
    for task in tasks:
        if met[task.domain] == int(name):
            found.append(task)
        met[task.domain] += 1
    return found


def _by_text(
    fits: Callable[[str, str], bool],
) -> Callable[[str, Sequence[TaskKey]], list[TaskKey]]:
    def rule(name: str, tasks: Sequence[TaskKey]) -> list[TaskKey]:
        wanted = name.casefold()
        return [task for task in tasks if name and fits(task.task_id.casefold(), wanted)]

    return rule


_beginning = _by_text(str.startswith)
_containing = _by_text(str.__contains__)


def why_not_one(name: str, found: Sequence[TaskKey], tasks: Iterable[TaskKey]) -> str:
    """Say what to write instead of a name that means several tasks, or none."""
    if found and len({task.task_id for task in found}) == 1:
        choices = " or ".join(map(str, found))
        return f"{name!r} is a task of several domains; write {choices}"
    if found:
        return f"{name!r} may be any of {len(found)} tasks: {_some(found)}; write more of the id"
    every = list(dict.fromkeys(tasks))
    alike = _alike(name, every)
    return f"did you mean {_some(alike)}?" if alike else f"there are {_some(every)}"


def _alike(name: str, tasks: Sequence[TaskKey]) -> list[TaskKey]:
    wanted = name.rpartition("/")[2].casefold()
    parts = {part: task for task in reversed(tasks) for part in _parts(task.task_id)}
    close = difflib.get_close_matches(wanted, parts, n=_SHOWN, cutoff=0.6)
    return list(dict.fromkeys(parts[part] for part in close))


def _parts(task_id: str) -> list[str]:
    """Return an id, and the words that one like ``[topic]first|second[persona]`` is made of."""
    whole = task_id.casefold()
    return [whole, *whole.replace("[", "|").replace("]", "|").split("|")]


def _some(tasks: Sequence[TaskKey]) -> str:
    more = len(tasks) - _SHOWN
    return ", ".join(map(str, tasks[:_SHOWN])) + (f" and {more} more" if more > 0 else "")
