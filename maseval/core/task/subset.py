"""Queues over chosen tasks, whose results estimate those of all tasks.

Informative tasks, such as the anchor points of DISCO, are few and say much about the others. The
number that comes of them is still not the benchmark's score. So a queue over a part of its tasks
says so in ``subset``, the mark goes into reports and into the configuration of a run, and whatever
shows a number of such a run calls it an estimate.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from operator import index
from os import PathLike
from pathlib import Path
from typing import Any

from maseval.core.exceptions import AnchorPointsNotFoundError, ConfigurationError, TaskIndexError
from maseval.core.storage import strict_json
from maseval.core.task.queues import ChosenSubset, SequentialTaskQueue
from maseval.core.task.task import Task


class InformativeSubsetQueue(SequentialTaskQueue):
    """The tasks at ``indices``, in that order; all of them without indices.

    Tasks added later are run as well, and count among all tasks.
    """

    def __init__(self, tasks: Iterable[Task], indices: Iterable[int] | None = None) -> None:
        self._all_tasks = self._check_tasks(tasks)
        self._indices = None if indices is None else _positions(indices, len(self._all_tasks))
        super().__init__(
            self._all_tasks
            if self._indices is None
            else [self._all_tasks[each] for each in self._indices]
        )

    @property
    def subset(self) -> ChosenSubset | None:
        """The mark of the results; None if the queue has all tasks."""
        if len(self._tasks) == len(self._all_tasks):
            return None
        return ChosenSubset(len(self._tasks), len(self._all_tasks), type(self).__name__)

    def extend(self, tasks: Iterable[Task]) -> None:
        added = self._check_tasks(tasks)
        super().extend(added)
        self._all_tasks = [*self._all_tasks, *added]


class DISCOQueue(InformativeSubsetQueue):
    """The anchor points of DISCO: tasks by whose results a model is told from others.

    They are given as a list or array of positions, or as the path of a JSON file with a list. To
    choose them, and to predict the whole from them, is up to the software of DISCO.
    """

    def __init__(
        self,
        tasks: Iterable[Task],
        anchor_points: Iterable[int] | None = None,
        anchor_points_path: str | PathLike[str] | None = None,
    ) -> None:
        if anchor_points is not None and anchor_points_path is not None:
            raise ConfigurationError("give anchor_points or anchor_points_path, not both.")
        if anchor_points_path is not None:
            anchor_points = self.load_anchor_points(anchor_points_path)
        super().__init__(tasks, anchor_points)
        self._anchor_points = self._indices

    @staticmethod
    def load_anchor_points(path: str | PathLike[str]) -> list[int]:
        """Return the positions in a JSON file; a pickle is refused, as reading one runs code."""
        file = Path(path)
        try:
            content = file.read_bytes()
        except FileNotFoundError:
            raise AnchorPointsNotFoundError(f"Anchor points file not found: {file}") from None
        except OSError as error:
            raise ConfigurationError(f"{file} cannot be read ({error.strerror})") from None
        try:
            points = strict_json.loads(content)
        except ValueError as error:
            raise ConfigurationError(
                f"{file} is not a JSON file: {error}; a pickle is not read, as that may run any "
                "code: write the positions as JSON where you trust the file"
            ) from None
        if not isinstance(points, list) or not all(type(point) is int for point in points):
            raise ConfigurationError(
                f"{file} must hold a JSON list of positions, such as [0, 4, 7]"
            )
        return points


def _positions(given: Any, tasks: int) -> list[int]:
    """Return the indices as whole numbers; raise for those that are not, and for any twice."""
    listed = given.tolist() if hasattr(given, "tolist") else given  # an array of NumPy
    if isinstance(listed, str | Mapping) or not isinstance(listed, Iterable):
        raise ConfigurationError(f"indices is {given!r}; give a list of positions, such as [0, 4]")
    found = []
    for each in listed:
        try:
            position = index(each)
        except TypeError:
            raise ConfigurationError(
                f"indices has {each!r}; give the positions of tasks as whole numbers"
            ) from None
        if not 0 <= position < tasks:
            raise TaskIndexError(
                f"index {position} is out of range: there are {tasks} tasks, numbered from 0"
            )
        found.append(position)
    twice = [position for position, times in Counter(found).items() if times > 1]
    if twice:
        raise ConfigurationError(f"indices has {twice[0]} twice; name each task once")
    return found
