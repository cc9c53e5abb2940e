"""The display of a running run: redrawn on a terminal, plain lines everywhere else."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from maseval.app.results.results import RunResult
from maseval.app.running.progress import Display, Pause, RunningSimulation, RunProgress, RunStatus
from maseval.cli.command_line import command_line, is_debugging
from maseval.cli.console import chosen_stream, duration, inert, shorten_line, stderr
from maseval.cli.results import consumption, estimate, finish

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.running.folder_run import FolderRun
    from maseval.benchmark.tau2.app.running.plan import RunPlan

_SLOWEST = 5
_LATEST = 3
_SECONDS_BETWEEN_LINES = 10.0
_FRAMES_PER_SECOND = 4
_TICK = 0.2


@dataclass(kw_only=True)
class RunOfSet:
    """One of several runs that belong together: what it gets from them, and what became of it.

    ``head`` says how far all of them are. A run that ``is_surveyed`` is prepared and not run.
    """

    cell: Mapping[str, str] | None = None
    used_elsewhere: tuple[float, int] = (0.0, 0)
    head: Callable[[RunStatus], str] | None = None
    is_surveyed: bool = False
    prepared: "FolderRun | RunPlan | None" = None
    result: RunResult | None = None

    @staticmethod
    def current(context: typer.Context) -> "RunOfSet | None":
        found = context.meta.get(SET)
        return found if isinstance(found, RunOfSet) else None


SET = "maseval.set"
"""Where the context has the run that a command is invoked for."""


def run_and_finish(
    prepare: Callable[..., "FolderRun"],
    given: dict[str, Any],
    context: typer.Context,
    *,
    as_json: bool,
) -> RunResult:
    """Run with what was given, show how far it is, and print its outcome.

    ``prepare`` loads the libraries of models only when it is called.
    """
    one = RunOfSet.current(context)
    if one is None or not one.is_surveyed:
        _announce_models(given, stderr())
    prepared = prepare(
        **given,
        display=display(stderr(), one.head if one else None),
        command=command_line(context),
        **({"cell": one.cell, "used_elsewhere": one.used_elsewhere} if one else {}),
    )
    prepared.check()
    if one is not None and one.is_surveyed:
        one.prepared = prepared
        raise typer.Exit
    result = prepared.execute()
    if one is not None:
        one.result = result
    console, debug = chosen_stream(as_json), is_debugging(context)
    alone = one is None or one.head is None
    finish(result, console, as_json=as_json, debug=debug, with_scores=alone, with_next=alone)
    return result


def _announce_models(given: Mapping[str, object], console: Console) -> None:
    """Say at once which models a run is prepared with: to load their libraries takes seconds."""
    named = {name: value for name, value in given.items() if name.endswith("_model") and value}
    if named:
        listed = ", ".join(dict.fromkeys(map(str, named.values())))
        console.print(f"Preparing the run with {inert(listed)} ...", soft_wrap=True)


def display(console: Console, head: Callable[[RunStatus], str] | None = None) -> Display:
    """Return the display that fits the console; ``head`` is a line that stands before it."""
    return partial(_redraw if console.is_terminal else _print_lines, console, head)


@contextmanager
def _redraw(
    console: Console, head: Callable[[RunStatus], str] | None, progress: RunProgress
) -> Iterator[None]:
    def draw() -> RenderableType:
        now = progress.status()
        return Group(inert(head(now)), frame(now)) if head else frame(now)

    with Live(
        get_renderable=draw,
        console=console,
        refresh_per_second=_FRAMES_PER_SECOND,
        transient=True,
    ):
        yield


@contextmanager
def _print_lines(
    console: Console, head: Callable[[RunStatus], str] | None, progress: RunProgress
) -> Iterator[None]:
    over = threading.Event()

    def report() -> None:
        now = progress.status()
        before = f"{inert(head(now))} | " if head else ""
        console.print(f"{before}{line(now)}", soft_wrap=True)

    def report_now_and_then() -> None:
        reported_stop = False
        waited, printed = 0.0, 0
        while not over.wait(_TICK):
            waited += _TICK
            for incident in progress.incidents[printed:]:
                console.print(inert(incident), soft_wrap=True)
                printed += 1
            stopping = progress.status().stopping is not None
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


def frame(now: RunStatus) -> RenderableType:
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
    parts += [f"[yellow]{inert(_pause(each))}[/yellow]" for each in now.pauses]
    if now.nodes:
        parts.append(f"[dim]{inert(_nodes(now.nodes))}[/dim]")
    for incident in now.incidents[-_LATEST:]:
        parts.append(f"[yellow]{inert(incident)}[/yellow]")
    if now.running:
        parts.append(_slowest(now.running))
    return Group(*parts)


def line(now: RunStatus) -> str:
    """The same in one line."""
    left = "" if now.left is None or not now.running else f" | {duration(now.left)} left"
    text = f"{duration(now.elapsed)} | {now.done}/{now.planned} done, {_facts(now)}{left}"
    for each in now.pauses:
        text += f" | {inert(_pause(each))}"
    if now.nodes:
        text += f" | {inert(_nodes(now.nodes))}"
    if now.running:
        text += f" | slowest: {_running(now.running[0])}"
    return f"{text} | {inert(_stopping(now))}" if now.stopping is not None else text


def _facts(now: RunStatus, failed: str = "{} failed") -> str:
    facts = [f"{len(now.running)} running"]
    facts += [failed.format(now.failed)] if now.failed else []
    facts += [f"pass^1 {estimate(now.pass_1)}"] if now.pass_1 else []
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


def _nodes(nodes: Mapping[str, int]) -> str:
    return "nodes: " + ", ".join(f"{name} runs {number}" for name, number in nodes.items())


def _slowest(running: list[RunningSimulation]) -> Table:
    table = Table.grid(padding=(0, 2))
    for one in running[:_SLOWEST]:
        domain, task_id, trial = one.simulation
        table.add_row(
            f"  {inert(shorten_line(task_id, 60))}",
            f"[dim]{f'{inert(domain)}, ' if domain else ''}trial {trial}[/dim]",
            duration(one.seconds),
        )
    if len(running) > _SLOWEST:
        table.add_row(f"  [dim]and {len(running) - _SLOWEST} more[/dim]")
    return table


def _running(one: RunningSimulation) -> str:
    name = inert(shorten_line(str(one.simulation.task), 60))
    return f"{name} trial {one.simulation.trial}, {duration(one.seconds)}"


def _stopping(now: RunStatus) -> str:
    """Say why nothing more is started, and how long the rest may take."""
    if not now.running:
        return f"stopping: {now.stopping}"
    grace = "" if now.grace is None else f", at most {duration(now.grace)}"
    return f"stopping ({now.stopping}): {len(now.running)} still to finish{grace}; Ctrl-C stops now"
