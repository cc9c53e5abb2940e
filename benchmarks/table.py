"""Prints measurements as a table, and notes those with a goal for ``python -m benchmarks``."""

import json
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table


def show(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print ``rows`` under ``columns``; numbers stand to the right."""
    table = Table(title=title, title_justify="left")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    Console().print(table)


FIGURES = "MASEVAL_BENCH_FIGURES"
"""The variable that names the file for figures, where somebody collects them."""


class Figure(NamedTuple):
    """A measurement that can be compared with a goal and with the same one of another commit."""

    name: str
    value: float
    goal: float | None = None
    at_least: bool = False

    @property
    def meets_its_goal(self) -> bool:
        if self.goal is None:
            return True
        return self.value >= self.goal if self.at_least else self.value <= self.goal


def note(
    name: str, value: float, *, at_most: float | None = None, at_least: float | None = None
) -> None:
    """Note a figure, and the goal that it has; smaller is better unless it is to be ``at_least``.

    Where nobody collects figures, nothing happens.
    """
    goal = at_most if at_least is None else at_least
    if path := os.environ.get(FIGURES):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(Figure(name, value, goal, at_least is not None)) + "\n")


Clock = Callable[[], float]


def seconds(work: Callable[[], object], clock: Clock = time.perf_counter) -> float:
    """How long ``work`` takes once; with ``time.process_time``, of the processor's time."""
    began = clock()
    work()
    return clock() - began


def best(work: Callable[[], object], times: int = 5, clock: Clock = time.perf_counter) -> float:
    """How long ``work`` takes at best: what the machine does besides only ever adds to it."""
    return min(seconds(work, clock) for _ in range(times))
