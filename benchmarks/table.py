"""Prints measurements as a table."""

import time
from collections.abc import Callable, Iterable, Sequence

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


def seconds(work: Callable[[], object]) -> float:
    """How long ``work`` takes once."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def best(work: Callable[[], object], times: int = 5) -> float:
    """How long ``work`` takes at best: what the machine does besides only ever adds to it."""
    return min(seconds(work) for _ in range(times))
