"""The display of a running run: redrawn on a terminal, plain lines everywhere else."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from maseval.app.results.results import RunResult
from maseval.app.running.progress import Display, Pause, RunningSimulation, RunProgress, pauses
from maseval.cli.command_line import command_line, is_debugging
from maseval.cli.console import chosen_stream, duration, inert, shorten_line, stderr
from maseval.cli.results import consumption, estimate, finish

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.running.folder_run import FolderRun

_SLOWEST = 5
_LATEST = 3
_SECONDS_BETWEEN_LINES = 10.0
_FRAMES_PER_SECOND = 4
_TICK = 0.2


def prepare_run(
    context: typer.Context, head: Callable[[RunProgress], str] | None = None, **more: Any
) -> "FolderRun":
    """Prepare the run that a command asks for; ``head`` is a line before its display."""
    callback: Any = context.command.callback
    found: FolderRun = callback.prepare_run(context, display=display(stderr(), head), **more)
    return found


def run_and_finish(context: typer.Context, *, as_json: bool) -> RunResult:
    """Run what the command asks for, show how far it is, and print its outcome."""
    prepared = prepare_run(context, command=command_line(context))
    prepared.check()
    result = prepared.execute()
    finish(result, chosen_stream(as_json), as_json=as_json, debug=is_debugging(context))
    return result


def display(console: Console, head: Callable[[RunProgress], str] | None = None) -> Display:
    """Return the display that fits the console; ``head`` is a line that stands before it."""
    return partial(_redraw if console.is_terminal else _print_lines, console, head)


@contextmanager
def _redraw(
    console: Console, head: Callable[[RunProgress], str] | None, progress: RunProgress
) -> Iterator[None]:
    def draw() -> RenderableType:
        shown = frame(progress)
        return Group(inert(head(progress)), shown) if head else shown

    with Live(
        get_renderable=draw,
        console=console,
        refresh_per_second=_FRAMES_PER_SECOND,
        transient=True,
    ):
        yield


@contextmanager
def _print_lines(
    console: Console, head: Callable[[RunProgress], str] | None, progress: RunProgress
) -> Iterator[None]:
    over = threading.Event()

    def report() -> None:
        before = f"{inert(head(progress))} | " if head else ""
        console.print(f"{before}{line(progress)}", soft_wrap=True)

    def report_now_and_then() -> None:
        reported_stop = False
        waited, printed = 0.0, 0
        while not over.wait(_TICK):
            waited += _TICK
            for incident in progress.incidents[printed:]:
                console.print(inert(incident), soft_wrap=True)
                printed += 1
            stopping = progress.stopping is not None
            if waited >= _SECONDS_BETWEEN_LINES or (stopping and not reported_stop):
                report()
                waited, reported_stop = 0.0, stopping

    thread = threading.Thread(target=report_now_and_then, daemon=True)
    report()
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        report()


def frame(now: RunProgress) -> RenderableType:
    """Draw the whole display of a terminal."""
    bar = Table.grid(padding=(0, 2))
    bar.add_row(
        ProgressBar(total=max(now.planned, 1), completed=now.done, width=40),
        f"{now.done}/{now.planned}",
        f"[dim]{duration(now.elapsed)}, {duration(now.left)} left[/dim]",
    )
    parts: list[RenderableType] = [bar, _facts(now, failed="[red]{} failed[/red]")]
    if now.stopping is not None:
        parts.append(f"[yellow]{inert(_stopping(now))}[/yellow]")
    parts += [f"[yellow]{inert(_pause(each))}[/yellow]" for each in pauses()]
    for incident in now.incidents[-_LATEST:]:
        parts.append(f"[yellow]{inert(incident)}[/yellow]")
    parts += [f"  {_running(each)}" for each in now.running[:_SLOWEST]]
    return Group(*parts)


def line(now: RunProgress) -> str:
    """The same in one line."""
    running = now.running
    text = f"{duration(now.elapsed)} | {now.done}/{now.planned} done, {_facts(now)}"
    parts = [text, f"{duration(now.left)} left"] if running and now.left is not None else [text]
    parts += [inert(_pause(each)) for each in pauses()]
    parts += [f"slowest: {_running(running[0])}"] if running else []
    parts += [inert(_stopping(now))] if now.stopping is not None else []
    return " | ".join(parts)


def _facts(now: RunProgress, failed: str = "{} failed") -> str:
    facts = [f"{len(now.running)} running"]
    facts += [failed.format(now.failed)] if now.failed else []
    facts += [f"pass^1 {estimate(known)}"] if (known := now.pass_1) else []
    facts += [consumption(now.cost, now.tokens)] if now.tokens or now.cost else []
    return ", ".join(facts)


def _pause(pause: Pause) -> str:
    """Say what is waited for, and until when."""
    calls = "1 call waits" if pause.calls == 1 else f"{pause.calls} calls wait"
    due = (datetime.now() + timedelta(seconds=pause.seconds)).strftime("%H:%M:%S")
    return (
        f"{pause.model}: {calls} after {pause.error}; next attempt in {duration(pause.seconds)}, "
        f"at {due}"
    )


def _running(one: RunningSimulation) -> str:
    name = inert(shorten_line(str(one.simulation.task), 60))
    return f"{name} trial {one.simulation.trial}, {duration(one.seconds)}"


def _stopping(now: RunProgress) -> str:
    """Say why nothing more is started, and how long the rest may take."""
    if not (running := now.running):
        return f"stopping: {now.stopping}"
    grace = "" if now.grace is None else f", at most {duration(now.grace)}"
    return f"stopping ({now.stopping}): {len(running)} still to finish{grace}; Ctrl-C stops now"
