"""Shows how far a run is, and how much of it went well.

The two libraries that draw are imported when the first bar is opened.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Never

from maseval.core.callbacks.base import BenchmarkCallback, planned_repetitions
from maseval.core.exceptions import ConfigurationError

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID
    from tqdm import tqdm

    from maseval.core.benchmark import Benchmark
    from maseval.core.report import Report

# In a log file every update is a new line.
_SECONDS_BETWEEN_LOG_LINES = 5.0
_SECONDS_BETWEEN_FRAMES = 0.1


class ProgressBarCallback(BenchmarkCallback):
    """Counts finished and successful repetitions; subclasses draw them.

    ``desc`` is the text before the bar (``Running <class of the benchmark>`` by default).
    ``show_status`` adds the number of successes and the metrics after it. A subclass writes the
    hooks with an underscore.
    """

    def __init__(self, desc: str | None = None, show_status: bool = True) -> None:
        self.desc = desc
        self._has_own_desc = desc is not None
        self.show_status = show_status
        self.total = 0
        self.current = 0
        self.successful = 0
        self.metrics: dict[str, str] = {}

    def on_run_start(self, benchmark: Benchmark) -> None:
        self._close_progress_bar()
        self.total = len(planned_repetitions(benchmark))
        self.current = self.successful = 0
        self.metrics = {}
        if not self._has_own_desc:
            self.desc = f"Running {type(benchmark).__name__}"
        self._initialize_progress_bar()
        self._update_description(str(self.desc))

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        self.current += 1
        self.successful += report["status"] == "success"
        self.set_metrics(**self.update_metrics(report))

    def on_run_end(self, benchmark: Benchmark, results: Sequence[Report]) -> None:
        self._close_progress_bar()

    def set_metrics(self, **metrics: str) -> None:
        """Show these values after the bar, from now to the end of the run."""
        self.metrics |= metrics
        self._update_progress(self.current, self.status_text())
        self._update_metrics()

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

    def _initialize_progress_bar(self) -> None:
        """Show an empty bar of ``self.total`` repetitions."""

    def _update_description(self, desc: str) -> None: ...
    def _update_progress(self, current: int, status: str) -> None:
        """Show how many are finished; without an open bar, nothing."""

    def _update_metrics(self) -> None: ...
    def _close_progress_bar(self) -> None:
        """Leave the bar as it is and let go of the screen; without an open bar, nothing."""


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

    def _initialize_progress_bar(self) -> None:
        from tqdm import tqdm

        is_redrawn = sys.stderr.isatty() or "ipykernel" in sys.modules
        pause = _SECONDS_BETWEEN_FRAMES if is_redrawn else _SECONDS_BETWEEN_LOG_LINES
        self._bar = tqdm(
            total=self.total,
            desc=self.desc,
            unit="task",
            leave=self.leave,
            ncols=self.ncols,
            bar_format=self.bar_format,
            mininterval=pause,
            maxinterval=max(pause, 10.0),
        )

    def _update_progress(self, current: int, status: str) -> None:
        if self._bar is not None:
            self._bar.set_postfix_str(status, refresh=False)
            self._bar.update(current - self._bar.n)

    def _close_progress_bar(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None


class RichProgressBarCallback(ProgressBarCallback):
    """A rich bar on standard error; where it cannot be redrawn, its last state."""

    def __init__(
        self, desc: str | None = None, show_status: bool = True, transient: bool = False
    ) -> None:
        super().__init__(desc, show_status)
        self.transient = transient
        self._bar: Progress | None = None
        self._row: TaskID | None = None

    def _initialize_progress_bar(self) -> None:
        from rich.console import Console
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
            console=Console(stderr=True),
            transient=self.transient,
        )
        self._row = self._bar.add_task(str(self.desc), total=self.total, status="")
        self._bar.start()

    def _update_progress(self, current: int, status: str) -> None:
        if self._bar is not None and self._row is not None:
            self._bar.update(self._row, completed=current, status=status)

    def _close_progress_bar(self) -> None:
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
