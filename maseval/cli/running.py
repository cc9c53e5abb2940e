"""Commands that run something: their options, what they prepare, and the display of its progress.

The display is redrawn on a terminal, and plain lines everywhere else.
"""

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table

from maseval.app.results.results import RunResult
from maseval.app.running.options import ExtraArguments, Flag, OptionSpec, list_options
from maseval.app.running.progress import Display, Pause, RunningSimulation, RunProgress, pauses
from maseval.cli.command_line import command_line, is_debugging
from maseval.cli.console import chosen_stream, duration, inert, shorten_line, stderr
from maseval.cli.options import keyword_of
from maseval.cli.results import consumption, estimate, finish
from maseval.core.storage import strict_json

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.running.folder_run import FolderRun

_SLOWEST = 5
_LATEST = 3
_SECONDS_BETWEEN_LINES = 10.0
_FRAMES_PER_SECOND = 4
_TICK = 0.2


def command_with(
    options: type, *, prepare: "Callable[..., FolderRun] | None" = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of an options object, beside those of its own.

    The function's first parameter gets what was given, as keywords for the object. What a command
    can ``prepare`` can also be prepared for another one, such as a run file.
    """
    listed = [each for each in list_options(options) if each.flag]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            values = {each.name: _value_of(each, given) for each in listed}
            function(values, **given)

        def prepare_run(context: typer.Context, **more: Any) -> "FolderRun":
            given = dict(context.params)
            values = {each.name: _value_of(each, given) for each in listed}
            assert prepare is not None
            return prepare(context, {**values, **more})

        _, *own = inspect.signature(function).parameters.values()
        others = [keyword_of(each.name, each.annotation, each.default) for each in own]
        if prepare is not None:
            vars(command)["prepare_run"] = prepare_run
        vars(command)["__signature__"] = inspect.Signature([*_parameters(listed), *others])
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


def _parameters(options: list[OptionSpec]) -> list[inspect.Parameter]:
    shown = [_parameter(each, each.flag) for each in options if each.flag]
    aliases = [_alias(each, each.flag) for each in options if each.flag and each.flag.alias]
    return [*shown, *aliases]


def _parameter(option: OptionSpec, flag: Flag) -> inspect.Parameter:
    name = f"--{option.name.replace('_', '-')}"
    spelling = f"{name}/--no-{name[2:]}" if option.default is True else name
    shown = typer.Option(
        *filter(None, (spelling, flag.short)),
        help=f"{flag.help}.",
        rich_help_panel=flag.panel,
        envvar=f"MASEVAL_{option.name.upper()}" if flag.env else None,
    )
    if option.default is MISSING:
        return keyword_of(option.name, Annotated[flag.typed or option.type, shown])
    typed = flag.typed | None if flag.typed else option.type
    return keyword_of(option.name, Annotated[typed, shown], _default(option))


def _default(option: OptionSpec) -> object:
    return None if option.default == () else option.default


def _alias(option: OptionSpec, flag: Flag) -> inspect.Parameter:
    typed = (flag.typed or option.type) | None
    return keyword_of(str(flag.alias), Annotated[typed, typer.Option(hidden=True)], None)


def _value_of(option: OptionSpec, given: dict[str, Any]) -> object:
    """Return the value typed under the option's own name, or under that of tau2-bench."""
    value, flag = given.pop(option.name), option.flag
    other = given.pop(flag.alias, None) if flag and flag.alias else None
    if flag and get_origin(flag.typed) is list:
        value = [*(value or ()), *(other or ())]
    elif other and value == _default(option):
        value = other
    return arguments(value) if option.type == ExtraArguments | None else value


def arguments(texts: list[str] | None) -> dict[str, object]:
    """Parse JSON objects and ``key=value``; given several times, all count."""
    merged: dict[str, object] = {}
    for text in texts or ():
        merged |= _json_object(text) if text.lstrip().startswith("{") else _key_and_value(text)
    return merged


def _json_object(text: str) -> dict[str, object]:
    try:
        value = strict_json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"not a JSON object ({error})") from None
    if not isinstance(value, dict):
        raise typer.BadParameter("not a JSON object")
    return value


def _key_and_value(text: str) -> dict[str, object]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        # The text itself is not repeated: it may be a key that was typed in the wrong place.
        raise typer.BadParameter(
            "neither a JSON object like '{\"temperature\": 0}', nor key=value like temperature=0"
        )
    return {key.strip(): json_or_text(value.strip())}


def json_or_text(text: str) -> object:
    try:
        return strict_json.loads(text)
    except ValueError:
        return text


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
    """Return the progress in one line."""
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
    """Say why nothing more is started."""
    if not (running := now.running):
        return f"stopping: {now.stopping}"
    return f"stopping ({now.stopping}): {len(running)} still to finish; Ctrl-C stops now"
