"""One simulation in the terminal, read from top to bottom."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from maseval.cli.console import duration, indent, inert, shorten_line
from maseval.cli.results import MARKS
from maseval.core.figures import money

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.results.explained import Section
    from maseval.app.results.show import SimulationView

_WHO = {"assistant": ("Agent", "cyan"), "user": ("User", "magenta"), "system": ("System", "dim")}
_RESULT_LENGTH = 300
_EMPHASIS = (
    (re.compile(r"\b(FAILED|NOT MET)\b"), r"[red]\1[/red]"),
    (re.compile(r"^(agent|user|task|infrastructure|unclear): ([^()]+)"), r"[bold]\1: \2[/bold]"),
)


def print_simulation(view: "SimulationView", console: Console, *, full: bool = False) -> None:
    """Print the task, the conversation, its changes, and the verdict."""
    line = view.line
    name = f"{line.domain} task {line.task_id}".lstrip()
    console.rule(f"{inert(name)}, trial {line.trial}")
    if view.title:
        console.print(f"[bold]{inert(view.title)}[/bold]")
    if query := view.task.get("query"):
        words = str(query) if full else shorten_line(str(query), 400)
        console.print(f"[dim]User instructions: {inert(words)}[/dim]\n")
    for message in view.messages:
        _print_message(message, console, None if full else _RESULT_LENGTH)
    print_verdict(view, console)


def print_verdict(view: "SimulationView", console: Console) -> None:
    """Print the changes that the conversation made, the verdict, and its explanation."""
    console.rule("what changed")
    for change in view.changes:
        changed = "[bold]changed[/bold]" if change["changed"] else "unchanged"
        console.print(f"{inert(str(change['name']))}: {changed}")
    if view.error:
        kind, words = view.error.get("error_type"), str(view.error.get("error_message"))
        console.print(f"[red]{inert(str(kind))}[/red]: {inert(words)}")
    console.rule("verdict")
    for verdict in view.verdicts:
        _print_verdict(verdict, console)
    if view.doubt:
        words = f"Doubtful: {inert(view.doubt)}"
        console.print(f"[bold red]{words}[/bold red]", soft_wrap=True)
    for remark in view.remarks:
        console.print(inert(str(remark)), soft_wrap=True)
    if sections := view.sections:
        console.rule("findings")
        print_sections(sections, console)
        console.rule()
    print_unexplained(view.unexplained, console)
    _print_outcome(view, console)


def print_unexplained(why: str | None, console: Console) -> None:
    """Print why failures are not explained, if that is so."""
    if why:
        console.print(f"[yellow]Note: {inert(why)}[/yellow]", soft_wrap=True)


def _print_message(message: Mapping[str, Any], console: Console, limit: int | None) -> None:
    who, colour = _WHO.get(message["who"], (str(message["who"]).capitalize(), "yellow"))
    when = f" [dim]{message['seconds']:.1f} s[/dim]" if "seconds" in message else ""
    if speaker := message.get("speaker"):
        who = f"{who} ({speaker})"
    number = f"[dim]#{message['index']}[/dim] "
    console.print(f"{number}[bold {colour}]{inert(who)}[/]{when}")
    if words := message.get("text"):
        console.print(indent(inert(words), 2))
    for call in message.get("calls") or ():
        _print_call(call, console, limit)
    console.print()


def _print_call(call: Mapping[str, Any], console: Console, limit: int | None) -> None:
    writes = " [yellow](writes)[/yellow]" if call.get("writes") else ""
    arguments = inert(_limit(call["arguments"], limit))
    console.print(indent(f"→ [bold]{inert(call['name'])}[/bold] {arguments}{writes}", 2))
    result = call.get("result")
    if result is not None:
        colour = "red" if result["failed"] else "dim"
        words = inert(_limit(result["text"], limit))
        console.print(indent(f"[{colour}]← {words}[/{colour}]", 4))


def _limit(text: str, limit: int | None) -> str:
    return text if limit is None else shorten_line(text, limit)


def _print_verdict(verdict: Mapping[str, Any], console: Console) -> None:
    for name, value in verdict.get("returned", ()):
        console.print(f"{inert(name)}: {inert(value)}")
    for check in verdict.get("checks", ()):
        mark = MARKS["pass" if check["met"] else "fail"]
        weight = "" if check["counts"] else " [dim](not scored)[/dim]"
        arguments = (
            f" {inert(shorten_line(check['arguments'], 200))}" if "arguments" in check else ""
        )
        name = inert(check["name"])
        console.print(f"{mark} {check['kind']}: {name}{arguments}{weight}")
        if check.get("evidence"):
            console.print(indent(f"[dim]{inert(check['evidence'])}[/dim]", 4))
    for note in verdict.get("notes", ()):
        console.print(inert(note))


def print_sections(sections: "Sequence[Section]", console: Console) -> None:
    """Print an explanation; wrapped lines keep their margin."""
    for number, section in enumerate(sections):
        if number:
            console.print()
        title = _emphasise(section.title)
        plain = title != inert(section.title) or not section.lines
        console.print(title if plain else f"[bold]{title}[/bold]")
        for line in section.lines:
            words = line.lstrip(" ")
            margin = 2 + len(line) - len(words)
            console.print(indent(_emphasise(words), margin))


def _emphasise(words: str) -> str:
    shown = inert(words)
    for pattern, replacement in _EMPHASIS:
        shown = pattern.sub(replacement, shown)
    return shown


def _print_outcome(view: "SimulationView", console: Console) -> None:
    line = view.line
    reward = "no reward" if line.reward is None else f"reward {line.reward:g}"
    ended = f", ended by {inert(line.ended)}" if line.ended else ""
    cost = f", {money(line.cost)}" if line.cost else ""
    cached = f", {line.cache_in_words}" if line.cache_in_words else ""
    console.print(
        f"{MARKS[line.kind]} [bold]{line.kind}[/bold], {reward}{ended}, "
        f"{duration(line.seconds)}{cost}{cached}"
    )
    if len(view.trials) > 1:
        marks = ", ".join(f"{each.trial} {MARKS[each.kind]}" for each in view.trials)
        console.print(f"all trials: {marks}")
