"""Commands that run something: their options, what they prepare, and the display of its progress.

The display is redrawn on a terminal, and plain lines everywhere else.
"""

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, Field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Annotated, Any, get_origin

import typer
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar

from maseval.app.results.run_summary import RunResult
from maseval.app.running.options import ExtraArguments, Flag, flag_of, list_options
from maseval.app.running.progress import Display, RunProgress, pauses
from maseval.cli.command_line import command_line, is_debugging
from maseval.cli.console import (
    chosen_stream,
    duration,
    here,
    inert,
    print_json,
    shorten_line,
    stderr,
    stdout,
)
from maseval.cli.options import keyword_of
from maseval.cli.results import consumption, estimate, finish
from maseval.core.storage import strict_json
from maseval.core.words import count_of

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.running.folder_run import FolderRun

_SLOWEST = 5
_LATEST = 3
_SECONDS_BETWEEN_LINES = 10.0
_TICK = 0.2


def command_with(
    options: type, home: str = ""
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of an options object, which it reads by ``given_options``.

    ``home`` is the module whose ``prepare`` makes a run of them; help must not load it.
    """
    listed = [(each, flag_of(each)) for each in list_options(options)]
    flags = [(each, flag) for each, flag in listed if flag]
    shown = [_parameter(each, flag) for each, flag in flags]
    aliases = [_alias(each, flag) for each, flag in flags if flag.alias]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(function).parameters.values()

        def command(**given: Any) -> None:
            function(**{each.name: given[each.name] for each in own})

        others = [keyword_of(each.name, each.annotation, each.default) for each in own]
        signature = inspect.Signature([*shown, *aliases, *others])
        # Typer reads the options from the signature, and this module the rest when they are given.
        vars(command).update(options=options, listed=listed, home=home, __signature__=signature)
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


def given_options(context: typer.Context, **more: Any) -> dict[str, Any]:
    """Return what was given to a command, as keywords for its options object, and ``more``."""
    callback: Any = context.command.callback
    listed, given = callback.listed, context.params
    values: dict[str, Any] = {e.name: _value_of(e, f, given) for e, f in listed if e.name in given}
    if context.args:
        # tau2-bench takes all ids after one --task-ids; else a word by itself is a domain.
        values["task_id" if values["task_id"] else "domain"] += context.args
    noted = {"command": command_line(context)} if hasattr(callback.options, "command") else {}
    return {**values, **noted, **more}


def _parameter(option: Field[Any], flag: Flag) -> inspect.Parameter:
    name = f"--{option.name.replace('_', '-')}"
    # What is on by default, or may be left open, can only be turned off by a word of its own.
    either = option.default is True or (flag.typed is bool and option.default is None)
    spelling = f"{name}/--no-{name[2:]}" if either else name
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


def _default(option: Field[Any]) -> object:
    return None if option.default == () else option.default


def _alias(option: Field[Any], flag: Flag) -> inspect.Parameter:
    typed: Any = flag.typed or option.type
    return keyword_of(str(flag.alias), Annotated[typed | None, typer.Option(hidden=True)], None)


def _value_of(option: Field[Any], flag: Flag | None, given: dict[str, Any]) -> object:
    """Return the value typed under the option's own name, or under that of tau2-bench."""
    value = given[option.name]
    other = given[flag.alias] if flag and flag.alias else None
    if flag and get_origin(flag.typed) is list:
        value = [*(value or ()), *(other or ())]
    # What was typed under the option's own name takes precedence over the alias.
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
    given = given_options(context, display=display(stderr(), head), **more)
    found: FolderRun = import_module(callback.home).prepare(callback.options(**given))
    return found


def run_and_finish(context: typer.Context, *, as_json: bool) -> RunResult:
    """Run what the command asks for, show how far it is, and print its outcome."""
    result = prepare_run(context).execute()
    finish(result, chosen_stream(as_json), as_json=as_json, debug=is_debugging(context))
    return result


def run_or_plan(context: typer.Context, *, as_json: bool, dry_run: bool) -> None:
    """Run what the command asks for, or say what it would run."""
    if not dry_run:
        run_and_finish(context, as_json=as_json)
        return
    prepared = prepare_run(context)
    prepared.check()
    planned, left, _ = prepared.outlook()
    folder = here(prepared.path)
    if as_json:
        print_json({"folder": str(prepared.path.absolute()), "planned": planned, "left": left})
        return
    console = stdout()
    console.print(f"{count_of(left, 'simulation')} of {planned} would run into {inert(folder)}")
    console.print("Nothing was run: leave out --dry-run to start.")


def display(console: Console, head: Callable[[RunProgress], str] | None = None) -> Display:
    """Return the display that fits the console; ``head`` is a line that stands before it."""
    return partial(_redraw if console.is_terminal else _print_lines, console, head)


@contextmanager
def _redraw(
    console: Console, head: Callable[[RunProgress], str] | None, progress: RunProgress
) -> Iterator[None]:
    def draw() -> RenderableType:
        return Group(*([inert(head(progress))] if head else []), frame(progress))

    # Four times a second, until the end.
    with Live(get_renderable=draw, console=console, refresh_per_second=4, transient=True):
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
        # Short ticks, because incidents and the reason to stop are reported at once.
        while not over.wait(_TICK):
            waited += _TICK
            for incident in progress.incidents[printed:]:
                console.print(inert(incident), soft_wrap=True)
                printed += 1
            stopping = progress.stopping is not None
            # That a run stops is told at once, not with the next of the regular lines.
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
    bar = ProgressBar(total=max(now.planned, 1), completed=now.done, width=40)
    incidents = map(inert, now.incidents[-_LATEST:])
    return Group(*_pieces(now, _SLOWEST), *incidents, bar)


def line(now: RunProgress) -> str:
    return " | ".join(_pieces(now, 1))


def _pieces(now: RunProgress, slowest: int) -> Iterator[str]:
    """Yield how far a run is, and the slowest simulations that are under way."""
    running = now.running
    yield duration(now.elapsed)
    facts = [f"{now.done}/{now.planned} done", f"{len(running)} running"]
    facts += [f"{now.failed} failed"] if now.failed else []
    facts += [f"pass^1 {estimate(known)}"] if (known := now.pass_1) else []
    facts += [consumption(now.cost, now.tokens)] if now.tokens or now.cost else []
    yield ", ".join(facts)
    if running and now.left is not None:
        yield f"{duration(now.left)} left"
    yield from map(inert, pauses() if running else ())
    for each in running[:slowest]:
        name = inert(shorten_line(str(each.simulation.task), 60))
        yield f"slowest: {name} trial {each.simulation.trial}, {duration(each.seconds)}"
    if now.stopping is not None and running:
        waits = f"{len(running)} still to finish; Ctrl-C stops now"
        yield inert(f"stopping ({now.stopping}): {waits}")
    elif now.stopping is not None:
        yield inert(f"stopping: {now.stopping}")
