"""Shows how far a run is, and how much of it went well.

The two libraries that draw are imported when the first bar is opened. A thread redraws it every few
seconds, so that a long repetition does not look like one that hangs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from datetime import timedelta
from importlib.util import find_spec
from threading import Event, Thread
from typing import TYPE_CHECKING, Never

from maseval.core.callbacks.base import BenchmarkCallback, planned_repetitions
from maseval.core.exceptions import ConfigurationError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID
    from tqdm import tqdm

    from maseval.core.benchmark import Benchmark
    from maseval.core.report import Report

# In a log file every update is a new line.
_SECONDS_BETWEEN_LOG_LINES = 5.0
_SECONDS_BETWEEN_BEATS = 1.0
_SECONDS_BETWEEN_FRAMES = 0.1


def _is_redrawn() -> bool:
    """Return whether standard error can be redrawn: a terminal can, and so can a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


class ProgressBarCallback(BenchmarkCallback):
    """Counts finished and successful repetitions; subclasses draw them.

    ``desc`` is the text before the bar (``Running <class of the benchmark>`` by default).
    ``show_status`` adds the number of successes and the metrics after it. A subclass writes
    ``open_bar``, ``draw`` and ``close_bar``, or the hooks with an underscore that MASEval has.
    """

    def __init__(self, desc: str | None = None, show_status: bool = True) -> None:
        self.desc = desc
        self._has_own_desc = desc is not None
        self.show_status = show_status
        self.total = 0
        self.current = 0
        self.successful = 0
        self.metrics: dict[str, str] = {}
        self._over: Event | None = None
        self._beating: Thread | None = None

    def on_run_start(self, benchmark: Benchmark) -> None:
        self._close()
        self.total = len(planned_repetitions(benchmark))
        self.current = self.successful = 0
        self.metrics = {}
        if not self._has_own_desc:
            self.desc = f"Running {type(benchmark).__name__}"
        self.open_bar(str(self.desc))
        self._over = over = Event()
        pause = _SECONDS_BETWEEN_BEATS if _is_redrawn() else _SECONDS_BETWEEN_LOG_LINES

        def beat_on() -> None:
            while not over.wait(pause):
                self.beat()

        self._beating = Thread(target=beat_on, daemon=True, name="maseval-progress")
        self._beating.start()

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        self.current += 1
        self.successful += report["status"] == "success"
        self.metrics |= self.update_metrics(report)
        self.draw()

    def on_run_end(self, benchmark: Benchmark, results: Sequence[Report]) -> None:
        self._close()

    def _close(self) -> None:
        if self._over is not None and self._beating is not None:
            self._over.set()
            self._beating.join()
        self.close_bar()

    def beat(self) -> None:
        """Show that the run is alive; called every few seconds from a thread of its own."""

    def set_metrics(self, **metrics: str) -> None:
        """Show these values after the bar, from now to the end of the run."""
        self.metrics |= metrics
        self.draw()

    def update_metrics(self, report: Report) -> dict[str, str]:
        """Override to show values of your own, by name, after each report."""
        return {}

    def status_text(self) -> str:
        """Return the text after the bar: ``3/4 Successful | reward=0.75``."""
        if not self.show_status:
            return ""
        successes = f"{self.successful}/{self.current} Successful"
        metrics = ", ".join(f"{name}={value}" for name, value in self.metrics.items())
        return f"{successes} | {metrics}" if metrics else successes

    def open_bar(self, description: str) -> None:
        """Show an empty bar of ``self.total`` repetitions."""
        self._initialize_progress_bar()
        self._update_description(description)

    def draw(self) -> None:
        """Show ``self.current`` and ``status_text()``; without an open bar, nothing."""
        self._update_progress(self.current, self.status_text())
        self._update_metrics()

    def close_bar(self) -> None:
        """Leave the bar as it is and let go of the screen; without an open bar, nothing."""
        self._close_progress_bar()

    def _initialize_progress_bar(self) -> None: ...
    def _update_description(self, desc: str) -> None: ...
    def _update_progress(self, current: int, status: str) -> None: ...
    def _update_metrics(self) -> None: ...
    def _close_progress_bar(self) -> None: ...


class TqdmProgressBarCallback(ProgressBarCallback):
    """A tqdm bar on standard error; without a terminal, a line every few seconds."""

    def __init__(
        self,
        desc: str | None = None,
        show_status: bool = True,
        leave: bool = True,
        ncols: int | None = None,
        bar_format: str | None = None,
    ) -> None:
        super().__init__(desc, show_status)
        self.leave = leave
        self.ncols = ncols
        self.bar_format = bar_format
        self._bar: tqdm[Never] | None = None

    def open_bar(self, description: str) -> None:
        from tqdm import tqdm

        pause = _SECONDS_BETWEEN_FRAMES if _is_redrawn() else _SECONDS_BETWEEN_LOG_LINES
        self._bar = tqdm(
            total=self.total,
            desc=description,
            unit="task",
            leave=self.leave,
            ncols=self.ncols,
            bar_format=self.bar_format,
            mininterval=pause,
            maxinterval=max(pause, 10.0),
        )

    def draw(self) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(self.status_text(), refresh=False)
            self._bar.update(self.current - self._bar.n)

    def beat(self) -> None:
        if self._bar is not None:
            self._bar.refresh()

    def close_bar(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class RichProgressBarCallback(ProgressBarCallback):
    """A rich bar on standard error; where it cannot be redrawn, a line every few seconds."""

    def __init__(
        self, desc: str | None = None, show_status: bool = True, transient: bool = False
    ) -> None:
        super().__init__(desc, show_status)
        self.transient = transient
        self._bar: Progress | None = None
        self._row: TaskID | None = None
        self._lines: Console | None = None
        self._description = ""
        self._began = 0.0

    def open_bar(self, description: str) -> None:
        from rich.console import Console

        console = Console(stderr=True)
        # In a notebook rich draws with ipywidgets, and without them not at all.
        if console.is_jupyter and find_spec("ipywidgets") is None:
            console = Console(stderr=True, force_jupyter=False)
        if console.is_terminal or console.is_jupyter:
            self._open_live(console, description)
        else:
            self._lines, self._description, self._began = console, description, time.monotonic()

    def _open_live(self, console: Console, description: str) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )

        # Descriptions and metrics may hold brackets, which rich would take for markup.
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[status]}", markup=False),
            console=console,
            transient=self.transient,
        )
        self._row = self._bar.add_task(description, total=self.total, status="")
        self._bar.start()

    def draw(self) -> None:
        if self._bar is not None and self._row is not None:
            self._bar.update(self._row, completed=self.current, status=self.status_text())

    def beat(self) -> None:
        if self._lines is not None:  # a bar that is redrawn moves by itself
            elapsed = timedelta(seconds=int(time.monotonic() - self._began))
            done = f"{self._description} {self.current}/{self.total} {elapsed}"
            line = f"{done} {self.status_text()}".rstrip()
            self._lines.print(line, markup=False, highlight=False, soft_wrap=True)

    def close_bar(self) -> None:
        self.beat()
        self._lines = None
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def progress_callback(choice: bool | str) -> ProgressBarCallback | None:
    if choice is False:
        return None
    if choice is True or choice == "tqdm":
        return TqdmProgressBarCallback()
    if choice == "rich":
        return RichProgressBarCallback()
    raise ConfigurationError(
        f"Invalid progress_bar value: {choice!r}; use True, False, 'tqdm' or 'rich'"
    )
